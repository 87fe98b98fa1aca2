"""The desk: one item, four texts, one key per verdict."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import streamlit as st

from review_ui import answering, state, verbatim
from review_ui.answer import readable
from review_ui.guideline import GUIDELINE, QUESTION
from review_ui.replies import REASONS, Item, Recent
from review_ui.state import State

MARKS = {"reusable": "✓", "not_reusable": "✗", "unsure": "?"}
POLL_S = 10
QUESTION_HEIGHT = "16vh"
ANSWER_HEIGHT = "38vh"

STYLE = """<style>
.st-key-verdicts button{min-height:3rem}
.st-key-verdicts [data-testid="stColumn"]{min-width:max-content}
.st-key-verdicts [data-testid="stColumn"]:has([class*="st-key-verdict-"]){min-width:9rem}
.st-key-reasons [data-testid="stHorizontalBlock"]{display:grid;gap:.5rem .75rem;
  grid-template-columns:repeat(auto-fit,minmax(max(7rem,16%),1fr))}
.st-key-reasons [data-testid="stColumn"]{width:auto}
.st-key-reasons button{min-height:2.6rem;padding:0 .4rem}
.st-key-guideline p{font-size:.86rem;line-height:1.4;margin-bottom:.5rem}
.st-key-verdict-1 button{border-color:#16a34a;background:#16a34a1c}
.st-key-verdict-2 button{border-color:#dc2626;background:#dc26261c}
.st-key-verdict-3 button{border-color:#d97706;background:#d977061c}
.st-key-recent button{height:1.6rem;min-height:0;padding:0 .35rem}
.sh-recent{font-size:.84rem;height:1.6rem;line-height:1.6rem;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
.sh-recent b{display:inline-block;width:1.1em}
.sh-recent i{opacity:.65;font-style:normal;font-variant-numeric:tabular-nums}
</style>"""

# Whoever has picked a line wants to judge: while the picker kept the focus, the keys would go into its search.
LEAVE_PICKER = """<script>
if (!window.surehitLeavePicker) {
  window.surehitLeavePicker = new MutationObserver((changes) => {
    for (const { target, oldValue } of changes) {
      const closed = oldValue === "true" && target.getAttribute("aria-expanded") === "false";
      if (closed && target.closest(".st-key-line")) target.blur();
    }
  });
  window.surehitLeavePicker.observe(document.body, {
    subtree: true, attributeFilter: ["aria-expanded"], attributeOldValue: true,
  });
}
</script>"""

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
    st.html(STYLE + LEAVE_PICKER + NO_REPEATS, unsafe_allow_javascript=True)
    with st.sidebar:
        _guideline(desk)
        _recent(desk.recent or ())
    _progress(desk)
    if desk.item is None:
        answering.mark_shown(desk)
        _nothing(desk)
    else:
        _item(desk.item, is_again=desk.is_again)
        answering.mark_shown(desk)  # before its buttons: a press can come as soon as they are there
        with st.container(key="verdicts"):
            {"verdict": _verdicts, "reason": _reasons, "flag": _flag}[desk.stage](desk.item)


def _progress(desk: State) -> None:
    total = desk.mine_today + desk.remaining
    words = [f"{desk.mine_today} by you today", f"{desk.remaining} waiting"]
    if desk.progress is not None:
        words.append(f"line: {desk.progress.state_text or desk.progress.state}")
    st.progress(desk.mine_today / total if total else 0.0, text=" · ".join(words))


def _item(item: Item, *, is_again: bool) -> None:
    again = " (your last verdict on it was taken back)" if is_again else ""
    st.markdown(f"**{QUESTION}**{again}")
    stored_words, now_words = verbatim.compare(item.entry_query, item.query)
    fresh, fresh_kind = readable(item.fresh_response)
    stored, stored_kind = readable(item.entry_response)
    age = "" if item.age_s is None else f"{_span(item.age_s)} old"
    left, right = st.columns(2)
    with left:
        st.html(_question("Asked now", now_words))
        verbatim.show(
            _head("Answer of a fresh call", fresh_kind),
            fresh,
            height=ANSWER_HEIGHT,
            empty="(none: the model was not asked)",
            key=f"fresh-{item.item_id}",
        )
    with right:
        st.html(_question("Stored question", stored_words))
        head = _head("Stored answer", stored_kind, age)
        verbatim.show(head, stored, height=ANSWER_HEIGHT, key=f"stored-{item.item_id}")


def _question(head: str, markup: str) -> str:
    return verbatim.headed(head, verbatim.box(markup, height=QUESTION_HEIGHT, question=True))


def _head(name: str, *facts: str) -> str:
    return " · ".join(filter(None, (name, *facts)))


def _verdicts(item: Item) -> None:
    wide = st.columns([6, 6, 6, 4, 4, 5, 4])
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
    st.html('<div class="sh-head">Not reusable, because …</div>')
    with st.container(key="reasons"):
        columns = st.columns(len(REASONS) + 1)
    for n, (code, name, words) in enumerate(REASONS):
        key = str(n + 1)
        with columns[n]:
            _button(name, key, answering.give_reason, item.item_id, key, code, help_text=words)
    with columns[-1]:
        _button("Back", "U", answering.undo, item.item_id, "U")


def _flag(item: Item) -> None:
    with st.form("flag", border=False):
        st.text_input("What should an admin look at?", key=state.FLAG_NOTE, max_chars=500)
        with st.container(horizontal=True):
            st.form_submit_button(
                "Tell", type="primary", on_click=answering.flag, args=(item.item_id,)
            )
            st.form_submit_button("Back", on_click=answering.back)


def _button(
    words: str,
    key: str,
    act: Callable[..., None],
    item_id: str,
    *args: str,
    help_text: str = "",
    width: Literal["stretch", "content"] = "stretch",
) -> None:
    """A button with its key. The item is part of the widget: a late press stays with the item that it was meant for."""
    st.button(
        words,
        key=f"press-{item_id}-{key}-{words}",
        shortcut=key,
        on_click=act,
        args=(item_id, *args),
        help=help_text or None,
        width=width,
    )


def _nothing(desk: State) -> None:
    st.success("Nothing is waiting for you on this line.")
    if desk.progress is not None:
        p = desk.progress
        st.write(
            f"{p.open} open (with others, or not for you), {p.second} waiting for a second person, "
            f"{p.disputed} in dispute, {p.done} done."
        )
    with st.container(horizontal=True):
        st.button("Look again", on_click=answering.look_again)
        _button("Undo", "U", answering.undo, "", "U", width="content")
    _watch()


@st.fragment(run_every=POLL_S)
def _watch() -> None:
    """Look by itself while the queue is empty: a rerun of the page asks for the next item."""
    desk = state.get()
    if state.now_ms() - desk.looked_ms > POLL_S * 500:
        st.rerun()


def _guideline(desk: State) -> None:
    if desk.guideline_open:
        with st.container(border=True, key="guideline"):
            st.markdown(GUIDELINE)


def _recent(labels: tuple[Recent, ...]) -> None:
    st.html('<div class="sh-head">Your last verdicts</div>')
    # one piece of HTML beside a pile of buttons of the same height: a row of elements each would cost 40 more
    with st.container(key="recent"):
        words, again = st.columns([6, 1], gap=None)
        words.html("".join(map(_recent_row, labels)) or '<div class="sh-recent">None yet.</div>')
        with again.container(gap=None):
            for label in labels:
                st.button(
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
