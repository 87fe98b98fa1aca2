"""What each threshold would do, which one is in force, which one could be promised, and how it is changed."""

from __future__ import annotations

from typing import Any

import streamlit as st

from review_ui import answering, charts, state, tables, verbatim
from review_ui.replies import Curve, Decisions

STATE_COLORS = {"certified": "green", "collecting": "blue", "expired": "orange", "alarm": "red"}


def page() -> None:
    """State, curve, tuning, history."""
    line = state.line()
    saved, cost = _prices()
    curve = state.client().curve(line, saved_per_hit=saved, cost_of_wrong=cost)
    st.subheader(f"Threshold of {verbatim.plain(line)}")
    _state(curve)
    _charts(curve, saved=saved, cost=cost)
    left, right = st.columns([1, 1], gap="large")
    decisions = state.client().decisions(line)
    with left:
        _tune(line, curve)
    with right:
        _apply(line, curve, decisions)
    _history(decisions, curve)


def _prices() -> tuple[float, float]:
    with st.sidebar:
        st.html('<div class="sh-head">What it is worth</div>')
        saved = st.slider("Saved per good hit", 0.0, 0.10, 0.01, 0.001, format="%.3f", key="saved")
        cost = st.slider("Lost per false hit", 0.0, 10.0, 1.0, 0.05, format="%.2f", key="cost")
        st.caption("In your currency. They change the money curve alone, never the threshold.")
    return saved, cost


def _state(curve: Curve) -> None:
    name, words = _state_words(curve)
    figures = st.columns(4, border=True)
    with figures[0]:
        st.metric("In force", f"{curve.present.threshold:.3f}")
        st.badge(
            "certified" if curve.present.certified else "uncertified",
            color="green" if curve.present.certified else "orange",
        )
    with figures[1]:
        proposed = curve.proposed
        st.metric("Could be certified", f"{proposed['threshold']:.3f}" if proposed else "–")
        st.caption(_why_not(curve) if proposed is None else _bound(proposed, curve))
    with figures[2]:
        st.metric("Labels", f"{curve.labelled:,}")
        st.caption(f"of {curve.lookups:,} logged lookups")
    with figures[3]:
        st.metric("Target", f"≤ {tables.percent(curve.target)} false")
        st.badge(words, color=STATE_COLORS.get(name, "gray"))  # type: ignore[arg-type]


def _state_words(curve: Curve) -> tuple[str, str]:
    """(the state, the state with its figures)."""
    if not isinstance(curve.state, dict):
        return str(curve.state or "off"), str(curve.state or "off")
    name = str(curve.state.get("state", "off"))
    needed, labels = curve.state.get("labels_needed"), curve.state.get("labels")
    if name == "collecting" and needed:
        return name, f"collecting ({labels} of about {needed})"
    reason = curve.state.get("expiry_reason")
    return name, f"{name} ({reason})" if name == "expired" and reason else name


def _bound(proposed: dict[str, Any], curve: Curve) -> str:
    upper = tables.first(proposed, "false_hit_rate_high", "false_hit_upper", "upper_bound")
    if upper is None:
        return "with the present labels"
    return f"at most {tables.percent(upper)} false, at {tables.percent(curve.confidence, digits=0)}"


def _why_not(curve: Curve) -> str:
    if curve.not_certified is None:
        return "nothing looser than what is in force" if curve.present.certified else ""
    missing = curve.not_certified.get("labels_missing")
    reason = verbatim.plain(str(curve.not_certified.get("reason") or ""))
    return f"about {missing} more labels needed" if missing else reason


def _charts(curve: Curve, *, saved: float, cost: float) -> None:
    if not curve.thresholds:
        st.info("No lookup with a candidate has been logged yet, so there is no curve.")
        return
    left, right = st.columns(2)
    with left:
        st.html('<div class="sh-head">False-hit rate, with its interval</div>')
        st.altair_chart(charts.false_hits(curve), width="stretch")
    with right:
        st.html('<div class="sh-head">Hit rate: semantic hits of lookups</div>')
        st.altair_chart(charts.hits(curve), width="stretch")
    left, right = st.columns(2)
    with left:
        st.html('<div class="sh-head">Labels behind each point</div>')
        st.altair_chart(charts.labels(curve), width="stretch")
    with right:
        st.html('<div class="sh-head">Expected value per 1,000 lookups</div>')
        if curve.expected_value:
            st.altair_chart(charts.money(curve), width="stretch")
    st.caption(
        "Grey: fewer than 10 effective labels. Intervals are for looking; the certificate is the promise. "
        f"Money: {saved:.3f} saved per good hit, {cost:.2f} lost per false one."
    )


