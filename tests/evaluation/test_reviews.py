"""What labels come to, and the promises of the queue: nobody twice, nobody together, nothing lost."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation import reviews
from evaluation.review_rows import Given
from evaluation.verdicts import is_seen_twice, outcome_of
from index.testing import HashEmbedder
from service.errors import Conflict
from service.storage import migrate
from tests.evaluation.desks import logged, queue, rigged
from tests.harness import Client, Clock, running

VERDICT = st.sampled_from(["reusable", "not_reusable", "unsure"])


def labels(*verdicts: str, reason: str | None = None, final: bool = False) -> list[Given]:
    """One label each, by as many reviewers; the last may be an adjudication."""
    last = len(verdicts) - 1
    return [
        Given(
            i, 1, f"r{i}", v, reason if v == "not_reusable" else None, None, final and i == last, i
        )
        for i, v in enumerate(verdicts)
    ]


@pytest.mark.parametrize(
    ("given_verdicts", "twice", "state", "verdict"),
    [
        ((), False, "open", None),
        (("reusable",), False, "done", "reusable"),
        (("reusable",), True, "second", "reusable"),
        (("not_reusable",), False, "second", "not_reusable"),
        (("unsure",), True, "done", "unsure"),
        (("reusable", "reusable"), True, "done", "reusable"),
        (("not_reusable", "not_reusable"), False, "done", "not_reusable"),
        (("not_reusable", "reusable"), False, "disputed", "unsure"),
        (("not_reusable", "reusable", "reusable"), False, "done", "reusable"),
        (("not_reusable", "reusable", "not_reusable"), False, "done", "not_reusable"),
        (("not_reusable", "reusable", "unsure"), False, "done", "unsure"),
    ],
)
def test_what_labels_come_to(
    given_verdicts: tuple[str, ...], twice: bool, state: str, verdict: str | None
) -> None:
    found = outcome_of(labels(*given_verdicts), yes_seen_twice=twice)
    assert (found.state, found.verdict) == (state, verdict)


@given(st.lists(VERDICT, min_size=1, max_size=6), st.booleans())
def test_an_adjudication_is_always_the_last_word(given_verdicts: list[str], twice: bool) -> None:
    found = outcome_of(labels(*given_verdicts, final=True), yes_seen_twice=twice)
    assert (found.state, found.verdict) == ("done", given_verdicts[-1])


@given(st.lists(VERDICT, min_size=0, max_size=6), st.booleans())
def test_a_final_no_always_has_two_voices(given_verdicts: list[str], twice: bool) -> None:
    """Without an adjudication nobody alone can block a pair, and skips never count."""
    with_skip = [*labels(*given_verdicts), Given(99, 1, "x", "skip", None, None, False, 99)]
    found = outcome_of(with_skip, yes_seen_twice=twice)
    if found.state == "done" and found.verdict == "not_reusable":
        assert given_verdicts.count("not_reusable") >= 2
    assert found == outcome_of(labels(*given_verdicts), yes_seen_twice=twice)


def test_answer_bad_counts_as_the_reason_only_when_all_said_so() -> None:
    both = labels("not_reusable", "not_reusable", reason="answer_bad")
    assert outcome_of(both, yes_seen_twice=False).reason == "answer_bad"
    mixed = [both[0], Given(2, 1, "r2", "not_reusable", "number", None, False, 2)]
    assert outcome_of(mixed, yes_seen_twice=False).reason == "number"


def test_the_share_of_second_opinions_is_about_the_rate() -> None:
    seen = sum(is_seen_twice(b"key", i, 0.1) for i in range(20_000))
    assert seen == pytest.approx(2_000, abs=4 * (20_000 * 0.1 * 0.9) ** 0.5)


async def test_no_two_reviewers_ever_hold_the_same_item(database_url: str, tmp_path: Path) -> None:
    """Twelve reviewers ask at the same moment for ten items."""
    async with running(database_url, tmp_path, clock=Clock(), embedder=rigged(10)) as client:
        desk = await queue(client, 10)
        shown = await asyncio.gather(
            *(reviews.next_item(desk, "default", line="faq", reviewer=f"r{n}") for n in range(12))
        )
        ids = [s.item.id for s in shown if s is not None]
        assert len(ids) == len(set(ids)) == 10
        again = await reviews.next_item(desk, "default", line="faq", reviewer="r0")
        assert again is not None
        assert shown[0] is not None
        assert again.item.id == shown[0].item.id


ACTS = st.lists(
    st.tuples(
        st.sampled_from(["next", "label", "skip", "release", "undo", "wait", "delete"]),
        st.sampled_from(["ann", "bo", "cy"]),
        VERDICT,
    ),
    min_size=5,
    max_size=40,
)


@settings(max_examples=25, deadline=None)
@given(ACTS)
def test_whatever_reviewers_do_the_rows_stay_consistent(acts: list[tuple[str, str, str]]) -> None:
    """An item's outcome is always that of its labels, nobody counts twice, nobody holds what another holds."""
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_play(Path(folder), acts))


