"""The review page's entry: who is there, which line, which page. Run it with `surehit review`."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import streamlit as st

from review_ui import answering, signin, state, tables, verbatim
from review_ui.client import ServiceError

PAGES = (
    Path(__file__).parent / "views"
)  # not `pages`: Streamlit would run that folder past the sign-in
LINES_EVERY_S = 5.0

STYLE = """<style>
[data-testid="stMainBlockContainer"]{padding:2.2rem 3rem 2rem}
[data-testid="stSidebarHeader"]{height:2.6rem;margin-bottom:0}
.st-key-cards [data-testid="stColumn"]{min-width:12rem}
.st-key-halves [data-testid="stColumn"]:not([data-testid="stColumn"] *){min-width:20rem}
[data-testid="stMetricLabel"] *, .stMarkdownBadge{white-space:normal!important;overflow-wrap:normal}
</style>"""


def main() -> None:
    """One run of the script: a click, a key press, a first look."""
    st.set_page_config(page_title="Surehit review", layout="wide")
    st.html(STYLE + verbatim.STYLE + tables.STYLE)
    # registered before anybody is signed in, so that a link to a page survives the signing in
    chosen = st.navigation(
        [
            st.Page(PAGES / "review.py", title="Review", default=True),
            st.Page(PAGES / "curves.py", title="Curves and threshold"),
            st.Page(PAGES / "lines.py", title="Lines"),
            st.Page(PAGES / "entries.py", title="Entries"),
            st.Page(PAGES / "quality.py", title="Reviewers"),
            st.Page(PAGES / "overview.py", title="Overview"),
            st.Page(PAGES / "audit.py", title="Audit"),
        ],
        position="sidebar" if state.get().signed_in else "hidden",
    )
    who = signin.require()
    if who is None:
        return
    desk = state.get()
    if chosen.title != "Review":
        answering.leave(desk)
    try:
        _sidebar(desk, who.name)
        _notices(desk)
        if state.line() or chosen.title == "Lines":
            chosen.run()
        else:
            st.info(
                "There is no line yet. One appears with its first lookup, or on the page «Lines»."
            )
    except ServiceError as error:
        _refused(error)
    _settle(chosen.title)


@st.cache_resource(show_spinner=False)
def _settle(page: str) -> None:
    """Once per page: what it has imported stays. Streamlit collects garbage after each run and would look at it all."""
    gc.collect()
    gc.freeze()


def _sidebar(desk: state.State, name: str) -> None:
    now_s = state.now_ms() / 1000
    if now_s - desk.lines_at_s > LINES_EVERY_S:
        desk.lines, desk.lines_at_s = state.client().lines(), now_s
    names = [line["line"] for line in desk.lines]
    with st.sidebar:
        if names:
            if state.LINE not in st.session_state:
                st.session_state[state.LINE] = answering.busiest(names)
            st.selectbox("Line", names, key=state.LINE, on_change=answering.leave, args=(desk,))
            found = next((line for line in desk.lines if line["line"] == state.line()), None)
            if found:
                line_badges(found)
        with st.container(horizontal=True, vertical_alignment="center"):
            st.html(f'<div class="sh-who">{verbatim.escape(name)}</div>')
            st.button("Sign out", on_click=_sign_out, args=(desk,), type="tertiary")


def line_badges(line: dict[str, Any]) -> None:
    """Mode and threshold, and what the threshold rests on: on every page."""
    certified = bool(line["certified"])
    with st.container(horizontal=True, gap="small"):
        st.badge(str(line["mode"]), color="blue" if line["mode"] == "serve" else "gray")
        st.badge(
            f"{line['threshold']:.3f} {'certified' if certified else 'uncertified'}",
            color="green" if certified else "orange",
            help="The threshold in force rests on a certificate."
            if certified
            else "No certificate stands behind the threshold in force.",
        )


def _notices(desk: state.State) -> None:
    shown = {"error": st.error, "warning": st.warning, "success": st.success, "info": st.info}
    waiting, desk.notices = desk.notices, []
    for kind, text in waiting:
        shown[kind](verbatim.plain(text))


def _refused(error: ServiceError) -> None:
    st.error(verbatim.plain(str(error)))
    if error.status == 0:
        st.write("Start it with `surehit serve`, or say where it is with `SUREHIT_URL`.")
    elif error.status == 401:
        st.write(
            "Sign out and sign in with a key that is valid: `surehit key create --role review`."
        )
    elif error.status == 403:
        st.write("This needs a key with a higher role: `surehit key create --role admin`.")
    st.button("Try again")


def _sign_out(desk: state.State) -> None:
    answering.put_back(desk)
    signin.sign_out()


if __name__ == "__main__":
    main()
