"""What each layer of caching does and could do for a line's traffic: side by side, each with its risk and next step.

The layers save different things against different costs; nothing here is added up.
"""

from __future__ import annotations

import streamlit as st

from review_ui import charts, state, tables, verbatim
from review_ui.replies import Audit, AuditLayer

LAYERS = {
    "exact": "Exact tier",
    "semantic": "Semantic tier",
    "provider_prompt_cache": "Provider's prompt cache",
    "prefix_kv": "Shared prefixes (KV)",
}


def page() -> None:
    """Four rows, and what lies behind two of them."""
    line = state.line()
    days = tables.days(f"Audit of {verbatim.plain(line)}", key="audit_days")
    with st.spinner("Counting tokens of stored requests …"):
        audit = state.client().audit(line, days=days)
    for layer in audit.layers:
        _layer(layer, audit)
    _candidates(audit)
    _causes(audit)
    _covers(audit)


def _layer(layer: AuditLayer, audit: Audit) -> None:
    with st.container(border=True):
        figure, words = st.columns([1, 3])
        with figure:
            st.metric(LAYERS.get(layer.layer, layer.layer), tables.percent(layer.share))
            st.caption(f"of {layer.unit}")
            if layer.saved is not None:
                st.caption(f"saved {layer.saved:,.4f} {audit.currency}")
        # texts hold names of models, which are callers' words
        rows = (("Saves", layer.saves), ("Risk", layer.risk), ("Next step", layer.next_step))
        body = "".join(f"<dt>{name}</dt><dd>{verbatim.escape(text)}</dd>" for name, text in rows)
        words.html(f'<dl class="sh-audit">{body}</dl>{_STYLE}')


_STYLE = """<style>
.sh-audit{display:grid;grid-template-columns:5.5rem 1fr;gap:.35rem .8rem;margin:0;font-size:.92rem}
.sh-audit dt{color:#6b7280}.sh-audit dd{margin:0;overflow-wrap:anywhere}
</style>"""


def _candidates(audit: Audit) -> None:
    st.markdown("**Candidates per threshold** · semantic tier")
    if not any(at.left or at.refused_by_guards for at in audit.thresholds):
        st.caption("No logged lookup has a candidate from a score of 0.8 on.")
        return
    st.altair_chart(charts.candidates(audit), width="stretch")
    st.caption(
        f"Of {audit.lookups_read:,} logged lookups; {audit.threshold_in_force:.3f} is in force. A candidate is no "
        "claim that its answer would be right: that takes labels, see «Curves and threshold»."
    )


def _causes(audit: Audit) -> None:
    st.markdown("**Why prefixes part** · prompt cache and engines")
    tables.written(
        [
            {
                "cause": cause.cause.replace("_", " "),
                "times": cause.times,
                "prompt tokens lost": cause.lost_tokens,
                "what would mend it": cause.mending,
            }
            for cause in audit.causes
        ],
        empty=f"No avoidable break among {audit.requests_read:,} stored requests.",
    )


def _covers(audit: Audit) -> None:
    with st.expander("What this rests on"):
        for words in audit.covers:
            name, _, rest = words.partition(": ")
            st.markdown(f"- {LAYERS.get(name, verbatim.plain(name))}: {verbatim.plain(rest)}")
        st.caption(
            f"List prices of {audit.prices_as_of}; check them. Every request of a log is seen by `surehit audit LOG`."
        )


if __name__ == "__main__":
    page()
