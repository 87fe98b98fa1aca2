"""What clients were told, in order, and the search for what can't be: the checker of `surehit bench soak`.

Each request is noted with the times at which it was sent and its reply came (invocation and response: Herlihy and Wing,
"Linearizability", 1990). Of two requests that overlap either order is possible, so a violation is reported only where
no order explains it. Times are seconds of one clock, that of the clients' process.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

UNKNOWN = math.inf
"""`ended` of a request that was not answered: it may have taken effect at any time since, or never."""

CLOCK_S = 0.05
"""Life times are judged with so much room: they are counted in the service, in milliseconds."""


class Key(NamedTuple):
    """What an answer belongs to."""

    tenant: str
    scope: str
    line: str
    context: str
    prompt: str


@dataclass(frozen=True, slots=True)
class Store:
    """An answer that a client wanted kept; `serial` is in the answer and names it."""

    began: float
    ended: float
    key: Key
    serial: int
    tags: tuple[str, ...] = ()
    ttl_s: float | None = None
    asked: tuple[float, float] | None = None
    """Start and end of the lookup whose id it used."""
    entry: str = ""
    """The entry's id, as the reply named it; it stays when the answer is replaced."""

    @property
    def is_acknowledged(self) -> bool:
        """True when the client was told that it was stored."""
        return self.ended < UNKNOWN


@dataclass(frozen=True, slots=True)
class Lookup:
    """A lookup that was answered."""

    began: float
    ended: float
    key: Key
    tier: str
    """exact, semantic, or none for a miss."""
    reason: str = ""
    serial: int | None = None
    score: float | None = None
    threshold: float | None = None


@dataclass(frozen=True, slots=True)
class Drop:
    """An invalidation or erasure that found something or may have, of one kind of selector each."""

    began: float
    ended: float
    tenant: str
    entry: str | None = None
    scope: str | None = None
    tag: str | None = None
    line: str | None = None
    is_erasure: bool = False

    def selector(self) -> tuple[object, ...]:
        """Which answers it covers, as a key of `_Drops`."""
        for kind in ("entry", "scope", "tag", "line"):
            if (value := getattr(self, kind)) is not None:
                return (kind, self.tenant, value)
        raise ValueError("a drop without a selector")


@dataclass(frozen=True, slots=True)
class Change:
    """A line as it was set; changes of one line never overlap."""

    began: float
    ended: float
    tenant: str
    line: str
    threshold: float
    mode: str
    version: str


@dataclass(frozen=True, slots=True)
class Block:
    """A verdict `not_reusable` on a query and the answer that it got."""

    began: float
    ended: float
    key: Key
    """Of the query."""
    serial: int


@dataclass
class History:
    """All of it, in the order of the replies."""

    stores: list[Store] = field(default_factory=list)
    lookups: list[Lookup] = field(default_factory=list)
    drops: list[Drop] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)


class Violation(NamedTuple):
    """Something that no order of the requests explains."""

    kind: str
    what: str


class _Times:
    """Intervals of some events, asked by time."""

    def __init__(self, intervals: Iterable[tuple[float, float]]) -> None:
        ordered = sorted(intervals)
        self._began = [began for began, _ in ordered]
        self._first_end = [UNKNOWN] * (len(ordered) + 1)
        for n in range(len(ordered) - 1, -1, -1):
            self._first_end[n] = min(ordered[n][1], self._first_end[n + 1])
        self._last_end = [-UNKNOWN]
        for _, ended in ordered:
            self._last_end.append(max(ended, self._last_end[-1]))

    def done_since(self, time: float) -> float:
        """When the first event that began at or after a time had ended; UNKNOWN without one."""
        return self._first_end[bisect.bisect_left(self._began, time)]

    def may_be_between(self, start: float, end: float) -> bool:
        """True when some event may have taken effect in between."""
        return self._last_end[bisect.bisect_left(self._began, end)] > start


_NEVER = _Times(())


class _Drops:
    def __init__(self, drops: Iterable[Drop]) -> None:
        grouped = defaultdict(list)
        for drop in drops:
            grouped[drop.selector()].append((drop.began, drop.ended))
        self._times = {selector: _Times(found) for selector, found in grouped.items()}

    def of(self, store: Store) -> Iterator[_Times]:
        """Of the drops that cover an answer."""
        tenant, key = store.key.tenant, store.key
        selectors: list[tuple[object, ...]] = [
            ("entry", tenant, store.entry),
            ("scope", tenant, key.scope),
            ("line", tenant, key.line),
            *(("tag", tenant, tag) for tag in store.tags),
        ]
        for selector in selectors:
            if selector in self._times:
                yield self._times[selector]


