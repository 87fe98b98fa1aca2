"""Decides what a press of a key does: which of them count, what is sent, and what comes on the desk next.

A press is bound to the item that was on the screen when its button was drawn, so a late one can never judge an item
that nobody has seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import get_args

import streamlit as st

from review_ui import state
from review_ui.client import ServiceError
from review_ui.replies import REASON_WORDS, Item, Verdict
from review_ui.state import Stage, State

DEBOUNCE_MS = 250.0
"""No press counts this soon after another one, nor this soon after its item appeared."""

LOST = frozenset({404, 409, 410})
"""The item is judged by somebody else or gone: nothing to repeat, the next one comes."""

PROGRESS_EVERY_S = 30.0
"""The state of a line is much work for the service, and changes slowly."""

FIRST_LOOK_MS = 1_500.0
"""The first visit asks no longer than this where items wait; lines that were not asked count as empty."""


def is_deliberate(now_ms: float, *, pressed_ms: float, shown_ms: float, is_other_key: bool) -> bool:
    """Whether a press is one that a person meant.

    A held key repeats every 30 ms and a double tap comes within 200 ms; both are the same key. The reason after «not
    reusable» is another key, which quick hands press at once, so it needs no pause.
    """
    if is_other_key:
        return True
    return now_ms - pressed_ms >= DEBOUNCE_MS and now_ms - shown_ms >= DEBOUNCE_MS


def give(item_id: str, key: str, verdict: str) -> None:
    """Keys 1, 2, 3: a verdict. «Not reusable» asks for its reason first."""
    if not _counts(item_id, key):
        return
    if verdict == "not_reusable":
        state.get().stage = "reason"
    else:
        _label(item_id, verdict)


def give_reason(item_id: str, key: str, code: str) -> None:
    """Keys 1 to 9 after «not reusable»."""
    if _counts(item_id, key, stage="reason", after_another=True):
        _label(item_id, "not_reusable", reason=code)


def skip(item_id: str, key: str) -> None:
    """Key S: leave it to others."""
    if _counts(item_id, key):
        who = state.signed_in().name
        _send_and_go_on(lambda: state.client().skip(item_id, reviewer=who))


def start_flag(item_id: str, key: str) -> None:
    """Key F: an admin should look at this item; a note says why."""
    if _counts(item_id, key):
        state.get().stage = "flag"


def flag(item_id: str) -> None:
    """The note is written."""
    note = str(st.session_state.get(state.FLAG_NOTE, "")).strip()
    desk = state.get()
    if desk.item is None or desk.item.item_id != item_id:
        return
    if not note:
        desk.tell("warning", "Say in a few words what is odd, or go back.")
        return
    with reported():
        state.client().flag(item_id, reviewer=state.signed_in().name, note=note)
        desk.stage = "verdict"
        desk.tell("success", "Noted for an admin. Judge it all the same, or skip it.")


def undo(item_id: str, key: str) -> None:
    """Key U: out of the reasons, or take the last label back."""
    if not _counts(item_id, key, stage=None, after_another=True):
        return
    desk = state.get()
    if desk.stage != "verdict":
        desk.stage = "verdict"
        return
    with reported():
        _take_back(desk, lambda: state.client().undo(state.line(), state.signed_in().name))


def back() -> None:
    """Out of the note."""
    state.get().stage = "verdict"


def toggle_guideline(item_id: str, key: str) -> None:
    """Key G."""
    if _counts(item_id, key):
        desk = state.get()
        desk.guideline_open = not desk.guideline_open


def reopen(item_id: str) -> None:
    """One of the last labels, to judge it again."""
    who = state.signed_in().name
    with reported():
        _take_back(state.get(), lambda: state.client().reopen(item_id, reviewer=who))


def look_again() -> None:
    """Ask for the next item once more."""
    state.get().forget_item()
    state.get().progress_at_s = float("-inf")


def fetch(desk: State) -> None:
    """Put the next item on the desk if there is none, and what is shown beside it."""
    who, line = state.signed_in().name, state.line()
    if desk.item is None:
        desk.item = _next(desk)
    if desk.recent is None:
        desk.recent = state.client().recent(line, who)
    if state.now_ms() / 1000 - desk.progress_at_s > PROGRESS_EVERY_S:
        desk.progress = state.client().progress(line)
        desk.progress_at_s = state.now_ms() / 1000


def _next(desk: State) -> Item | None:
    """Lease an item, and take over the figures that come with it."""
    found = state.client().next_item(state.line(), state.signed_in().name)
    desk.looked_ms = state.now_ms()
    desk.remaining, desk.mine_today = found.remaining, found.mine_today
    return found.item


def busiest(lines: Sequence[str]) -> str:
    """The line with most items waiting; the first one when nothing waits. A call per line, so for the first visit."""
    waiting, until_ms = dict.fromkeys(lines, 0), state.now_ms() + FIRST_LOOK_MS
    with suppress(ServiceError):
        for line in lines if len(lines) > 1 else ():
            if state.now_ms() > until_ms:
                break
            found = state.client().progress(line)
            waiting[line] = found.open + found.second
    return max(lines, key=waiting.__getitem__)


def mark_shown(desk: State) -> None:
    """From now on presses mean this item at this stage."""
    now_shown = (_desk_id(desk), desk.stage)
    if desk.shown != now_shown:
        desk.shown, desk.shown_ms = now_shown, state.now_ms()


def put_back(desk: State) -> None:
    """Give the item on the desk back to the queue; whatever the service says, it leaves the desk."""
    if desk.item is not None and desk.signed_in is not None:
        with suppress(ServiceError):  # it comes back by itself when the lease runs out
            state.client().release(desk.item.item_id, reviewer=desk.signed_in.name)
    desk.forget_item()


def leave(desk: State) -> None:
    """Another page or another line: nothing of the old one stays."""
    put_back(desk)
    desk.recent, desk.progress, desk.progress_at_s = None, None, float("-inf")


class reported:
    """Turn a refusal of the service into a message above the page."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, ServiceError):
            return False
        state.get().tell("error", str(error))
        return True


