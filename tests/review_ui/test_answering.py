"""Which presses count."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from review_ui.answering import DEBOUNCE_MS, is_deliberate


@given(st.floats(0, 1e9), st.floats(0, DEBOUNCE_MS - 1))
def test_the_same_key_again_at_once_never_counts(now: float, gap: float) -> None:
    assert not is_deliberate(now, pressed_ms=now - gap, shown_ms=now - 5_000, is_other_key=False)
    assert not is_deliberate(now, pressed_ms=now - 5_000, shown_ms=now - gap, is_other_key=False)


@given(st.floats(0, 1e9), st.floats(DEBOUNCE_MS + 1, 1e6), st.floats(DEBOUNCE_MS + 1, 1e6))
def test_a_press_after_a_pause_always_counts(now: float, press: float, shown: float) -> None:
    assert is_deliberate(now, pressed_ms=now - press, shown_ms=now - shown, is_other_key=False)


def test_the_reason_after_not_reusable_may_follow_at_once() -> None:
    assert is_deliberate(100, pressed_ms=40, shown_ms=60, is_other_key=True)
