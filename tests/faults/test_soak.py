"""The soak: its checker finds each planted violation and nothing else, and a short run finds none."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from evaluation.bench import soak
from evaluation.bench.history import (
    UNKNOWN,
    Block,
    Change,
    Checker,
    Drop,
    History,
    Key,
    Lookup,
    Store,
)
from tests.workers import running

KEY = Key("acme", "team", "faq", "short", "How do I reset it?")
NEAR = KEY._replace(prompt="How can I reset it?")
SERVE = Change(0.0, 0.5, "acme", "faq", 0.9, "serve", "1")


def exact(began: float, serial: int = 1, *, key: Key = KEY) -> Lookup:
    return Lookup(began, began + 1, key, "exact", serial=serial)


def near(began: float, serial: int = 1, *, key: Key = NEAR, threshold: float = 0.9) -> Lookup:
    return Lookup(began, began + 1, key, "semantic", serial=serial, score=0.93, threshold=threshold)


def miss(began: float, *, key: Key = KEY, reason: str = "empty", score: float | None = None) -> Lookup:  # fmt: skip
    return Lookup(began, began + 1, key, "none", reason, score=score)


def found(*events: Store | Lookup | Drop | Change | Block) -> list[str]:
    """Kinds of violation in a history of these."""
    history = History(
        stores=[e for e in events if isinstance(e, Store)],
        lookups=[e for e in events if isinstance(e, Lookup)],
        drops=[e for e in events if isinstance(e, Drop)],
        changes=[SERVE, *(e for e in events if isinstance(e, Change))],
        blocks=[e for e in events if isinstance(e, Block)],
    )
    return [v.kind for v in Checker(history).violations()]


STORED = Store(1, 2, KEY, 1, tags=("doc",), entry="ent_1")
DROPS = {
    "entry": Drop(3, 4, "acme", entry="ent_1"),
    "scope": Drop(3, 4, "acme", scope="team"),
    "tag": Drop(3, 4, "acme", tag="doc"),
    "line": Drop(3, 4, "acme", line="faq"),
    "erasure": Drop(3, 4, "acme", scope="team", is_erasure=True),
}
PLANTED: dict[str, tuple[str, tuple[Store | Lookup | Drop | Change | Block, ...]]] = {
    **{f"dropped by {how}": ("dropped answer", (STORED, drop, exact(4))) for how, drop in DROPS.items()},
    "dropped, by meaning": ("dropped answer", (STORED, DROPS["tag"], near(9))),
    "lost": ("lost store", (STORED, miss(2))),
    "lost behind a semantic hit": (
        "lost store",
        (STORED, Store(1, 2, NEAR, 2), near(3, 2, key=KEY)),
    ),
    "lost after a drop": ("lost store", (DROPS["scope"], Store(4, 5, KEY, 2), miss(5))),
    "lost before it expires": ("lost store", (Store(1, 2, KEY, 1, ttl_s=60), miss(30))),
    "of another tenant": ("foreign answer", (STORED, near(3, key=NEAR._replace(tenant="globex")))),
    "of another scope": ("foreign answer", (STORED, near(3, key=NEAR._replace(scope="other")))),
    "of another line": ("foreign answer", (STORED, near(3, key=NEAR._replace(line="docs")))),
    "of another context": ("foreign answer", (STORED, near(3, key=NEAR._replace(context="long")))),
    "exact, of another prompt": ("foreign answer", (STORED, exact(3, key=NEAR))),
    "never stored": ("unknown answer", (STORED, near(3, serial=7))),
    "replaced": ("replaced answer", (STORED, Store(3, 4, KEY, 2), exact(4, 1))),
    "expired": ("expired answer", (Store(1, 2, KEY, 1, ttl_s=3), exact(6))),
    "old policy": (
        "answer of an old policy",
        (STORED, Change(3, 4, "acme", "faq", 0.9, "serve", "2"), exact(4)),
    ),
    "old policy, stored late": (
        "answer of an old policy",
        (
            Store(6, 7, KEY, 1, asked=(1, 2)),
            Change(3, 4, "acme", "faq", 0.9, "serve", "2"),
            exact(8),
        ),
    ),
    "old threshold": (
        "old threshold",
        (STORED, Change(3, 4, "acme", "faq", 0.85, "serve", "1"), near(4)),
    ),
    "old threshold of a miss": (
        "old threshold",
        (
            STORED,
            Change(3, 4, "acme", "faq", 0.85, "serve", "1"),
            miss(4, key=NEAR, reason="below_threshold", score=0.88),
        ),
    ),
    "old mode": ("old mode", (STORED, Change(3, 4, "acme", "faq", 0.9, "shadow", "1"), near(4))),
    "blocked": ("blocked pair", (STORED, Block(3, 4, NEAR, 1), near(4))),
    "blocked, stored again": (
        "blocked pair",
        (STORED, Block(3, 4, NEAR, 1), Store(5, 6, KEY, 2), near(6, 2)),
    ),
    "late fill": ("late fill", (Store(5, 6, KEY, 1, asked=(1, 2)), DROPS["scope"])),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_the_checker_finds_what_was_planted(name: str) -> None:
    kind, events = PLANTED[name]
    assert found(*events) == [kind]


SOUND: dict[str, tuple[Store | Lookup | Drop | Change | Block, ...]] = {
    "a hit": (STORED, exact(2), near(3)),
    "overlaps the store": (STORED, miss(1.5), exact(1.5)),
    "overlaps the drop": (STORED, DROPS["tag"], exact(3.5), miss(3.5)),
    "gone after the drop": (STORED, DROPS["tag"], miss(4)),
    "a drop without an answer": (
        STORED,
        Drop(3, UNKNOWN, "acme", scope="team"),
        exact(9),
        miss(11),
    ),
    "a store without an answer": (Store(1, UNKNOWN, KEY, 1), miss(2), exact(4)),
    "stored anew after the drop": (STORED, DROPS["tag"], Store(5, 6, KEY, 2), exact(6, 2)),
    "a drop of its key's earlier entry": (
        STORED,
        DROPS["entry"],
        Store(3, 5, KEY, 2, entry="ent_2"),
        exact(6, 2),
    ),
    "another tenant's drop": (STORED, Drop(3, 4, "globex", scope="team"), exact(4)),
    "two stores at once": (Store(1, 4, KEY, 1), Store(2, 3, KEY, 2), exact(5, 1), exact(6, 2)),
    "may have been replaced by one that expired": (
        Store(1, 4, KEY, 1),
        Store(2, 3, KEY, 2, ttl_s=2),
        miss(8),
    ),
    "expired": (Store(1, 2, KEY, 1, ttl_s=3), miss(6)),
    "degraded": (STORED, miss(3, reason="degraded")),
    "threshold changes meanwhile": (
        STORED,
        Change(3.5, 4.5, "acme", "faq", 0.92, "serve", "1"),
        near(3, threshold=0.9),
        near(4, threshold=0.92),
    ),
    "a change without an answer": (
        STORED,
        Change(3, UNKNOWN, "acme", "faq", 0.92, "serve", "1"),
        near(5, threshold=0.92),
        near(7, threshold=0.9),
    ),
    "unreachable after a new policy": (
        STORED,
        Change(3, 4, "acme", "faq", 0.9, "serve", "2"),
        miss(5),
    ),
    "asked for under the old policy": (
        Store(6, 7, KEY, 1, asked=(1, 2)),
        Change(3, 4, "acme", "faq", 0.9, "serve", "2"),
        miss(8),
    ),
    "replaced under the old policy alone": (
        Change(3, 4, "acme", "faq", 0.9, "serve", "2"),
        Store(5, 6, KEY, 1),
        Store(7, 8, KEY, 2, asked=(1, 2)),
        exact(9, 1),
    ),
    "another pair": (STORED, Block(3, 4, NEAR._replace(prompt="other"), 1), near(4)),
    "the block was erased with its scope": (
        STORED,
        Block(3, 4, NEAR, 1),
        Drop(5, 6, "acme", scope="team", is_erasure=True),
        Store(7, 8, KEY, 2),
        near(9, 2),
    ),
    "a fill that overlaps the drop": (Store(3.5, 6, KEY, 1, asked=(1, 2)), DROPS["scope"]),
}


@pytest.mark.parametrize("name", SOUND)
def test_the_checker_accuses_nobody_wrongly(name: str) -> None:
    assert found(*SOUND[name]) == []


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_short_soak_finds_nothing(database_url: str, models_dir: Path) -> None:
    """Eight seconds of everything against two workers."""
    url = "" if database_url.startswith("sqlite") else database_url
    # a machine that is busy with other tests must not make requests fail
    start = partial(running, SUREHIT_DATABASE_BUDGET_MS="10000", SUREHIT_EMBED_BUDGET_MS="10000")
    found = soak.run(minutes=8 / 60, models_dir=models_dir, database_url=url, start=start)
    assert found["violations"] == {}, found["examples"]
    assert found["troubles"] == {}
    assert found["log_records_dropped"] == 0
    assert {"lookup", "store", "invalidate", "change"} <= set(found["by_kind"])
    assert found["outcomes"]["exact"] > 0
    assert found["outcomes"]["semantic"] > 0
    assert "violations: 0" in soak.render(found)
