"""What a reviewer can do, and what the labels of an item come to.

    open ── reusable ──────────────► done        a keyed share of «reusable» and every «not reusable» goes to a
      │ └── unsure ────────────────► done        second person, who does not see the first label
      └── second ── both agree ────► done
             └──── disputed ── a third person, or an admin ──► done
    any of them ── its entry was deleted ──► withdrawn

Each act is one transaction. A label is never overwritten: taking it back keeps the row. While an item waits for its
second label it counts as its first one says; disputed, it counts as unsure, which a certificate counts as bad.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from evaluation import review_reads
from evaluation import review_rows as rows
from evaluation.desk import Desk
from evaluation.review_rows import VERDICTS, Given, Item
from evaluation.verdicts import Outcome, forbids, is_seen_twice, outcome_of
from service import feedback, ids
from service.errors import Conflict, InvalidRequest, NotFound, SurehitError
from service.policy import Policy
from service.sampling import draw
from service.storage import aliases
from service.storage import lines as line_rows
from service.storage.database import Transaction

Verdict = Literal["reusable", "not_reusable", "unsure"]

LEASE_MS = 300_000
GOLD_SHARE = 0.05
REASONS = (
    "different_intent",
    "number",
    "entity",
    "negation",
    "direction",
    "stale",
    "personal",
    "answer_bad",
    "other",
)
REOPENABLE = 10
_DAY_MS = 86_400_000


class Gone(SurehitError):
    """This item is not there any more: its entry was deleted or its text erased. Nothing was recorded."""

    status, code, title = 410, "gone", "Gone"


@dataclass(frozen=True, slots=True)
class Shown:
    """What a reviewer sees of an item. No score, no label of anybody, no sign of a known answer."""

    item: Item
    fresh_response: bytes | None
    age_ms: int | None
    lease_until_ms: int


@dataclass(frozen=True, slots=True)
class Labelled:
    """What came of a label. `changed` is the item when its outcome (or that it has one) changed."""

    state: str
    score: float | None
    already: bool
    changed: Item | None = None


async def next_item(desk: Desk, tenant: str, *, line: str, reviewer: str) -> Shown | None:
    """Lease the next item to a reviewer; None when there is nothing that he could judge.

    He gets what he holds already, then items that others began, then the oldest. A twentieth are gold items, whose
    answer is known.
    """
    now = desk.clock_ms()
    day = now // _DAY_MS * _DAY_MS
    done = (await review_reads.labels_since(desk.db, tenant, line=line, since=day)).get(reviewer, 0)
    gold = draw(desk.key, "gold", f"{tenant}/{line}/{reviewer}/{day}/{done}") < GOLD_SHARE

    def work(tx: Transaction) -> Item | None:
        item_id = rows.choose(tx, tenant, line=line, reviewer=reviewer, gold=gold, now=now)
        item = rows.get(tx, tenant, item_id=item_id) if item_id is not None else None
        if item is not None:
            _lease(desk, tx, tenant, item, reviewer, now)
        return item

    item = await desk.db.write(work)
    return None if item is None else await _shown(desk, tenant, item, now)


async def label(
    desk: Desk,
    tenant: str,
    *,
    item_id: int,
    reviewer: str,
    verdict: Verdict,
    reason: str | None = None,
    note: str | None = None,
) -> Labelled:
    """Record a verdict. The same one twice counts once.

    «Not reusable» blocks the pair before this returns, until others have outvoted it. Raises Gone, and Conflict when
    the reviewer judged the item otherwise before, or when his lease ran out and somebody else judged it; then nothing
    was recorded.
    """
    _check(verdict, reason)
    now = desk.clock_ms()
    new = Given(desk.new_id(), item_id, reviewer, verdict, reason, note, False, now)
    block_id = desk.new_id()
    policy = await _policy_of(desk, tenant, item_id)

    def work(tx: Transaction) -> Labelled:
        item, given = _open(tx, tenant, item_id)
        mine = [g for g in given if g.reviewer == reviewer]
        judged = [g for g in mine if g.is_verdict]
        if judged and judged[-1].verdict == verdict:
            return Labelled(item.state, item.score, already=True)
        _check_turn(item, given, reviewer, now)
        for old in mine:
            if old.verdict in ("skip", "lapsed"):
                rows.supersede(tx, tenant, label_id=old.id, now=now)
        rows.add_label(tx, tenant, new)
        if item.lease_by == reviewer:
            rows.lease(tx, tenant, item_id=item.id, reviewer=None, until=0)
        return _settle(desk, tx, tenant, policy, item, given, [*given, new], new, block_id)

    return await desk.db.write(work, durable=True)


async def decide(
    desk: Desk,
    tenant: str,
    *,
    item_id: int,
    reviewer: str,
    verdict: Verdict,
    reason: str | None = None,
    note: str | None = None,
) -> Labelled:
    """Adjudicate: this verdict is final, whatever the others said. Raises Gone."""
    _check(verdict, reason)
    now = desk.clock_ms()
    new = Given(desk.new_id(), item_id, reviewer, verdict, reason, note, True, now)
    block_id = desk.new_id()
    policy = await _policy_of(desk, tenant, item_id)

    def work(tx: Transaction) -> Labelled:
        item, given = _open(tx, tenant, item_id)
        rows.add_label(tx, tenant, new)
        rows.lease(tx, tenant, item_id=item.id, reviewer=None, until=0)
        return _settle(desk, tx, tenant, policy, item, given, [*given, new], new, block_id)

    return await desk.db.write(work, durable=True)


async def set_aside(
    desk: Desk,
    tenant: str,
    *,
    item_id: int,
    reviewer: str,
    how: Literal["skip", "flag", "release"],
    note: str | None = None,
) -> None:
    """Skip (it goes to others, not back to this reviewer), flag (for an admin; he still judges it) or release."""
    now = desk.clock_ms()
    label_id = desk.new_id()

    def work(tx: Transaction) -> None:
        item, given = _open(tx, tenant, item_id)
        mine = [g.verdict for g in given if g.reviewer == reviewer]
        if how != "release" and how not in mine:
            rows.add_label(
                tx, tenant, Given(label_id, item_id, reviewer, how, None, note, False, now)
            )
        if how != "flag" and item.lease_by == reviewer:
            rows.lease(tx, tenant, item_id=item.id, reviewer=None, until=0)

    await desk.db.write(work)


async def undo(
    desk: Desk, tenant: str, *, line: str, reviewer: str
) -> tuple[Shown, Labelled] | None:
    """Take the reviewer's last label or skip back and lease the item to him again; None when there is none."""
    return await _take_back(desk, tenant, line=line, reviewer=reviewer, item_id=None)


