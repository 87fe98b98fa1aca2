"""The desk: one item, four texts, one key per verdict."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from review_ui import answering, state, verbatim
from review_ui.answer import readable
from review_ui.guideline import GUIDELINE, QUESTION
from review_ui.replies import REASONS, Item, Recent
from review_ui.state import State

MARKS = {"reusable": "✓", "not_reusable": "✗", "unsure": "?"}
POLL_S = 10

STYLE = """<style>
.st-key-verdicts button{min-height:3.1rem;font-size:1.05rem}
.st-key-verdict-1 button{border-color:#16a34a;background:#16a34a1c}
.st-key-verdict-2 button{border-color:#dc2626;background:#dc26261c}
.st-key-verdict-3 button{border-color:#d97706;background:#d977061c}
.st-key-recent button{min-height:0;padding:0 .35rem;line-height:1.4}
.sh-recent{font-size:.84rem;line-height:1.35;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
.sh-recent b{display:inline-block;width:1.1em}
.sh-recent i{opacity:.65;font-style:normal;font-variant-numeric:tabular-nums}
</style>"""

# A key that is held down repeats after a pause that only the operating system knows (0.2 to 2 s), so no waiting time on
# the server can tell the first repetition from a press. The browser knows; it just has to say so.
NO_REPEATS = """<script>
if (!window.surehitNoRepeats) {
  window.surehitNoRepeats = true;
  window.addEventListener("keydown", (event) => {
    const into = event.target;
    const typing = into.isContentEditable || ["INPUT", "TEXTAREA"].includes(into.tagName);
    if (event.repeat && !typing && /^[0-9a-z]$/i.test(event.key)) event.stopImmediatePropagation();
  }, true);
}
</script>"""


def page() -> None:
    """Fetch, show, wait for a key."""
    desk = state.get()
    answering.fetch(desk)
    st.html(STYLE)
    st.html(NO_REPEATS, unsafe_allow_javascript=True)
    with st.sidebar:
        _guideline(desk)
        _recent(desk.recent or ())
    _progress(desk)
    if desk.item is None:
        _nothing(desk)
    else:
        _item(desk.item, reopened=desk.reopened)
        with st.container(key="verdicts"):
            {"verdict": _verdicts, "reason": _reasons, "flag": _flag}[desk.stage](desk.item)
    answering.mark_shown(desk)


def _progress(desk: State) -> None:
    total = desk.mine_today + desk.remaining
    words = [f"{desk.mine_today} by you today", f"{desk.remaining} waiting"]
    if desk.progress is not None and desk.progress.labels_needed:
        words.append(
            f"about {desk.progress.labels_needed} more labels until this line can be certified"
        )
    st.progress(desk.mine_today / total if total else 1.0, text=" · ".join(words))


def _item(item: Item, *, reopened: bool) -> None:
    again = " (again: your new verdict replaces the old one)" if reopened else ""
    st.markdown(f"**{QUESTION}**{again}")
    stored_words, now_words = verbatim.compare(item.entry_query, item.query)
    left, right = st.columns(2)
    with left:
        _text("Asked now", now_words, height="17vh", question=True)
        fresh, what = readable(item.fresh_response)
        _answer("Answer of a fresh call", fresh, what, key=f"fresh-{item.item_id}")
    with right:
        _text("Stored question", stored_words, height="17vh", question=True)
        stored, what = readable(item.entry_response)
        age = f"stored {_span(item.age_s)} before" if item.age_s is not None else ""
        what = " · ".join(filter(None, (what, age)))
        _answer("Stored answer", stored, what, key=f"stored-{item.item_id}")


def _text(head: str, markup: str, *, height: str, question: bool = False) -> None:
    st.html(verbatim.headed(head, verbatim.box(markup, height=height, question=question)))


def _answer(head: str, text: str, what: str, *, key: str) -> None:
    st.html(verbatim.headed(f"{head} ({what})" if what else head, ""))
    if text:
        verbatim.show(text, height="34vh", key=key)
    else:
        st.html(verbatim.box("", height="34vh", empty="(none: nobody asked the model)"))


def _verdicts(item: Item) -> None:
    wide = st.columns([3, 3, 3, 2, 2, 2, 2])
    for column, key, words, verdict in zip(
        wide,
        "123",
        ("Reusable", "Not reusable", "Unsure"),
        ("reusable", "not_reusable", "unsure"),
        strict=False,
    ):
        with column, st.container(key=f"verdict-{key}"):
            _button(words, key, answering.give, item.item_id, key, verdict)
    for column, key, words, act in zip(
        wide[3:],
        "SUGF",
        ("Skip", "Undo", "Guideline", "Flag"),
        (answering.skip, answering.undo, answering.toggle_guideline, answering.start_flag),
        strict=True,
    ):
        with column:
            _button(words, key, act, item.item_id, key)


def _reasons(item: Item) -> None:
    st.markdown("**Not reusable, because …**")
    columns = st.columns(5)
    for n, (code, words) in enumerate(REASONS):
        with columns[n % 5]:
            _button(
                words.capitalize(),
                str(n + 1),
                answering.give_reason,
                item.item_id,
                str(n + 1),
                code,
            )
    with columns[4]:
        _button("Back", "U", answering.undo, item.item_id, "U")


def _flag(item: Item) -> None:
    with st.form("flag", border=False):
        st.text_input("What is odd about this item?", key=state.FLAG_NOTE, max_chars=500)
        send, back, _ = st.columns([1, 1, 4])
        with send:
            st.form_submit_button(
                "Hand on",
                type="primary",
                on_click=answering.flag,
                args=(item.item_id,),
                width="stretch",
            )
        with back:
            st.form_submit_button("Back", on_click=answering.back, width="stretch")


def _button(words: str, key: str, act: Callable[..., None], item_id: str, *args: str) -> None:
    """A button with its key. The item is part of the widget: a late press stays with the item that it was meant for."""
    st.button(
        words,
        key=f"press-{item_id}-{key}-{words}",
        shortcut=key,
        on_click=act,
        args=(item_id, *args),
        width="stretch",
    )


def _nothing(desk: State) -> None:
    st.success("Nothing is waiting for you on this line.")
    if desk.progress is not None:
        p = desk.progress
        st.write(
            f"{p.open} open (with others, or not for you), {p.second} waiting for a second person, "
            f"{p.disputed} in dispute, {p.done} done."
        )
    columns = st.columns([1, 1, 4])
    with columns[0]:
        st.button("Look again", on_click=answering.look_again, width="stretch")
    with columns[1]:
        _button("Undo", "U", answering.undo, "", "U")
    _watch()


@st.fragment(run_every=POLL_S)
def _watch() -> None:
    """Look by itself while the queue is empty: a rerun of the page asks for the next item."""
    desk = state.get()
    if state.now_ms() - desk.looked_ms > POLL_S * 500:
        st.rerun()


def _guideline(desk: State) -> None:
    if desk.guideline_open:
        with st.container(border=True):
            st.markdown(GUIDELINE)


def _recent(labels: tuple[Recent, ...]) -> None:
    st.html('<div class="sh-head">Your last verdicts</div>')
    if not labels:
        st.caption("None yet.")
    with st.container(key="recent", gap=None):
        for label in labels:
            words, again = st.columns([6, 1], vertical_alignment="center")
            words.html(_recent_row(label))
            again.button(
                "↩",
                key=f"again-{label.item_id}",
                help="Judge it again",
                on_click=answering.reopen,
                args=(label.item_id,),
                type="tertiary",
            )


def _recent_row(label: Recent) -> str:
    score = "" if label.score is None else f"<i>{label.score:.3f}</i> "
    mark = MARKS.get(label.verdict, "·")
    return f'<div class="sh-recent"><b>{mark}</b>{score}{verbatim.escape(label.query[:200])}</div>'


def _span(seconds: float) -> str:
    for size, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {name}"
    return f"{seconds:.0f} s"


if __name__ == "__main__":
    page()
