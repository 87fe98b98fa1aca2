"""What is stored: search, look, evict."""

from __future__ import annotations

import json

import streamlit as st

from review_ui import answering, state, tables, verbatim
from review_ui.answer import readable
from review_ui.replies import EntryRow

SEARCH = "entries-search"


def page() -> None:
    """A page of entries; the picked one below."""
    line = state.line()
    st.subheader(f"Entries of {verbatim.plain(line)}")
    pages = state.get().entries_before
    text = st.text_input(
        "Question contains", key=SEARCH, on_change=pages.clear, placeholder="all of them"
    )
    before = pages[-1] if pages else None
    found = state.client().entries(line, text=text, before=before)
    picked = _table(found.entries)
    with st.container(horizontal=True):
        st.button("Older", disabled=found.next is None, on_click=pages.append, args=(found.next,))
        st.button("Newer", disabled=not pages, on_click=_newer)
    if picked is not None:
        _one(picked.entry_id)


def _newer() -> None:
    state.get().entries_before.pop()


def _table(entries: list[EntryRow]) -> EntryRow | None:
    rows = [
        {
            "question": (e.query or "(exact tier only)")[:300],
            "scope": e.scope,
            "model": e.model,
            "stored (UTC)": tables.moment(e.created_ms),
            "expires (UTC)": tables.moment(e.expires_ms),
            "hits": e.hits,
            "bytes": e.response_bytes,
            "quarantined": bool(e.quarantined),
        }
        for e in entries
    ]
    shown = tables.grid(
        rows,
        empty="No live entry.",
        on_select="rerun",
        selection_mode="single-row",
        key="entries-table",
        column_config={"question": st.column_config.TextColumn(width="large")},
        height=330,
    )
    if shown is None or not shown.selection.rows:
        if rows:
            st.caption("Pick a row to read the entry.")
        return None
    return entries[shown.selection.rows[0]] if shown.selection.rows[0] < len(entries) else None


def _one(entry_id: str) -> None:
    entry = state.client().entry(entry_id)
    left, right = st.columns(2)
    with left:
        verbatim.show(
            "Question", entry["query"] or "", empty="(exact tier only)", key=f"query-{entry_id}"
        )
        with st.expander("Whole request"):
            request = json.dumps(entry["request"], ensure_ascii=False, indent=2)
            verbatim.show("JSON", request, key=f"request-{entry_id}")
    with right:
        answer, what = readable(entry["response"])
        head = f"Answer ({what})" if what else "Answer"
        verbatim.show(head, answer, key=f"answer-{entry_id}")
    facts = [
        f"stored {tables.moment(entry['created_ms'])} UTC",
        f"expires {tables.moment(entry['expires_ms']) or 'never by itself'}",
        f"{entry['hits']} hits",
        f"policy version {entry['policy_version']}",
        f"tags {', '.join(entry['tags']) or 'none'}",
        entry_id,
    ]
    st.caption(verbatim.plain(" · ".join(facts)))
    is_sure = st.checkbox("No worker shall serve this any more", key=f"sure-{entry_id}")
    st.button("Evict", disabled=not is_sure, on_click=_evict, args=(entry_id,), type="primary")


def _evict(entry_id: str) -> None:
    with answering.reported():
        state.client().evict(entry_id)
        state.get().tell("success", "Evicted: no worker serves it any more.")


if __name__ == "__main__":
    page()
