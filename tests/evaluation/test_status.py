"""A certificate runs out by version, age and drift, and an alarm outranks the latter two."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from evaluation.status import CERTIFICATE_LIFE, InForce, LineState, expiry_reason, line_state

NOW = datetime(2025, 6, 1, tzinfo=UTC)
FRESH = InForce(
    decided_at=NOW - timedelta(days=1), score_version="v1", stability_index=0.05, alarmed=False
)


def state_of(decision: InForce | None, *, sampling: bool = True, version: str = "v1") -> LineState:
    return line_state(
        decision,
        now=NOW,
        score_version=version,
        is_sampling=sampling,
        labels=120,
        labels_needed=460,
    )


@pytest.mark.parametrize(
    ("decision", "version", "expected"),
    [
        (FRESH, "v1", "certified"),
        (replace(FRESH, stability_index=None), "v1", "certified"),
        (replace(FRESH, stability_index=0.2), "v1", "certified"),
        (replace(FRESH, stability_index=0.201), "v1", "expired (drift)"),
        (replace(FRESH, decided_at=NOW - CERTIFICATE_LIFE), "v1", "expired (age)"),
        (replace(FRESH, decided_at=NOW - timedelta(days=29, hours=23)), "v1", "certified"),
        (FRESH, "v2", "expired (score_version)"),
        (replace(FRESH, alarmed=True), "v1", "alarm"),
        (replace(FRESH, alarmed=True, stability_index=0.9), "v1", "alarm"),
        (replace(FRESH, alarmed=True), "v2", "expired (score_version)"),
    ],
)
def test_state_of_a_decision_in_force(decision: InForce, version: str, expected: str) -> None:
    assert str(state_of(decision, version=version)) == expected


def test_a_line_without_a_decision_collects_or_is_off() -> None:
    assert str(state_of(None)) == "collecting (120 of about 460)"
    assert str(state_of(None, sampling=False)) == "off"


def test_collecting_without_a_figure_names_none() -> None:
    state = line_state(
        None, now=NOW, score_version="v1", is_sampling=True, labels=3, labels_needed=None
    )
    assert str(state) == "collecting"


def test_version_is_named_before_age() -> None:
    old = replace(FRESH, decided_at=NOW - timedelta(days=90))
    assert expiry_reason(old, now=NOW, score_version="v2") == "score_version"
