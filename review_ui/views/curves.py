"""What each threshold would do, which one is in force, which one could be promised, and how it is changed."""

from __future__ import annotations

import streamlit as st

from review_ui import answering, charts, state, tables, verbatim
from review_ui.replies import Curve, Decision, Decisions, Tuned

STATE_COLORS = {"certified": "green", "collecting": "blue", "expired": "orange", "alarm": "red"}


def page() -> None:
    """State, curve, tuning, history."""
    line = state.line()
    saved, lost = _prices()
    st.subheader(f"Threshold of {verbatim.plain(line)}")
    curve = state.client().curve(line, saved_per_hit=saved, cost_of_wrong=lost)
    decisions = state.client().decisions(line)
    _figures(curve)
    _charts(curve)
    with st.container(key="halves"):
        left, right = st.columns(2, gap="large")
    with left:
        _tune(line, curve)
    with right:
        _apply(line, decisions)
    _history(decisions)


def _prices() -> tuple[float, float]:
    with st.sidebar:
        st.html('<div class="sh-head">What it is worth</div>')
        saved = st.slider("Saved per good hit", 0.0, 0.1, 0.01, 0.001, format="%.3f", key="saved")
        lost = st.slider("Lost per false hit", 0.0, 10.0, 0.5, 0.05, format="%.2f", key="lost")
        st.caption("In your currency. They move the money curve alone, never the threshold.")
    return float(saved), float(lost)


def _figures(curve: Curve) -> None:
    with st.container(key="cards"):
        columns = st.columns(4, border=True)
    with columns[0]:
        st.metric("In force", f"{curve.present.threshold:.3f}")
        words, color = (
            ("certified", "green") if curve.present.certified else ("uncertified", "orange")
        )
        st.badge(words, color=color)  # type: ignore[arg-type]
    with columns[1]:
        st.metric("Proposed", f"{curve.proposed.threshold:.3f}" if curve.proposed else "–")
        st.caption(_proposal(curve))
    with columns[2]:
        st.metric("Labels", f"{curve.labelled:,}")
        waiting = f", {curve.waiting:,} items wait" if curve.waiting else ""
        st.caption(f"of {curve.lookups:,} logged lookups{waiting}")
    with columns[3]:
        st.metric("Target: false hits", f"≤ {tables.percent(curve.target)}")
        st.badge(
            verbatim.plain(curve.state.text),
            color=STATE_COLORS.get(curve.state.state, "gray"),  # type: ignore[arg-type]
        )


def _proposal(curve: Curve) -> str:
    if curve.proposed is not None:
        p = curve.proposed
        return f"≤ {tables.percent(p.target)} false at {tables.percent(p.confidence, digits=0)}, to be applied below"
    if curve.not_certified is None:
        return "what is in force is the newest" if curve.present.certified else "tune below"
    if curve.not_certified.labels_missing:
        return f"about {curve.not_certified.labels_missing:,} more labels needed"
    return verbatim.plain((curve.not_certified.reason or "tune below").replace("_", " "))


def _charts(curve: Curve) -> None:
    if not curve.lookups:
        st.info("No lookup with a candidate has been logged yet, so there is no curve.")
        return
    if curve.is_pilot:
        st.info(
            "The curve is drawn from imported and earlier labels. They show the way; nothing is certified by them."
        )
    pictures = (
        ("False-hit rate, with its interval", charts.false_hits),
        ("Hit rate: semantic hits of lookups", charts.hits),
        ("Labels behind each point", charts.labels),
        ("Money per 1,000 lookups: saved, lost, what remains", charts.money),
    )
    for column, (head, draw) in zip([*st.columns(2), *st.columns(2)], pictures, strict=True):
        with column:
            st.html(f'<div class="sh-head">{head}</div>')
            st.altair_chart(draw(curve), width="stretch")
    if not any(curve.labels):
        st.info(
            "No label yet: how many hits would be false, and what they would cost, is not known."
        )
    st.caption(
        "Grey: too few labels stand behind the point. Intervals are for looking; only a certificate is a promise."
    )


def _tune(line: str, curve: Curve) -> None:
    st.markdown("**Look for a threshold that can be promised**")
    with st.form("tune"):
        a, b = st.columns(2)
        target = a.number_input(
            "At most this share of false hits", 0.001, 0.5, curve.target, 0.005, format="%.3f"
        )
        confidence = b.number_input("With this confidence", 0.5, 0.999, curve.confidence, 0.01)
        sent = st.form_submit_button("Tune", type="primary")
    if sent:
        with answering.reported(), st.spinner("Working through the labels …"):
            found = state.client().tune(line, target=target, confidence=confidence)
            state.get().tuned = line, found
        st.rerun()
    tuned = state.get().tuned
    if tuned is not None and tuned[0] == line:
        _outcome(tuned[1])


def _outcome(tuned: Tuned) -> None:
    if tuned.certified:
        st.success(verbatim.plain(f"{tuned.text}. The decision waits on the right."))
    else:
        st.warning(verbatim.plain(tuned.text))


def _apply(line: str, decisions: Decisions) -> None:
    st.markdown("**Put a decision in force, or roll back to an older one**")
    choices = {d.decision_id: d for d in decisions.decisions if d.void is None}
    if not choices:
        st.caption("There is no decision that could be served.")
        return
    with st.form("apply", clear_on_submit=True):
        chosen = st.selectbox("Decision", list(choices), format_func=lambda i: _words(choices[i]))
        reason = st.text_input("Why", max_chars=1000, placeholder="for the record").strip()
        if not st.form_submit_button("Apply", type="primary"):
            return
    if not reason:
        st.error("Say why: it is kept with the decision.")
        return
    with answering.reported():
        state.client().apply_decision(line, chosen, reason=reason)
        state.get().tell("success", f"{choices[chosen].threshold:.3f} is in force on every worker.")
    state.get().lines_at_s = float("-inf")
    st.rerun()


def _words(decision: Decision) -> str:
    now = " (in force)" if decision.in_force else ""
    return f"{decision.threshold:.3f}, decided {tables.moment(decision.created_ms)}{now}"


def _history(decisions: Decisions) -> None:
    st.markdown("**Decisions**")
    tables.written([_row(d) for d in decisions.decisions], empty="None yet.")
    st.markdown("**What became of them**")
    of = {d.decision_id: f"{d.threshold:.3f}" for d in decisions.decisions}
    events = [
        {
            "when (UTC)": tables.moment(e.at_ms),
            "what": e.act,
            "threshold": of.get(e.decision_id or "", ""),
            "by": e.by,
            "why": e.reason,
        }
        for e in decisions.events
    ]
    tables.written(events, empty="Nothing yet.")


def _row(decision: Decision) -> dict[str, object]:
    c = decision.evidence.certificate
    return {
        "decided (UTC)": f"{tables.moment(decision.created_ms)} by {decision.by}",
        "threshold": f"{decision.threshold:.3f}",
        "promise": f"≤ {tables.percent(decision.target)} at {tables.percent(decision.confidence, digits=0)}",
        "labels": c.labels if c else None,
        "false hits": c.false_hits if c else None,
        "unsure": c.unsure if c else None,
        "hit rate then": tables.percent(c.hit_rate) if c else "",
        "now": f"void: {decision.void}" if decision.void else "● in force" * decision.in_force,
    }


if __name__ == "__main__":
    page()