def _tune(line: str, curve: Curve) -> None:
    st.markdown("**Look for a threshold that can be promised**")
    with st.form("tune"):
        a, b = st.columns(2)
        target = a.number_input(
            "At most this share of false hits",
            min_value=0.001,
            max_value=0.5,
            value=curve.target or 0.03,
            step=0.005,
            format="%.3f",
        )
        confidence = b.number_input(
            "With this confidence",
            min_value=0.5,
            max_value=0.999,
            value=curve.confidence or 0.95,
            step=0.01,
        )
        if st.form_submit_button("Tune", type="primary"):
            with answering.reported(), st.spinner("Working through the labels …"):
                state.get().tuned = {"line": line} | state.client().tune(
                    line, target=target, confidence=confidence, reason="tuned on the review page"
                )
            st.rerun()
    tuned = state.get().tuned
    if tuned is not None and tuned["line"] == line:
        _outcome(tuned)


def _outcome(tuned: dict[str, Any]) -> None:
    if tuned.get("certified"):
        threshold = float(tables.first(tuned, "threshold") or 0)
        st.success(
            f"{threshold:.3f} can be certified. Nothing has changed yet: the decision is on the right, ready to apply."
        )
        return
    missing = tuned.get("labels_missing")
    reason = verbatim.plain(str(tuned.get("reason") or "not enough evidence"))
    st.warning(
        f"Not yet: {reason}." + (f" About {missing} more labels are needed." if missing else "")
    )


def _apply(line: str, curve: Curve, decisions: Decisions) -> None:
    st.markdown("**Put a decision in force, or roll back to an older one**")
    choices = {str(decision_id(d)): d for d in decisions.decisions}
    if not choices:
        st.caption("There is no decision yet.")
        return
    with st.form("apply", clear_on_submit=True):
        chosen = st.selectbox(
            "Decision", list(choices), format_func=lambda i: _decision_words(choices[i], curve)
        )
        reason = st.text_input("Why", max_chars=500, placeholder="for the record").strip()
        if not st.form_submit_button("Apply", type="primary"):
            return
    if not reason:
        st.error("Say why: it is kept with the decision.")
        return
    with answering.reported():
        state.client().apply_decision(line, chosen, reason=reason)
        state.get().tell(
            "success", f"{_decision_words(choices[chosen], None)} is in force on every worker."
        )
    state.get().lines_at_s = float("-inf")
    st.rerun()


def decision_id(decision: dict[str, Any]) -> Any:
    """The id that `apply` takes."""
    return tables.first(decision, "decision_id", "id")


def _decision_words(decision: dict[str, Any], curve: Curve | None) -> str:
    in_force = curve is not None and str(curve.present.decision_id) == str(decision_id(decision))
    at = tables.said(tables.first(decision, "created_ms", "at_ms"))
    return f"{decision['threshold']:.3f} of {at}" + (" (in force)" if in_force else "")


def _history(decisions: Decisions, curve: Curve) -> None:
    st.markdown("**Decisions**")
    rows = [
        {
            "in force": str(curve.present.decision_id) == str(decision_id(d)),
            "decided": tables.moment(tables.first(d, "created_ms", "at_ms")),
            "threshold": d["threshold"],
            "target": tables.percent(tables.first(d, "target", "target_false_hit_rate")),
            "confidence": tables.percent(tables.first(d, "confidence"), digits=0),
            "labels": tables.first(d, "labels", "labelled"),
            "hit rate": tables.percent(tables.first(d, "hit_rate")),
            "false hits, at most": tables.percent(
                tables.first(d, "false_hit_rate_high", "false_hit_upper")
            ),
            "by": d.get("by"),
        }
        for d in decisions.decisions
    ]
    tables.show(rows, empty="None yet.")
    st.markdown("**What became of them**")
    events = [
        {
            "when": tables.moment(e.get("at_ms")),
            "what": e.get("act"),
            "decision": None if e.get("decision_id") is None else str(e["decision_id"]),
            "by": e.get("by"),
            "why": e.get("reason"),
        }
        for e in decisions.events
    ]
    tables.show(events, empty="Nothing yet.")


if __name__ == "__main__":
    page()
