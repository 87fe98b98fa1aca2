"""Why one request would, or would not, be served another's answer: field, partition, score or guard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from index import similarity
from index.types import EmbeddingError, TextRefused
from service import key
from service.cache import Cache, Caller
from service.errors import NotFound
from service.guards import judge_all
from service.policy import Policy
from service.score import COSINE, Context
from service.semantic import ineligible, slot_of
from service.storage import aliases

_SHOWN = 400
"""Characters of a value that are shown around a difference."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place where two requests differ: JSON path and both sides (None: absent)."""

    path: str
    a: Any
    b: Any


def first_difference(a: Any, b: Any, path: str = "$") -> Difference | None:
    """The first difference of two JSON values in document order of sorted keys; None when they are equal."""
    if isinstance(a, dict) and isinstance(b, dict):
        for name in sorted(a.keys() | b.keys()):
            here = (
                f"{path}.{name}"
                if name.isidentifier()
                else f"{path}[{msgspec.json.encode(name).decode()}]"
            )
            if name not in a or name not in b:
                return Difference(here, _short(a.get(name)), _short(b.get(name)))
            found = first_difference(a[name], b[name], here)
            if found is not None:
                return found
        return None
    if isinstance(a, list) and isinstance(b, list):
        for n, (x, y) in enumerate(zip(a, b, strict=False)):
            found = first_difference(x, y, f"{path}[{n}]")
            if found is not None:
                return found
        if len(a) != len(b):
            n = min(len(a), len(b))
            return Difference(
                f"{path}[{n}]",
                _short(a[n]) if n < len(a) else None,
                _short(b[n]) if n < len(b) else None,
            )
        return None
    if type(a) is type(b) and a == b:
        return None
    if isinstance(a, str) and isinstance(b, str):
        return _text_difference(a, b, path)
    return Difference(path, _short(a), _short(b))


async def explain(cache: Cache, caller: Caller, *, line: str, a: Any, b: Any) -> dict[str, Any]:
    """Would `b` be served the answer stored for `a`? `stands_between` is null when it would.

    Keys: `served`, `tier`, `stands_between` (mode | field | eligibility | readability | score | guard | shadow),
    `detail`, `difference` (path, a, b), `score`, `score_is` (cosine, or the version of a learned probability; of two
    texts alone it knows neither age nor other candidates), `cosine`, `threshold`, `guards` (every refusal),
    `verifier` (name, low, high, accept, what it `said`; null where the line has none or the pair is not in its band),
    `promoted` (true where a reviewer's verdict serves the pair under the threshold, in the common scope; as in a
    lookup, only while no other entry scores higher).
    """
    policy = cache.policies.held(caller.tenant, line) or await cache.policies.load(
        caller.tenant, line
    )
    if policy is not None:
        policy = await cache.policies.load(caller.tenant, line)
    if policy is None:
        raise NotFound(f"line {line!r} does not exist")
    first, second = (key.canonicalize(x, inert=policy.inert) for x in (a, b))
    reply: dict[str, Any] = {
        "served": False,
        "tier": None,
        "stands_between": None,
        "detail": None,
        "difference": None,
        "score": None,
        "score_is": policy.config.score,
        "cosine": None,
        "verifier": None,
        "threshold": policy.config.threshold,
        "guards": [],
        "promoted": False,
    }
    if policy.config.mode == "off":
        return reply | {"stands_between": "mode", "detail": "the line is off"}
    if first.body == second.body:
        return reply | {"served": True, "tier": "exact"}
    difference = first_difference(key.parse(first.body), key.parse(second.body))
    reply["difference"] = difference and {
        "path": difference.path,
        "a": difference.a,
        "b": difference.b,
    }
    if policy.config.mode == "exact":
        return reply | {"stands_between": "mode", "detail": "the line uses the exact tier alone"}
    if first.query is None or second.query is None:
        return reply | {
            "stands_between": "field",
            "detail": f"no user text at its end to compare ({first.no_query or second.no_query})",
        }
    if first.context != second.context:
        context = first_difference(key.parse(first.context), key.parse(second.context))
        reply["difference"] = context and {"path": context.path, "a": context.a, "b": context.b}
        return reply | {
            "stands_between": "field",
            "detail": "everything but the last user text must be equal",
        }
    for request, query in ((a, first.query), (b, second.query)):
        refused = ineligible(policy, request, query)
        if refused is not None:
            return reply | {
                "stands_between": "eligibility",
                "detail": f"{refused.reason}: {refused.detail}",
            }
    reply = await _by_meaning(cache, policy, first.query, second.query, reply)
    if reply["stands_between"] == "score" and await _is_promoted(
        cache, policy, first.body, second.body, reply
    ):
        reply |= {"served": True, "tier": "semantic", "stands_between": None, "detail": None}
        reply["promoted"] = True
    return reply


