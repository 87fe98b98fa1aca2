"""Everything that a session remembers, in one place. Pages and callbacks reach `st.session_state` only through here.

Keys of single widgets are made where the widget is; none of them is read elsewhere.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Any, Literal

import streamlit as st

from review_ui.client import Client
from review_ui.replies import Item, Progress, Recent, Tuned

STATE = "surehit"
LINE = "line"
"""Key of the line picker, which every page has."""

FLAG_NOTE = "flag-note"

Stage = Literal["verdict", "reason", "flag"]
"""What a press means at present: a verdict, the reason of a «not reusable», or nothing while a note is typed."""


@dataclass(frozen=True)
class SignedIn:
    """Who is reviewing, how that is known, and the key that goes with each call."""

    name: str
    by: Literal["oidc", "proxy", "name"]
    key: str = field(default="", repr=False)


@dataclass
class State:
    """One browser session."""

    signed_in: SignedIn | None = None
    lines: list[dict[str, Any]] = field(default_factory=list)
    lines_at_s: float = -math.inf
    notices: list[tuple[str, str]] = field(default_factory=list)
    # the review page
    item: Item | None = None
    stage: Stage = "verdict"
    is_again: bool = False
    remaining: int = 0
    mine_today: int = 0
    recent: tuple[Recent, ...] | None = None
    progress: Progress | None = None
    progress_at_s: float = -math.inf
    looked_ms: float = -math.inf
    guideline_open: bool = False
    shown: tuple[str, Stage] | None = None
    shown_ms: float = -math.inf
    pressed_ms: float = -math.inf
    pressed_key: str = ""
    # the other pages
    entries_before: list[str] = field(default_factory=list)
    tuned: tuple[str, Tuned] | None = None

    def tell(self, kind: Literal["error", "warning", "success", "info"], text: str) -> None:
        """Have a message shown above the page, once."""
        self.notices.append((kind, text))

    def forget_item(self) -> None:
        """Back to «nothing on the desk»; the next rendering asks for an item."""
        self.item, self.stage, self.is_again = None, "verdict", False


def get() -> State:
    """This session's state."""
    if STATE not in st.session_state:
        st.session_state[STATE] = State()
    state: State = st.session_state[STATE]
    return state


def signed_in() -> SignedIn:
    """Who is signed in; pages run only when somebody is."""
    who = get().signed_in
    if who is None:  # pragma: no cover - app.py stops before
        raise RuntimeError("nobody is signed in")
    return who


def client() -> Client:
    """The service, called with this session's key."""
    from review_ui.signin import connection

    return Client(connection(), signed_in().key)


def line() -> str:
    """The line that is worked on; empty when there is none."""
    return st.session_state.get(LINE) or ""


def now_ms() -> float:
    """A clock for distances between presses."""
    return time.monotonic() * 1000
