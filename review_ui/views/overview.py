"""What the cache does, line by line and layer by layer. The layers are different things: they are never added up."""

from __future__ import annotations

from typing import Any

import streamlit as st

from review_ui import state, tables, verbatim


def page() -> None:
    """A table per line."""
    days = tables.days("Overview", key="days")
    figures = state.client().stats(days=days)
    known = {line["line"]: line for line in state.get().lines}
    for name, found in figures["lines"].items():
        with st.container(border=True):
            _line(name, found, known.get(name))
    broken = {k: v for k, v in figures.get("embedders", {}).items() if v not in ("ready", "idle")}
    for embedder, words in broken.items():
        st.warning(verbatim.plain(f"Embedding model {embedder}: {words}"))
    st.caption(
        "Exact hits are answers to the same bytes. Semantic hits are answers to other words, counted against the "
        "lookups that reached the semantic tier. A total of both would say nothing, so there is none. What the "
        "provider's own prompt cache and shared prefixes add is on the page «Audit»."
    )


def _line(name: str, found: dict[str, Any], line: dict[str, Any] | None) -> None:
    title = f"**{verbatim.plain(name)}**"
    if line is not None:
        rests = "certified" if line["certified"] else "uncertified"
        title += f" · {line['mode']} · threshold {line['threshold']:.3f} {rests}"
    st.markdown(title)
    tables.written(_layers(found), empty="Nothing yet.")
    entries = found["entries"]
    waiting = (
        f", {entries['awaiting_embedding']:,} without a vector yet"
        if entries["awaiting_embedding"]
        else ""
    )
    st.caption(
        f"{entries['live']:,} live entries, {entries['searchable']:,} searchable{waiting} · {found['stores']:,} stores"
    )


def _layers(found: dict[str, Any]) -> list[dict[str, str]]:
    exact, semantic = found["exact"], found["semantic"]
    rows = [
        _row(
            "Exact tier",
            f"{exact['hits']:,}",
            f"{exact['lookups']:,}",
            tables.percent(exact["hit_rate"]),
            "",
        ),
        _row(
            "Semantic tier",
            f"{semantic['hits']:,}",
            f"{semantic['lookups']:,}",
            tables.percent(semantic["hit_rate"]),
            _reasons(semantic["misses"]),
        ),
    ]
    if found["not_looked_up"]:
        rows.append(_row("Not looked up", "–", "–", "–", _reasons(found["not_looked_up"])))
    return rows


def _row(layer: str, hits: str, lookups: str, rate: str, misses: str) -> dict[str, str]:
    return {
        "layer": layer,
        "hits": hits,
        "lookups": lookups,
        "hit rate of the layer": rate,
        "the rest": misses,
    }


def _reasons(counts: dict[str, Any]) -> str:
    pairs = sorted(((n, k) for k, n in counts.items() if isinstance(n, int)), reverse=True)
    return ", ".join(f"{n:,} {k.replace('_', ' ')}" for n, k in pairs)


if __name__ == "__main__":
    page()