async def _is_promoted(
    cache: Cache, policy: Policy, a: bytes, b: bytes, reply: dict[str, Any]
) -> bool:
    """As `service.semantic` serves a near miss again: guards first, and in serve mode alone."""
    config = policy.config
    if not config.promote or config.mode != "serve" or reply["score"] is None or reply["guards"]:
        return False
    entry_key, exact_key = (
        key.exact_key(
            tenant=policy.tenant,
            scope="",
            line=policy.line,
            policy_version=config.policy_version,
            body=body,
        )
        for body in (a, b)
    )
    return await aliases.joins(
        cache.db, policy.tenant, exact_key=exact_key, entry_key=entry_key, now=cache.clock_ms()
    )


async def _by_meaning(
    cache: Cache, policy: Policy, a: str, b: str, reply: dict[str, Any]
) -> dict[str, Any]:
    budget_s = cache.settings.embed_budget_ms / 1000
    try:
        slot = await slot_of(cache, policy, timeout_s=max(10.0, budget_s))
        if slot.pool is None:
            return reply | {"stands_between": "readability", "detail": "no embedding model"}
        first = await slot.pool.embed_one(a, timeout_s=max(10.0, budget_s))
        second = await slot.pool.embed_one(b, timeout_s=max(10.0, budget_s))
    except TextRefused as error:
        return reply | {"stands_between": "readability", "detail": str(error)}
    except (EmbeddingError, TimeoutError) as error:
        return reply | {"stands_between": "readability", "detail": f"no embedding: {error}"}
    cosine = similarity.cosine(np.asarray(first), np.asarray(second))
    score = cosine
    if policy.config.score != COSINE:
        if policy.scorer is None:
            return reply | {
                "stands_between": "score",
                "detail": f"{policy.config.score} cannot be used by this release",
            }
        lift = policy.scorer.lift(np.asarray(second))
        score = policy.scorer.probability(a, b, Context(cosine, lift=lift))
    refusals = judge_all(a, b, enabled=policy.guards)
    rule = policy.config.verifier
    if rule is not None and not refusals and rule.asks_about(score):
        said = await cache.verifiers.ask(rule, a, b, timeout_s=max(10.0, budget_s))
        score = rule.effective(score, said)
        reply["verifier"] = {
            "name": rule.name,
            "low": rule.low,
            "high": rule.high,
            "accept": rule.accept,
            "said": said,
        }
    reply |= {
        "score": score,
        "cosine": cosine,
        "guards": [{"guard": r.guard, "detail": r.detail} for r in refusals],
    }
    if score < policy.config.threshold:
        return reply | {
            "stands_between": "score",
            "detail": f"{score} is under the threshold {policy.config.threshold}",
        }
    if refusals:
        return reply | {
            "stands_between": "guard",
            "detail": f"{refusals[0].guard}: {refusals[0].detail}",
        }
    if policy.config.mode == "shadow":
        return reply | {
            "tier": "semantic",
            "stands_between": "shadow",
            "detail": "the line is in shadow mode",
        }
    return reply | {"served": True, "tier": "semantic"}


def _text_difference(a: str, b: str, path: str) -> Difference:
    """Both texts from just before the first differing character."""
    n = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    start = max(0, n - 40)
    lead = "…" if start else ""
    return Difference(f"{path} (character {n})", lead + _short(a[start:]), lead + _short(b[start:]))


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= _SHOWN else value[:_SHOWN] + "…"
    text = msgspec.json.encode(value).decode()
    return value if len(text) <= _SHOWN else text[:_SHOWN] + "…"