class Checker:
    """Holds a history, indexed."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._by_serial = {store.serial: store for store in history.stores}
        self._of_key: dict[Key, list[Store]] = defaultdict(list)
        for store in history.stores:
            self._of_key[store.key].append(store)
        self._drops = _Drops(history.drops)
        self._changes: dict[tuple[str, str], list[Change]] = defaultdict(list)
        for change in sorted(history.changes, key=lambda c: c.began):
            self._changes[change.tenant, change.line].append(change)
        self._answered = {
            where: [(c.ended, n) for n, c in enumerate(found) if c.ended < UNKNOWN]
            for where, found in self._changes.items()
        }
        self._versions = {where: _Times(_bumps(found)) for where, found in self._changes.items()}
        self._overwritten = {
            key: _Times((s.began, s.ended) for s in stores if self._surely_replaces(s))
            for key, stores in self._of_key.items()
        }
        erasures = defaultdict(list)
        for drop in history.drops:
            if drop.is_erasure:
                erasures[drop.tenant, drop.scope].append((drop.began, drop.ended))
        self._erasures = {where: _Times(found) for where, found in erasures.items()}
        self._blocks: dict[Key, list[Block]] = defaultdict(list)
        for block in history.blocks:
            self._blocks[block.key].append(block)

    def violations(self) -> list[Violation]:
        """All that are found, in the order of the history."""
        found = [v for lookup in self._history.lookups for v in self._of_lookup(lookup)]
        found += [v for store in self._history.stores for v in self._of_store(store)]
        return found

    def _of_store(self, store: Store) -> Iterator[Violation]:
        if store.is_acknowledged and store.asked is not None:
            since = store.asked[1]
            if any(times.done_since(since) <= store.began for times in self._drops.of(store)):
                yield Violation("late fill", f"stored although dropped since it was asked: {store}")

    def _of_lookup(self, lookup: Lookup) -> Iterator[Violation]:
        yield from self._of_rules(lookup)
        if lookup.tier != "exact" and lookup.reason != "degraded":
            yield from self._lost(lookup)
        if lookup.tier == "none":
            return
        store = self._by_serial.get(lookup.serial if lookup.serial is not None else -1)
        if store is None:
            yield Violation("unknown answer", str(lookup))
            return
        told = f"{lookup} got {store}"
        if not self._may_meet(lookup, store):
            yield Violation("foreign answer", told)
            return
        if any(times.done_since(store.ended) <= lookup.began for times in self._drops.of(store)):
            yield Violation("dropped answer", told)
        until = store.ended if store.asked is None else store.asked[1]
        if self._bumped(store.key).done_since(until) <= lookup.began:
            yield Violation("answer of an old policy", told)
        if store.ttl_s is not None and lookup.began > store.ended + store.ttl_s + CLOCK_S:
            yield Violation("expired answer", told)
        if self._overwritten[store.key].done_since(store.ended) <= lookup.began:
            yield Violation("replaced answer", told)
        if lookup.tier == "semantic":
            yield from self._blocked(lookup, store, told)

    def _surely_replaces(self, store: Store) -> bool:
        """A fill that was asked for under an earlier policy version is stored under that one, beside the others."""
        since = store.began if store.asked is None else store.asked[0]
        is_of_one_version = not self._bumped(store.key).may_be_between(since, store.ended)
        return store.is_acknowledged and is_of_one_version

    def _may_meet(self, lookup: Lookup, store: Store) -> bool:
        asked, kept = lookup.key, store.key
        return asked == kept if lookup.tier == "exact" else asked[:4] == kept[:4]

    def _bumped(self, key: Key) -> _Times:
        return self._versions.get((key.tenant, key.line), _NEVER)

    def _of_rules(self, lookup: Lookup) -> Iterator[Violation]:
        """The line as it may have been while the lookup ran."""
        rules = list(self._in_force(lookup))
        if not rules:
            return
        thresholds = {rule.threshold for rule in rules}
        if lookup.tier == "semantic":
            if lookup.threshold not in thresholds:
                yield Violation("old threshold", f"{lookup}, in force {sorted(thresholds)}")
            elif lookup.score is None or lookup.score < min(thresholds):
                yield Violation("under the threshold", str(lookup))
            if all(rule.mode != "serve" for rule in rules):
                yield Violation("old mode", f"{lookup}, in force {[rule.mode for rule in rules]}")
        elif (
            lookup.reason == "below_threshold"
            and lookup.score is not None
            and lookup.score >= max(thresholds)
        ):
            yield Violation("old threshold", f"{lookup}, in force {sorted(thresholds)}")

    def _in_force(self, lookup: Lookup) -> Iterator[Change]:
        where = (lookup.key.tenant, lookup.key.line)
        answered = self._answered.get(where, [])
        before = bisect.bisect_right(answered, (lookup.began, math.inf))
        for change in self._changes.get(where, [])[answered[before - 1][1] if before else 0 :]:
            if change.began >= lookup.ended:
                return
            yield change

    def _lost(self, lookup: Lookup) -> Iterator[Violation]:
        """An answer is lost when every store that may have been the last one must still be there."""
        stores = [s for s in self._of_key.get(lookup.key, ()) if s.began < lookup.ended]
        if not any(s.ended <= lookup.began for s in stores):
            return
        overwritten = self._overwritten[lookup.key]
        last = [s for s in stores if overwritten.done_since(s.ended) > lookup.began]
        if not any(self._may_be_gone(store, lookup) for store in last):
            yield Violation("lost store", f"{lookup} missed {last}")

    def _may_be_gone(self, store: Store, lookup: Lookup) -> bool:
        if store.ttl_s is not None and lookup.ended > store.began + store.ttl_s - CLOCK_S:
            return True
        since = store.began if store.asked is None else store.asked[0]
        if self._bumped(store.key).may_be_between(since, lookup.ended):
            return True
        return any(t.may_be_between(store.began, lookup.ended) for t in self._drops.of(store))

    def _blocked(self, lookup: Lookup, store: Store, told: str) -> Iterator[Violation]:
        for block in self._blocks.get(lookup.key, ()):
            bad = self._by_serial.get(block.serial)
            if block.ended > lookup.began or bad is None:
                continue
            erased = self._erasures.get((lookup.key.tenant, lookup.key.scope), _NEVER)
            is_same = bad.serial == store.serial or bad.key.prompt == store.key.prompt
            if is_same and not erased.may_be_between(block.began, lookup.ended):
                yield Violation("blocked pair", f"{told}, blocked by {block}")
                return


def _bumps(changes: list[Change]) -> Iterator[tuple[float, float]]:
    """Changes that gave the line another policy version: entries of the earlier one are out of reach."""
    for before, after in itertools.pairwise(changes):
        if before.version != after.version:
            yield after.began, after.ended