async def _play(folder: Path, acts: list[tuple[str, str, str]]) -> None:
    url = f"sqlite:///{folder / 'x.db'}"
    migrate.upgrade(url)
    clock = Clock()
    async with running(url, folder, clock=clock, embedder=HashEmbedder()) as client:
        await client.line()
        desk = await queue_without_lookups(client, 4)
        held: dict[str, tuple[int, int]] = {}
        for act, who, verdict in acts:
            clock.turn(1)
            if act == "next":
                shown = await reviews.next_item(desk, "default", line="faq", reviewer=who)
                if shown is not None:
                    for other, (item_id, until) in held.items():
                        assert other == who or item_id != shown.item.id or until <= clock.now_ms
                    held[who] = (shown.item.id, shown.lease_until_ms)
            elif act == "wait":
                clock.turn(200)
            elif act == "delete" and who in held:
                await client.cache.db.write(
                    lambda tx, n=held[who][0]: tx.text(  # type: ignore[misc]  # one statement
                        f"UPDATE review_items SET state='withdrawn' WHERE id={n}"
                    )
                )
            elif act == "undo":
                taken = (
                    await reviews.undo(desk, "default", line="faq", reviewer=who)
                    if who != "cy"
                    else None
                )
                if taken is not None:
                    held[who] = (taken[0].item.id, taken[0].lease_until_ms)
            elif who in held:
                item_id = held.pop(who)[0]
                try:
                    if act == "label":
                        await reviews.label(
                            desk,
                            "default",
                            item_id=item_id,
                            reviewer=who,
                            verdict=verdict,  # type: ignore[arg-type]  # drawn from the three
                        )
                    elif act in ("skip", "release"):
                        await reviews.set_aside(
                            desk,
                            "default",
                            item_id=item_id,
                            reviewer=who,
                            how=act,  # type: ignore[arg-type]  # one of the two
                        )
                except (reviews.Gone, Conflict):
                    pass
        await _check_rows(client, desk)


async def queue_without_lookups(client: Client, n: int) -> reviews.Desk:
    """Items as the journal writes them."""
    from evaluation.desk import desk_of

    await logged(client, [0.95] * n, [None] * n)
    return desk_of(client.cache)


async def _check_rows(client: Client, desk: reviews.Desk) -> None:
    from evaluation import review_rows

    policy = await desk.policy("default", "faq")
    share = policy.config.sampling.second_review_rate

    def read(tx: object) -> list[tuple[object, list[Given]]]:
        ids = [r[0] for r in tx.text("SELECT id FROM review_items")]  # type: ignore[attr-defined]  # a Transaction
        return [
            (review_rows.get(tx, "default", item_id=i), review_rows.given(tx, "default", item_id=i))  # type: ignore[arg-type]  # the same
            for i in ids
        ]

    for item, given_labels in await desk.db.write(read):
        voices = [g.reviewer for g in given_labels if g.is_verdict]
        assert len(voices) == len(set(voices))
        if item.state != "withdrawn":  # type: ignore[attr-defined]  # an Item
            twice = is_seen_twice(desk.key, item.id, share)  # type: ignore[attr-defined]  # the same
            found = outcome_of(given_labels, yes_seen_twice=twice)
            assert (item.state, item.verdict) == (found.state, found.verdict)  # type: ignore[attr-defined]  # the same
            assert (item.done_ms is not None) == (found.state == "done")  # type: ignore[attr-defined]  # the same
