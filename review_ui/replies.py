"""The service's replies as the page uses them. Fields that a reply has beyond these are left alone."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Verdict = Literal["reusable", "not_reusable", "unsure"]

REASONS: tuple[tuple[str, str], ...] = (
    ("different_intent", "asks for something else"),
    ("number", "another number, amount or date"),
    ("entity", "another name, product or place"),
    ("negation", "negated, or the opposite"),
    ("direction", "the other direction"),
    ("stale", "the answer is out of date"),
    ("personal", "depends on who asks"),
    ("answer_bad", "the stored answer is bad in itself"),
    ("other", "something else"),
)
"""Why an answer is not reusable, in the order of the keys 1 to 9: (code, words)."""


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
    """One reviewer's work; kappa is null where it would mislead."""

    reviewer: str
    labels: int = 0
    gold: Gold = Gold()
    kappa: float | None = None


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """Where a line's review stands."""

    open: int = 0
    second: int = 0
    disputed: int = 0
    done: int = 0
    withdrawn: int = 0
    labels_today: int = 0
    state: str = "off"
    labels_needed: int | None = None
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
    certified: bool = False
    decision_id: str | int | None = None


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """Rates over thresholds: equally long lists, thresholds ascending, rates in [0, 1]."""

    thresholds: list[float]
    hit_rate: list[float]
    hit_rate_low: list[float]
    hit_rate_high: list[float]
    false_hit_rate: list[float]
    false_hit_rate_low: list[float]
    false_hit_rate_high: list[float]
    labels: list[int]
    effective_labels: list[float]
    present: Present
    wrong_reuse_rate: list[float] = []
    expected_value: list[float] | None = None
    lookups: int = 0
    labelled: int = 0
    target: float | None = None
    confidence: float | None = None
    proposed: dict[str, Any] | None = None
    state: Any = None
    not_certified: dict[str, Any] | None = None


class Decisions(msgspec.Struct, frozen=True, kw_only=True):
    """All decisions of a line and what became of them, newest first."""

    decisions: list[dict[str, Any]] = []
    events: list[dict[str, Any]] = []


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
    quarantined: bool
    response_bytes: int


class EntryPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of entries; `next` asks for the one after it."""

    entries: list[EntryRow]
    next: str | None = None