async def reopen(desk: Desk, tenant: str, *, item_id: int, reviewer: str) -> tuple[Shown, Labelled]:
    """Take back one of the reviewer's last ten labels and lease the item to him again. Raises NotFound, Gone."""
    policy = await _policy_of(desk, tenant, item_id)
    if policy is None:
        raise Gone
    taken = await _take_back(desk, tenant, line=policy.line, reviewer=reviewer, item_id=item_id)
    if taken is None:
        raise NotFound(f"this item is not among the last {REOPENABLE} that {reviewer} judged")
    return taken


async def _take_back(
    desk: Desk, tenant: str, *, line: str, reviewer: str, item_id: int | None
) -> tuple[Shown, Labelled] | None:
    now = desk.clock_ms()
    block_id = desk.new_id()
    policy = await desk.policy(tenant, line)

    def work(tx: Transaction) -> tuple[Item, Labelled] | None:
        n = 1 if item_id is None else REOPENABLE
        latest = rows.latest(
            tx, tenant, line=line, reviewer=reviewer, n=n, or_skips=item_id is None
        )
        chosen = next((g for g in latest if item_id in (None, g.item_id)), None)
        if chosen is None:
            return None
        item, given = _open(tx, tenant, chosen.item_id)
        rows.supersede(tx, tenant, label_id=chosen.id, now=now)
        left = [g for g in given if g.id != chosen.id]
        outcome = _settle(desk, tx, tenant, policy, item, given, left, None, block_id)
        _lease(desk, tx, tenant, item, reviewer, now)
        return item, outcome

    found = await desk.db.write(work, durable=True)
    if found is None:
        return None
    return await _shown(desk, tenant, found[0], now), found[1]


def _settle(
    desk: Desk,
    tx: Transaction,
    tenant: str,
    policy: Policy | None,
    item: Item,
    before: Sequence[Given],
    given: Sequence[Given],
    new: Given | None,
    block_id: int,
) -> Labelled:
    """Write what the labels come to now, after what was given `before`, and carry out what that means for serving."""
    share = policy.config.sampling.second_review_rate if policy else 0.0
    # known answers go the way that others go, or the review as a whole would not be what is measured
    found = outcome_of(given, yes_seen_twice=is_seen_twice(desk.key, item.id, share))
    was_done = item.state == "done"
    is_done = found.state == "done"
    if item.kind == "gold" and was_done and new is not None:
        return Labelled(
            "done", item.score, already=False
        )  # one more person on a finished gold item
    done_ms = (item.done_ms if was_done else desk.clock_ms()) if is_done else None
    rows.settle(
        tx,
        tenant,
        item_id=item.id,
        state=found.state,
        verdict=found.verdict,
        reason=found.reason,
        done_ms=done_ms,
    )
    was_final = item.verdict if was_done else None
    is_final = found.verdict if is_done else None
    if item.kind == "sampled":
        was_forbidden = forbids(Outcome(item.state, item.verdict, None), before)
        is_forbidden = forbids(found, given)
        by, now = new.reviewer if new else "", desk.clock_ms()
        if was_forbidden != is_forbidden:
            _forbid(tx, tenant, item, is_forbidden, by=by, block_id=block_id, now=now)
        if was_final != is_final:
            _allow(tx, tenant, policy, item, was_final, is_final, by=by, now=now)
    if was_final == is_final:
        return Labelled(found.state, item.score, already=False)
    return Labelled(found.state, item.score, already=False, changed=item)


