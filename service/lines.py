"""A business line's configuration: every field with its range and default, and how a change is read.

One struct serves HTTP, command line and database, so that a field can't mean two things.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from service import eligibility
from service.eligibility import RULES
from service.errors import InvalidRequest
from service.field_faults import every_fault
from service.guards import GUARDS
from service.sampling import SamplingPlan
from service.score import COSINE, SCORE_NAME, VerifierRule

Mode = Literal["off", "exact", "shadow", "serve"]
Language = Literal["en", "zh", "multi"]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Edge = Annotated[float, Meta(ge=-1.0, le=1.0)]
LifeTime = Annotated[float, Meta(gt=0.0, le=315_360_000.0)]

NAME = re.compile(r"[^\x00-\x1f\x7f\ud800-\udfff]{1,128}")
"""A line, tenant or policy version: 1–128 characters, no control characters."""


class Sampling(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How many lookups are shown to reviewers. Each sampled item keeps the probability of its moment."""

    certify_rate: Share = 0.05
    """Share of unguarded lookups scoring at least `certify_floor`, served or not, that go to review."""
    certify_floor: Annotated[float, Meta(ge=-1.0, le=1.0)] = 0.85
    """The loosest threshold that these labels can certify."""
    bin_edges: tuple[Edge, ...] = (0.6, 0.7, 0.8, 0.85, 0.9, 0.94, 0.97, 0.99)
    """Lower edges, ascending, of the score bins that are explored; nothing under the first is shown."""
    explore_rates: tuple[Share, ...] = (0.01, 0.01, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02)
    """Share of the lookups of each bin, whatever was decided, that go to review."""
    guarded_rate: Share = 0.02
    """Share of the lookups whose candidate a guard refused, so that each guard can be judged."""
    second_review_rate: Share = 0.1
    """Share of «reusable» verdicts that a second person sees; every «not reusable» one is seen twice."""


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a line accepts."""

    max_ttl_s: LifeTime | None = None
    """Longest life time; a longer one is cut to it."""
    max_temperature: Annotated[float, Meta(ge=0.0, le=2.0)] = 1.0
    """Requests above it want another answer every time and are never reused by meaning."""
    max_response_bytes: Annotated[int, Meta(ge=1, le=1 << 30)] = 4 << 20
    max_entries: Annotated[int, Meta(ge=1)] | None = None
    """Entries; beyond it the least valuable go."""
    max_bytes: Annotated[int, Meta(ge=1)] | None = None
    """Bytes of answers, requests and vectors together; beyond it the least valuable per byte go."""
    max_candidates: Annotated[int, Meta(ge=1, le=8)] = 8
    """Nearest entries that are looked at before a lookup is a miss."""


class LineConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything that a line's owner sets. The defaults are those of a new line."""

    mode: Mode = "shadow"
    threshold: Annotated[float, Meta(ge=-1.0, le=1.0)] = 0.95
    """Smallest score that may hit. A score is a similarity: larger is nearer, 1.0 is the same text."""
    score: Annotated[str, Meta(pattern=SCORE_NAME)] = COSINE
    """What the threshold is compared with: `cosine`, or a learned probability by its version (`surehit tune`)."""
    verifier: VerifierRule | None = None
    """A cross-encoder that may raise the winner's score to `high` where it lies in [low, high); null means none."""
    language: Language = "en"
    embedder: Annotated[str, Meta(min_length=1, max_length=512)] | None = None
    """Name of an embedding model; null takes the default of the language."""
    target_false_hit_rate: Annotated[float, Meta(ge=0.0001, le=0.5)] = 0.03
    confidence: Annotated[float, Meta(ge=0.5, le=0.9999)] = 0.95
    ttl_s: LifeTime | None = None
    """Life time of an entry stored without one; null means until it is invalidated."""
    policy_version: Annotated[
        str, Meta(min_length=1, max_length=128, pattern="^[^\\x00-\\x1f\\x7f]+$")
    ] = "1"
    """Release of model, prompt or knowledge base. A new one retires all entries before it; the old one revives them."""
    guards: dict[str, bool] = {}
    """Guards switched off (or on again) by name; those not named are on."""
    rules: dict[str, bool] = {}
    """Classes of requests that are never reused by meaning, switched by name; those not named are on."""
    patterns: dict[str, list[Annotated[str, Meta(min_length=1, max_length=512)]]] = {}
    """Regular expressions of one's own by rule name: a request that one of them finds is of that class."""
    volatile_ttl_s: LifeTime | None = 3600.0
    """Life time in the exact tier of an answer to a time-bound question; null treats it as any other."""
    personal_needs_scope: bool = True
    """Don't store answers to personal and acting requests in the common scope, where the next asker may be another."""
    quarantine: bool = False
    """Serve a new entry by meaning only after it was reviewed as reusable."""
    promote: bool = False
    """Serve a reviewed near miss to the very same request again, though its score is under the threshold."""
    stale_while_revalidate_s: Annotated[float, Meta(ge=0.0, le=2_592_000.0)] = 0.0
    stale_if_error_s: Annotated[float, Meta(ge=0.0, le=2_592_000.0)] = 0.0
    upstream: Annotated[str, Meta(min_length=1, max_length=128)] | None = None
    """Name of an upstream from the service's settings for proxied requests; null takes the provider's default."""
    store_truncated: bool = False
    """Let the proxy store answers that were cut at a token limit."""
    store_filtered: bool = False
    """Let the proxy store answers that a content filter cut."""
    reuse_tool_calls: bool = True
    """Let the proxy store answers that call tools: for the exact tier, byte for byte; never found by meaning."""
    inert_fields: list[Annotated[str, Meta(min_length=1, max_length=128)]] = []
    """Own top-level request fields that cannot alter the answer (a tracing label, say)."""
    sampling: Sampling = Sampling()
    limits: Limits = Limits()

    @property
    def enabled_guards(self) -> frozenset[str]:
        """Names of the guards that are on."""
        return frozenset(name for name in GUARDS if self.guards.get(name, True))

    @property
    def enabled_rules(self) -> frozenset[str]:
        """Names of the rules that are on."""
        return frozenset(name for name in RULES if self.rules.get(name, True))


class LineRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A line as it is kept: its configuration, and the decision that its threshold rests on (None: set by hand)."""

    config: LineConfig
    decision_id: int | None = None


_decode_record = msgspec.json.Decoder(LineRecord).decode


def record_from_json(text: str | bytes) -> LineRecord:
    """A record as stored."""
    return _decode_record(text)


_ASKING = frozenset(
    "messages input prompt system instructions contents tools functions tool_choice response_format".split()
)
"""Fields that say what is asked: no line may leave them out of its keys."""


def record_to_json(record: LineRecord) -> str:
    """The stored form."""
    return msgspec.json.encode(record).decode()


def parse(changes: Any, *, base: LineConfig | None = None) -> LineConfig:
    """A configuration from JSON data: the given fields over `base` (PATCH) or over the defaults (PUT).

    Raises InvalidRequest naming the field and its range.
    """
    if not isinstance(changes, dict):
        raise InvalidRequest.field("body", "must be a JSON object of line settings")
    merged = changes
    if base is not None:
        merged = msgspec.to_builtins(base)
        for name, value in changes.items():
            merged[name] = _merged(name, merged.get(name), value)
    try:
        config = msgspec.convert(merged, LineConfig)
    except msgspec.ValidationError as error:
        raise every_fault(merged, LineConfig, error, groups=SWITCHES) from error
    for field, given, known in (("guards", config.guards, GUARDS), ("rules", config.rules, RULES)):
        for name in given:
            if name not in known:
                raise InvalidRequest.field(
                    f"{field}.{name}", f"is unknown; known are {', '.join(sorted(known))}"
                )
    asking = sorted(_ASKING & set(config.inert_fields))
    if asking:
        raise InvalidRequest.field(
            "inert_fields", f"must not hold {', '.join(asking)}: the answer depends on it"
        )
    try:
        eligibility.check_patterns(config.patterns)
    except ValueError as error:
        raise InvalidRequest.field("patterns", str(error)) from error
    if config.score != COSINE and config.threshold <= 0.0:
        raise InvalidRequest.field(
            "threshold", "must be over 0 and at most 1: the line's score is a probability"
        )
    if config.verifier is not None and not config.verifier.low < config.verifier.high:
        raise InvalidRequest.field("verifier.low", "must be under `high`")
    plan_of(config.sampling)
    return config


def plan_of(sampling: Sampling) -> SamplingPlan:
    """The sampling plan of a line; raises InvalidRequest where its parts do not fit together."""
    try:
        return SamplingPlan(
            sampling.certify_rate,
            sampling.certify_floor,
            tuple(sampling.bin_edges),
            tuple(sampling.explore_rates),
            sampling.guarded_rate,
        )
    except ValueError as error:
        raise InvalidRequest.field("sampling", str(error)) from error


def check_name(field: str, value: Any) -> str:
    """A usable name, or InvalidRequest."""
    if not isinstance(value, str) or not NAME.fullmatch(value) or value != value.strip():
        raise InvalidRequest.field(
            field, "must be 1 to 128 characters, without control characters or blanks at its ends"
        )
    return value


@lru_cache(maxsize=4096)  # every lookup names its line, and there are few
def check_line(value: str) -> str:
    """A usable name of a line, or InvalidRequest. It is one segment of an address: `/v1/lines/{line}`."""
    name = check_name("line", value)
    if "/" in name or name in (".", ".."):
        raise InvalidRequest.field("line", "must be neither `.` nor `..` and hold no slash")
    return name


SWITCHES = ("guards", "rules", "patterns")
"""Groups whose members have any name; of these null takes a member, or all of them, back to its default."""


def _merged(name: str, present: Any, value: Any) -> Any:
    """A setting after a change: members that a group is not given stay as they are."""
    if name in SWITCHES and value is None:
        return {}
    if not isinstance(present, dict) or not isinstance(value, dict):
        return value
    both = {**present, **value}
    return {k: v for k, v in both.items() if v is not None} if name in SWITCHES else both