def _counts(
    item_id: str, key: str, *, stage: Stage | None = "verdict", after_another: bool = False
) -> bool:
    """Whether this press was meant for what is on the desk: this item, and buttons of this stage."""
    desk = state.get()
    now, before, last_key = state.now_ms(), desk.pressed_ms, desk.pressed_key
    desk.pressed_ms, desk.pressed_key = now, key
    if desk.shown != (item_id, desk.stage) or _desk_id(desk) != item_id:
        return False
    if stage not in (None, desk.stage):
        return False
    return is_deliberate(
        now,
        pressed_ms=before,
        shown_ms=desk.shown_ms,
        is_other_key=after_another and key != last_key,
    )


def _desk_id(desk: State) -> str:
    return desk.item.item_id if desk.item else ""


def _label(item_id: str, verdict: str, *, reason: str | None = None) -> None:
    if verdict not in get_args(Verdict) or (reason and reason not in REASON_WORDS):
        raise ValueError(f"verdict {verdict!r} with reason {reason!r} is not one of the page's")
    who = state.signed_in().name
    _send_and_go_on(
        lambda: state.client().label(item_id, reviewer=who, verdict=verdict, reason=reason)
    )


def _send_and_go_on(send: Callable[[], object]) -> None:
    """After success, or when the item is no longer there to be judged, the next one comes; else it stays."""
    desk = state.get()
    try:
        send()
    except ServiceError as error:
        if error.status not in LOST:
            desk.tell("error", f"Not saved. {error}")
            return
        desk.tell("warning", f"Not counted. {error}")
    desk.forget_item()
    desk.recent = None


def _take_back(desk: State, ask: Callable[[], Item | None]) -> None:
    item = ask()
    if item is None:
        desk.tell("info", "There is nothing to take back.")
        return
    put_back(desk)
    desk.item, desk.is_again, desk.recent = item, True, None
    _next(desk)  # this item again, since he holds it; what is wanted are the figures beside it
