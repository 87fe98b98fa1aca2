"""How far the verdicts can be trusted: each reviewer against known answers, and what reviewers disagree on."""

from __future__ import annotations

import streamlit as st

from review_ui import answering, state, tables, verbatim
from review_ui.answer import readable
from review_ui.client import ServiceError
from review_ui.replies import REASON_WORDS, Dispute, Progress

VERDICTS = {
    "reusable": "reusable",
    "not_reusable": "not reusable",
    "unsure": "unsure",
    "flag": "flagged",
    "skip": "skipped",
}


def page() -> None:
    """Progress, reviewers, disputes, known answers."""
    line = state.line()
    st.subheader(f"Reviewers of {verbatim.plain(line)}")
    progress = state.client().progress(line)
    _counts(progress)
    _reviewers(progress)
    _disputes(line)
    _gold(line)


def _counts(progress: Progress) -> None:
    shown = (
        ("Waiting", progress.open, "for a first person"),
        ("Second look", progress.second, "waiting for another person"),
        ("In dispute", progress.disputed, "below, to be settled"),
        ("Done", progress.done, f"{progress.labels_today} labels today"),
        ("Withdrawn", progress.withdrawn, "entry or scope erased"),
    )
    with st.container(key="cards"):
        columns = st.columns(len(shown), border=True)
    for column, (name, count, words) in zip(columns, shown, strict=True):
        column.metric(name, f"{count:,}")
        column.caption(words)


def _reviewers(progress: Progress) -> None:
    rows = [
        {
            "reviewer": r.reviewer,
            "labels": f"{r.labels:,}, {r.today:,} today",
            "known answers seen": r.gold.n,
            "false hits found": tables.percent(r.gold.sensitivity, digits=0),
            "false alarms": tables.percent(r.gold.false_alarm, digits=0),
            "agreed with others": f"{r.agreed:,} of {r.judged_with_others:,}",
            "kappa": f"withheld: {r.kappa_withheld}" if r.kappa is None else f"{r.kappa:.2f}",
        }
        for r in progress.by_reviewer
    ]
    tables.written(rows, empty="Nobody has judged anything on this line yet.")
    st.caption(
        "«Found» and «false alarms» are measured on items with a known answer, which look like all others. Kappa is "
        "withheld where verdicts are too few or too one-sided: two good reviewers would get a low one."
    )


def _disputes(line: str) -> None:
    st.markdown("**Disputes**")
    try:
        found = state.client().disputes(line)
    except ServiceError as error:
        if error.status != 403:
            raise
        st.caption("Settling disputes needs a key with the role admin.")
        return
    if not found:
        st.caption("None: reviewers agree, and nothing is flagged.")
    for dispute in found:
        _dispute(dispute)


def _dispute(item: Dispute) -> None:
    stored_words, now_words = verbatim.compare(item.entry_query, item.query)
    with st.container(border=True):
        left, right = st.columns(2)
        left.html(verbatim.headed("Asked now", verbatim.box(now_words)))
        right.html(verbatim.headed("Stored question", verbatim.box(stored_words)))
        for column, head, response in (
            (left, "Answer of a fresh call", item.fresh_response),
            (right, "Stored answer", item.entry_response),
        ):
            text, what = readable(response)
            with column:
                full = f"{head} ({what})" if what else head
                verbatim.show(full, text, height="9rem", key=f"{head}-{item.item_id}")
        for label in item.labels:
            words = VERDICTS.get(label.verdict, label.verdict)
            because = ", ".join(filter(None, (REASON_WORDS.get(label.reason or ""), label.note)))
            st.html(
                f"<div><b>{verbatim.escape(label.reviewer)}</b>: {verbatim.escape(words)}"
                f"{': ' + verbatim.escape(because) if because else ''}</div>"
            )
        with st.form(f"decide-{item.item_id}", border=False):
            a, b = st.columns(2)
            verdict = a.selectbox("Verdict", list(VERDICTS)[:3], format_func=VERDICTS.__getitem__)
            reason = b.selectbox(
                "Reason",
                list(REASON_WORDS),
                format_func=REASON_WORDS.__getitem__,
                help="Kept with «not reusable».",
            )
            if st.form_submit_button("Settle", type="primary"):
                with answering.reported():
                    state.client().decide(
                        item.item_id,
                        reviewer=state.signed_in().name,
                        verdict=verdict,
                        reason=reason if verdict == "not_reusable" else None,
                    )
                    state.get().tell("success", "Settled.")
                st.rerun()


def _gold(line: str) -> None:
    with st.expander("Add an item with a known answer"), st.form("gold", clear_on_submit=True):
        a, b = st.columns(2)
        query = a.text_area("Asked now", height=80)
        entry_query = b.text_area("Stored question", height=80)
        answer = st.text_area("Stored answer", height=80)
        verdict = st.radio(
            "What a careful reviewer must say",
            list(VERDICTS)[:2],
            format_func=VERDICTS.__getitem__,
            horizontal=True,
        )
        if st.form_submit_button("Add"):
            if not (query and entry_query and answer):
                state.get().tell("warning", "All three texts are needed.")
            else:
                with answering.reported():
                    state.client().add_gold(
                        line, query=query, entry_query=entry_query, answer=answer, verdict=verdict
                    )
                    state.get().tell("success", "Added: it comes to reviewers among all others.")
            st.rerun()


if __name__ == "__main__":
    page()
