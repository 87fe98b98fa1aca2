"""All lines, and the settings of one: mode and threshold first, since they decide what is served."""

from __future__ import annotations

from typing import Any

import streamlit as st

from review_ui import answering, state, tables, verbatim

MODES = ("off", "exact", "shadow", "serve")
LANGUAGES = ("en", "zh", "multi")
MODE_HELP = (
    "off: pass by · exact: the exact tier alone · shadow: candidates are looked up, recorded and sampled, never "
    "served · serve: answers above the threshold are served"
)


def page() -> None:
    """The table, then the line that is picked in the sidebar."""
    st.subheader("Lines")
    _table(state.get().lines)
    if state.line():
        found = state.client().line(state.line())
        _settings(found)
        _changes(found)
    _new()


def _table(lines: list[dict[str, Any]]) -> None:
    rows = [
        {
            "line": line["line"],
            "mode": line["mode"],
            "threshold": f"{line['threshold']:.3f}, "
            f"{'on a' if line['certified'] else 'no'} certificate",
            "target": f"≤ {tables.percent(line['target_false_hit_rate'])} "
            f"at {tables.percent(line['confidence'], digits=0)}",
            "language": line["language"],
            "changed (UTC)": f"{tables.moment(line['updated_ms'])} by {line['updated_by']}",
        }
        for line in lines
    ]
    tables.written(rows, empty="There is no line yet.")


def _settings(line: dict[str, Any]) -> None:
    st.markdown(f"**Settings of {verbatim.plain(line['line'])}**")
    if not line["certified"]:
        st.warning(f"{line['threshold']:.3f} is uncertified: no certificate stands behind it.")
    # the revision in the keys: after somebody's change the form shows what is in force, not what was typed
    tag = f"{line['line']}-{line['revision']}"
    with st.form("settings"):
        a, b = st.columns(2)
        new = {
            "mode": a.selectbox(
                "Mode", MODES, MODES.index(line["mode"]), help=MODE_HELP, key=f"mode-{tag}"
            ),
            "threshold": b.number_input(
                "Threshold",
                -1.0,
                1.0,
                float(line["threshold"]),
                0.005,
                format="%.4f",
                help="Another one than a decision's is uncertified.",
                key=f"threshold-{tag}",
            ),
            "target_false_hit_rate": a.number_input(
                "Target: share of false hits",
                0.001,
                0.5,
                float(line["target_false_hit_rate"]),
                0.005,
                format="%.3f",
                key=f"target-{tag}",
            ),
            "confidence": b.number_input(
                "Confidence", 0.5, 0.999, float(line["confidence"]), 0.01, key=f"confidence-{tag}"
            ),
            "policy_version": a.text_input(
                "Policy version",
                line["policy_version"],
                help="A new one retires all entries before it.",
                key=f"version-{tag}",
            ),
            "promote": st.checkbox(
                "Promote reviewed near misses",
                bool(line["promote"]),
                help="A near miss that was reviewed as reusable is served to the very same request again.",
                key=f"promote-{tag}",
            ),
        }
        reason = b.text_input(
            "Why", max_chars=1000, placeholder="for the record", key=f"why-{tag}"
        ).strip()
        sent = st.form_submit_button("Change", type="primary")
    if sent:
        _change(line, {k: v for k, v in new.items() if v != line[k]}, reason)
    with st.expander("All settings"):
        st.json({k: v for k, v in line.items() if k != "changes"}, expanded=1)


def _change(line: dict[str, Any], changed: dict[str, Any], reason: str) -> None:
    if not changed:
        st.info("Nothing was changed.")
        return
    if not reason:
        st.error("Say why: it is kept with the change.")
        return
    with answering.reported():
        now = state.client().change_line(line["line"], changed, reason=reason)
        words = "certified" if now["certified"] else "uncertified"
        state.get().tell(
            "success", f"In force: mode {now['mode']}, threshold {now['threshold']:.3f}, {words}."
        )
    state.get().lines_at_s = float("-inf")
    st.rerun()


def _changes(line: dict[str, Any]) -> None:
    st.markdown("**Last changes**")
    rows = [
        {
            "when (UTC)": tables.moment(c["at_ms"]),
            "by": c["by"],
            "what": _difference(c.get("before"), c.get("after")),
            "why": c["reason"],
        }
        for c in line.get("changes", [])
    ]
    tables.written(rows, empty="None.")


def _difference(before: dict[str, Any] | None, after: dict[str, Any] | None) -> str:
    if not before or not after:
        return "created" if after else ""
    names = [n for n in after if before.get(n) != after[n]]
    return ", ".join(f"{n} {before.get(n)} → {after[n]}" for n in names)


def _new() -> None:
    with st.expander("New line"), st.form("new-line", clear_on_submit=True):
        a, b, c = st.columns(3)
        name = a.text_input("Name", max_chars=128).strip()
        mode = b.selectbox("Mode", MODES, MODES.index("shadow"), help=MODE_HELP)
        language = c.selectbox("Language", LANGUAGES)
        if st.form_submit_button("Create") and name:
            if any(line["line"] == name for line in state.get().lines):
                state.get().tell("error", f"{name} exists already.")
            else:
                with answering.reported():
                    settings = {"mode": mode, "language": language}
                    state.client().create_line(name, settings, reason="created on the review page")
                    state.get().tell("success", f"{name} is there.")
            state.get().lines_at_s = float("-inf")
            st.rerun()


if __name__ == "__main__":
    page()
