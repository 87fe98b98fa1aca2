"""The audit of live traffic: what each layer does and could do for one line, from what the service itself keeps.

That is less than a log of all requests, and the report says so: lookups are logged with question and score but without
their context, exact hits are only counted, and full requests are kept for stored answers alone, each different one
once. `surehit audit LOG` sees everything that is in a log. As there, layers stand side by side and are never added up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from evaluation.audit.options import AuditOptions, Layer
from evaluation.audit.records import Record
from evaluation.audit.report import WORTH_REPEATS, WORTH_TOKENS, Findings
from evaluation.audit.run import audit_records
from evaluation.audit.semantic import CONFIDENCE, THRESHOLDS, labels_without_error
from service.guards import judge

LayerName = Literal["exact", "semantic", "provider_prompt_cache", "prefix_kv"]
MAX_CAUSES = 5


@dataclass(frozen=True, slots=True)
class Near:
    """A logged lookup that had a candidate: both questions and their score."""

    score: float
    query: str
    entry_query: str


@dataclass(frozen=True, slots=True)
class Counts:
    """Outcomes of a line's lookups; `logged` of them are rows of the log, of which `near` had a candidate."""

    exact_hits: int = 0
    semantic_hits: int = 0
    semantic_lookups: int = 0
    not_searched: int = 0
    passed_by: int = 0

    @property
    def exact_lookups(self) -> int:
        """Lookups that asked the exact tier: all that did not pass the cache by."""
        return self.exact_hits + self.semantic_lookups + self.not_searched


@dataclass(frozen=True, slots=True)
class InForce:
    """The serving rule of the line."""

    mode: str
    threshold: float
    target: float
    is_certified: bool


@dataclass(frozen=True, slots=True)
class LiveLayer:
    """One layer. `share` in [0, 1] is of `unit`, `saved` in the price table's currency; None where it is not known."""

    layer: LayerName
    share: float | None
    unit: str
    saves: str
    saved: float | None
    risk: str
    next_step: str
    is_worth_it: bool


@dataclass(frozen=True, slots=True)
class AtThreshold:
    """Logged lookups with a candidate from a threshold on, and those among them that the guards refuse."""

    threshold: float
    with_candidate: int
    refused_by_guards: int
    left: int


def count_outcomes(rows: Iterable[tuple[str, str, str, int]]) -> Counts:
    """Counts from counter rows (tier, outcome, reason, number)."""
    found = Counts()
    for tier, outcome, _, number in rows:
        n = int(number)
        if outcome == "store":
            continue
        if outcome == "bypass":
            found = replace(found, passed_by=found.passed_by + n)
        elif tier == "exact":
            found = replace(found, exact_hits=found.exact_hits + n)
        elif tier == "semantic":
            hits = n if outcome == "hit" else 0
            found = replace(
                found,
                semantic_lookups=found.semantic_lookups + n,
                semantic_hits=found.semantic_hits + hits,
            )
        else:
            found = replace(found, not_searched=found.not_searched + n)
    return found


def thresholds_of(near: Sequence[Near]) -> tuple[AtThreshold, ...]:
    """Per threshold, how many lookups had a candidate and what the guards say to it. No claim about being right."""
    refused = [
        (n.score, judge(n.entry_query, n.query) is not None)
        for n in near
        if n.score >= THRESHOLDS[0]
    ]
    found = []
    for threshold in THRESHOLDS:
        over = [is_refused for score, is_refused in refused if score >= threshold]
        found.append(AtThreshold(threshold, len(over), sum(over), len(over) - sum(over)))
    return tuple(found)


def prefix_findings(records: Sequence[Record]) -> Findings:
    """What the stored requests have in common from their first token on, and where they part."""
    if not records:  # the tokenizer takes a second to load
        return Findings()
    options = AuditOptions(layers=frozenset({Layer.PREFIX, Layer.WHY}))
    return audit_records(records, options, source="stored requests").findings


def layers_of(
    counts: Counts,
    at: Sequence[AtThreshold],
    logged: int,
    ledger: Sequence[Mapping[str, Any]],
    found: Findings,
    rule: InForce,
    currency: str,
) -> Iterator[LiveLayer]:
    """The four rows. `ledger` are the four of `service.ledger.four_rows`, in its order."""
    yield _exact(counts, ledger[0], rule)
    yield _semantic(counts, at, logged, ledger[1], rule, currency)
    yield _provider(ledger[2], currency)
    yield _prefix(found)


def _exact(counts: Counts, booked: Mapping[str, Any], rule: InForce) -> LiveLayer:
    asked, hits = counts.exact_lookups, counts.exact_hits
    share = hits / asked if asked else None
    worth = share is not None and share >= WORTH_REPEATS
    if rule.mode == "off":
        step = "The line is off: put it into mode `exact` or `shadow`"
    elif asked and not worth:
        step = "Ask `POST /v1/explain` with two requests that should be equal: it names the field that differs"
    else:
        step = "Leave it on; choose the time to live by how fast answers age"
    return LiveLayer(
        "exact",
        share,
        "lookups",
        f"{hits:,} of {asked:,} lookups were answered with the answer to the same request"
        + _beside(counts.passed_by, "requests passed the cache by"),
        _money(booked),
        "No false hit is possible; only age",
        step,
        worth,
    )