def _forbid(
    tx: Transaction,
    tenant: str,
    item: Item,
    is_forbidden: bool,
    *,
    by: str,
    block_id: int,
    now: int,
) -> None:
    """Block the pair, or lift the block that its review made."""
    if not is_forbidden:
        if rows.unblock(tx, tenant, item):
            line_rows.bump(tx, tenant, line=item.line)
    elif item.context_hash is not None:
        pair = feedback.Pair(
            item.line,
            item.scope,
            item.query,
            item.context_hash,
            item.entry_id,
            item.entry_query,
            item.response_hash,
            item.score,
        )
        feedback.block(tx, tenant, pair, block_id=block_id, source="review", by=by, now=now)


def _allow(
    tx: Transaction,
    tenant: str,
    policy: Policy | None,
    item: Item,
    before: str | None,
    after: str | None,
    *,
    by: str,
    now: int,
) -> None:
    """What a final «reusable» allows, or no longer does: a promoted near miss, the end of a quarantine."""
    if before == "reusable":
        aliases.remove(tx, tenant, item_id=item.id)
    if after == "reusable" and item.entry_id is not None:
        rows.end_quarantine(tx, tenant, item)
        _promote(tx, tenant, policy, item, item.entry_id, by=by, now=now)


def _promote(
    tx: Transaction,
    tenant: str,
    policy: Policy | None,
    item: Item,
    entry_id: int,
    *,
    by: str,
    now: int,
) -> None:
    if policy is None or not policy.config.promote:
        return
    # a hit needs no alias, and what a guard refused is refused again
    if item.was_served or item.guard is not None or item.exact_key is None:
        return
    aliases.add(
        tx,
        tenant,
        item_id=item.id,
        exact_key=item.exact_key,
        entry_id=entry_id,
        response_hash=item.response_hash,
        by=by,
        now=now,
    )


def _open(tx: Transaction, tenant: str, item_id: int) -> tuple[Item, list[Given]]:
    item = rows.get(tx, tenant, item_id=item_id)
    if item is None or item.state == "withdrawn" or item.kind == "imported":
        raise Gone
    return item, rows.given(tx, tenant, item_id=item_id)


def _check_turn(item: Item, given: Sequence[Given], reviewer: str, now: int) -> None:
    """Refuse a label that would tread on another's; independent labels are always kept, side by side."""
    mine = [g for g in given if g.reviewer == reviewer]
    if any(g.is_verdict for g in mine):
        raise Conflict("you judged this item otherwise before; reopen it to change your verdict")
    lapsed = [g.at_ms for g in mine if g.verdict == "lapsed"]
    others = [g for g in given if g.is_verdict and g.reviewer != reviewer]
    if item.lease_by == reviewer and item.lease_until_ms <= now:
        lapsed.append(item.lease_until_ms)
    if lapsed and any(g.at_ms >= lapsed[-1] for g in others):
        raise Conflict("your lease ran out and somebody else judged this item; nothing was changed")
    is_late = item.done_ms is not None and now - item.done_ms > LEASE_MS
    if item.state == "done" and item.kind != "gold" and is_late:
        raise Conflict("this item is finished; nothing was changed")


def _lease(desk: Desk, tx: Transaction, tenant: str, item: Item, reviewer: str, now: int) -> None:
    """Give the item to a reviewer; whoever held it before and did not judge it is noted, to be told later."""
    if item.lease_by is not None and item.lease_by != reviewer:
        lapsed = Given(desk.new_id(), item.id, item.lease_by, "lapsed", None, None, False, now)
        rows.add_label(tx, tenant, lapsed)
    for old in rows.given(tx, tenant, item_id=item.id):
        if old.reviewer == reviewer and old.verdict == "lapsed":
            rows.supersede(tx, tenant, label_id=old.id, now=now)
    rows.lease(tx, tenant, item_id=item.id, reviewer=reviewer, until=now + LEASE_MS)


async def _shown(desk: Desk, tenant: str, item: Item, now: int) -> Shown:
    fresh = item.fresh_response or await review_reads.fresh_answer(desk.db, tenant, item)
    age_ms = await review_reads.entry_age_ms(desk.db, tenant, item)
    if item.kind == "gold":
        # something must stand there, or its absence would tell
        age_ms = int(60_000 + draw(desk.key, "age", str(item.id)) * _DAY_MS)
    return Shown(item, fresh, age_ms, now + LEASE_MS)


async def _policy_of(desk: Desk, tenant: str, item_id: int) -> Policy | None:
    """The line of an item; None when there is no such item."""
    line = await review_reads.line_of(desk.db, tenant, item_id=item_id)
    return None if line is None else await desk.policy(tenant, line)


def _check(verdict: str, reason: str | None) -> None:
    if verdict not in VERDICTS:
        raise InvalidRequest.field("verdict", f"must be one of {', '.join(VERDICTS)}")
    if reason is not None and reason not in REASONS:
        raise InvalidRequest.field("reason", f"must be one of {', '.join(REASONS)}")


def public_id(item_id: int) -> str:
    """How an item is called outside."""
    return ids.encode("itm", item_id)
