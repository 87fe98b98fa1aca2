"""The service's replies as the page uses them. Fields that a reply has beyond these are left alone."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Verdict = Literal["reusable", "not_reusable", "unsure"]

REASONS: tuple[tuple[str, str, str], ...] = (
    ("different_intent", "Other intent", "asks for something else"),
    ("number", "Number", "another number, amount or date"),
    ("entity", "Entity", "another name, product or place"),
    ("negation", "Negation", "negated, or the opposite"),
    ("direction", "Direction", "the other way round: from A to B, from B to A"),
    ("stale", "Stale", "the answer is out of date"),
    ("personal", "Personal", "it depends on who asks"),
    ("answer_bad", "Bad answer", "the stored answer is wrong for its own question, too"),
    ("other", "Other", "something else"),
)
"""Why an answer is not reusable, in the order of the keys 1 to 9: (code, on the button, in words)."""

REASON_WORDS = {code: words for code, _, words in REASONS}


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """A review item, leased to the reviewer who got it."""

    item_id: str
    query: str
    entry_query: str
    entry_response: Any
    kind: str = "sampled"
    fresh_response: Any = None
    was_served: bool = False
    guard: str | None = None
    guard_detail: str | None = None
    age_s: float | None = None
    round: int = 1
    lease_until_ms: int = 0


class Handed(msgspec.Struct, frozen=True, kw_only=True):
    """An item leased again to the reviewer whose label on it was taken back; none when there was nothing."""

    item: Item | None = None


class Next(msgspec.Struct, frozen=True, kw_only=True):
    """What to judge next; no item means that nothing is waiting for this reviewer."""

    item: Item | None
    remaining: int = 0
    mine_today: int = 0


class Labelled(msgspec.Struct, frozen=True, kw_only=True):
    """What a label did. `already` says that it had been given before and counts once."""

    state: str
    score: float | None = None
    already: bool = False


class Recent(msgspec.Struct, frozen=True, kw_only=True):
    """One of the reviewer's own labels."""

    item_id: str
    query: str
    entry_query: str
    verdict: str
    reason: str | None = None
    score: float | None = None
    at_ms: int = 0


class Gold(msgspec.Struct, frozen=True, kw_only=True):
    """A reviewer against items with a known answer; rates in [0, 1], null without such items."""

    n: int = 0
    sensitivity: float | None = None
    false_alarm: float | None = None


class ReviewerFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One reviewer's work; kappa is null where it would mislead, and `kappa_withheld` says why."""

    reviewer: str
    labels: int = 0
    today: int = 0
    gold: Gold = Gold()
    judged_with_others: int = 0
    agreed: int = 0
    kappa: float | None = None
    kappa_withheld: str | None = None


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """Where a line's review stands; `state_text` is the state of its promise in words."""

    open: int = 0
    second: int = 0
    disputed: int = 0
    done: int = 0
    withdrawn: int = 0
    labels_today: int = 0
    state: str = "off"
    state_text: str = ""
    by_reviewer: tuple[ReviewerFigures, ...] = ()


class GivenLabel(msgspec.Struct, frozen=True, kw_only=True):
    """A label with its name: only adjudicators see those."""

    reviewer: str
    verdict: str
    reason: str | None = None
    note: str | None = None
    at_ms: int = 0


class Dispute(Item, frozen=True, kw_only=True):
    """An item on which reviewers disagree, or that one of them flagged."""

    score: float | None = None
    labels: tuple[GivenLabel, ...] = ()


class Present(msgspec.Struct, frozen=True, kw_only=True):
    """The threshold in force."""

    threshold: float
    mode: str = ""
    certified: bool = False
    decision_id: str | None = None


class Proposed(msgspec.Struct, frozen=True, kw_only=True):
    """The newest decision that could be put in force and is not."""

    decision_id: str
    threshold: float
    target: float
    confidence: float


class PromiseState(msgspec.Struct, frozen=True, kw_only=True):
    """`off`, `collecting`, `certified`, `expired` or `alarm`, and the same in words with its figures."""

    state: str
    text: str


class NotCertified(msgspec.Struct, frozen=True, kw_only=True):
    """What is missing for a certificate."""

    reason: str | None = None
    labels_missing: int | None = None


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """Rates over thresholds: equally long lists, thresholds ascending, rates in [0, 1], money per lookup.

    None where no label tells.
    """

    thresholds: list[float]
    hit_rate: list[float]
    hit_rate_low: list[float]
    hit_rate_high: list[float]
    false_hit_rate: list[float | None]
    false_hit_rate_low: list[float]
    false_hit_rate_high: list[float]
    labels: list[int]
    effective_labels: list[float]
    is_thin: list[bool]
    expected_value: list[float | None]
    expected_saved: list[float | None]
    expected_lost: list[float | None]
    lookups: int
    labelled: int
    target: float
    confidence: float
    present: Present
    state: PromiseState
    proposed: Proposed | None = None
    not_certified: NotCertified | None = None
    waiting: int = 0
    is_pilot: bool = False


class Tuned(msgspec.Struct, frozen=True, kw_only=True):
    """What a look at the labels came to, in words; certified, there is a decision to apply."""

    certified: bool
    text: str
    decision_id: str | None = None
    labels_missing: int | None = None


class Certificate(msgspec.Struct, frozen=True, kw_only=True):
    """What a decision rests on: labels at or above its threshold, and the rates there."""

    labels: int
    false_hits: int
    unsure: int
    hit_rate: float
    point_estimate: float


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What was kept with a decision."""

    certificate: Certificate | None = None


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """A threshold that was certified. `void` says why it can't be served any more; null while it can."""

    decision_id: str
    created_ms: int
    by: str
    threshold: float
    target: float
    confidence: float
    in_force: bool = False
    void: str | None = None
    evidence: Evidence = Evidence()


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """A decision was applied, alarmed or found void."""

    act: str
    at_ms: int
    by: str
    reason: str
    decision_id: str | None = None


class Decisions(msgspec.Struct, frozen=True, kw_only=True):
    """All decisions of a line and what became of them, newest first."""

    decisions: tuple[Decision, ...] = ()
    events: tuple[Event, ...] = ()


class EntryRow(msgspec.Struct, frozen=True, kw_only=True):
    """An entry in a list."""

    entry_id: str
    line: str
    scope: str
    model: str
    created_ms: int
    expires_ms: int | None
    query: str | None
    hits: int
    quarantined: bool | int  # SQLite's rows say 0 and 1
    response_bytes: int


class EntryPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of entries; `next` asks for the one after it."""

    entries: list[EntryRow]
    next: str | None = None


class AuditLayer(msgspec.Struct, frozen=True, kw_only=True):
    """What one layer of caching does for a line. Shares of different layers have different units."""

    layer: str
    share: float | None
    unit: str
    saves: str
    saved: float | None
    risk: str
    next_step: str
    is_worth_it: bool


class AuditThreshold(msgspec.Struct, frozen=True, kw_only=True):
    """Logged lookups with a candidate from a threshold on."""

    threshold: float
    refused_by_guards: int
    left: int


class AuditCause(msgspec.Struct, frozen=True, kw_only=True):
    """Why prefixes of stored requests part."""

    cause: str
    times: int
    lost_tokens: int
    mending: str


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """The layers of one line side by side; `covers` says what of the traffic each rests on."""

    layers: tuple[AuditLayer, ...]
    thresholds: tuple[AuditThreshold, ...]
    threshold_in_force: float
    causes: tuple[AuditCause, ...]
    currency: str
    prices_as_of: str
    lookups_read: int
    requests_read: int
    covers: tuple[str, ...]