def _semantic(
    counts: Counts,
    at: Sequence[AtThreshold],
    logged: int,
    booked: Mapping[str, Any],
    rule: InForce,
    currency: str,
) -> LiveLayer:
    over = max(
        (a for a in at if a.threshold <= rule.threshold), key=lambda a: a.threshold, default=at[0]
    )
    left = over.left / logged if logged else None
    labels = labels_without_error(rule.target, CONFIDENCE)
    worth = left is not None and left >= WORTH_REPEATS
    if rule.mode not in ("shadow", "serve"):
        step = "Put the line into mode `shadow`: candidates are logged and sampled, none is served"
    elif not worth:
        step = "Too few near questions so far; leave it in shadow"
    elif rule.is_certified:
        step = "Keep reviewing what is sampled: the monitor watches the promise"
    else:
        step = f"Review: {labels:,} labels without an error certify {rule.target:.1%} at {CONFIDENCE:.0%}"
    cost = booked.get("embedding_cost") or 0.0
    served = f"{counts.semantic_hits:,} of {counts.semantic_lookups:,} lookups that reached this tier were answered"
    could = (
        f"; of {logged:,} logged ones {over.left:,} have a candidate from {over.threshold:g} on that the guards let "
        "pass; how many answers would be right is not known from this"
    )
    return LiveLayer(
        "semantic",
        left,
        "logged lookups",
        served + could + (f"; embedding costs {cost:,.4f} {currency}" if cost else ""),
        None if _money(booked) is None else float(booked["net"]),
        "False hits"
        + ("" if rule.is_certified or rule.mode != "serve" else "; served uncertified at present"),
        step,
        worth,
    )


def _provider(booked: Mapping[str, Any], currency: str) -> LiveLayer:
    read, tokens = int(booked["cached_read"]), int(booked["input_tokens"])
    written = sum(int(booked[f"cache_write_{n}"]) for n in ("5m", "1h", "other"))
    share = read / tokens if tokens else None
    calls, unknown = int(booked["requests"]), int(booked["without_usage"])
    diagnosis = next(iter(booked["diagnosis"].items()), None)
    if not calls:
        step = "Send traffic through the proxy: only its calls report what the provider's cache did"
    elif diagnosis is not None:
        step = f"{diagnosis[0]}: {diagnosis[1]}"
    else:
        step = "It is read; `surehit audit LOG` says where breakpoints would pay"
    return LiveLayer(
        "provider_prompt_cache",
        share,
        "input tokens of upstream calls",
        f"{read:,} of {tokens:,} input tokens were read from the provider's cache, {written:,} were written to it, "
        f"in {calls:,} calls" + _beside(unknown, "calls reported no usage"),
        float(booked["saved"]) if calls > unknown else None,
        "Writes that nobody reads cost more than none",
        step,
        share is not None and (share >= WORTH_TOKENS or diagnosis is not None),
    )


def _prefix(found: Findings) -> LiveLayer:
    prefix, why = found.prefix, found.why
    best = prefix.best if prefix is not None and prefix.requests else None
    if prefix is None or best is None:
        return LiveLayer(
            "prefix_kv",
            None,
            "prompt tokens of stored requests",
            "No stored request to look at",
            None,
            "None for the answers",
            "Audit a log of all requests: `surehit audit LOG`",
            False,
        )
    worth = best.reused_share >= WORTH_TOKENS
    if why is not None and why.causes and why.lost_tokens > best.reused_tokens / 10:
        step = why.causes[0].mending
    elif worth:
        step = "Turn on prefix caching in your engine, with a salt per tenant"
    else:
        step = "Little is shared between different requests"
    return LiveLayer(
        "prefix_kv",
        best.reused_share,
        "prompt tokens of stored requests",
        f"{best.reused_tokens:,} of {prefix.prompt_tokens:,} prompt tokens of {prefix.requests:,} stored requests "
        "follow a prefix that an earlier one had: an engine of one's own need not compute them",
        None,
        "None for the answers; without a salt per tenant, timing tells tenants of each other's prompts",
        step,
        worth,
    )


def causes_of(found: Findings) -> list[dict[str, Any]]:
    """Why prefixes of stored requests part, dearest first."""
    if found.why is None:
        return []
    return [
        {
            "cause": cause.cause.value,
            "times": cause.times,
            "lost_tokens": cause.lost_tokens,
            "mending": cause.mending,
        }
        for cause in found.why.causes[:MAX_CAUSES]
    ]


def _money(booked: Mapping[str, Any]) -> float | None:
    """What a layer has saved; None where no answer of it came with a provider's usage."""
    return float(booked["saved"]) if booked["requests"] > booked["without_usage"] else None


def _beside(number: int, words: str) -> str:
    return f"; {number:,} {words}" if number else ""
