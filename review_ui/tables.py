"""How times, rates and rows look in tables. Whatever stands in a cell is drawn as plain text, never as markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import streamlit as st

from review_ui import verbatim

STYLE = """<style>
.sh-rows{overflow-x:auto}
.sh-rows table{width:100%;border-collapse:collapse;font-size:.88rem;line-height:1.4}
.sh-rows th{font-weight:400;opacity:.65}
.sh-rows th,.sh-rows td{text-align:start;vertical-align:top;padding:.4rem .5rem;overflow-wrap:break-word;
  border:1px solid color-mix(in srgb,currentColor 14%,transparent)}
.sh-rows span{white-space:nowrap}
.sh-rows .sh-number{text-align:end;font-variant-numeric:tabular-nums}
</style>"""


_DAY = re.compile(r"\b\d{4}-\d\d-\d\d\b")


def moment(ms: float | None) -> str:
    """A time of the service, in UTC; sorts as it reads. Empty for none."""
    return "" if ms is None else f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%d %H:%M}"


def percent(rate: float | None, *, digits: int = 1) -> str:
    """A rate in words; absent ones stay absent."""
    return "–" if rate is None else f"{100 * rate:.{digits}f} %"


def days(title: str, *, key: str) -> int:
    """A page's heading, and how many days its figures shall cover."""
    with st.container(
        horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"
    ):
        st.subheader(title, width="content")
        return st.segmented_control("Days", (1, 7, 30, 90), default=30, key=key) or 30


def written(rows: Iterable[Mapping[str, Any]], *, empty: str) -> None:
    """A table whose cells wrap, to be read in a narrow window; a sentence where it would be empty."""
    found = list(rows)
    if not found:
        st.caption(empty)
        return
    head = "".join(f"<th>{verbatim.escape(name)}</th>" for name in found[0])
    body = "".join(f"<tr>{''.join(map(_cell, row.values()))}</tr>" for row in found)
    st.html(f'<div class="sh-rows" tabindex="0"><table><tr>{head}</tr>{body}</table></div>')


def _cell(value: object) -> str:
    if isinstance(value, int | float):
        return f'<td class="sh-number">{value:,}</td>'
    text = "" if value is None else verbatim.escape(str(value))
    return "<td>" + _DAY.sub(r"<span>\g<0></span>", text) + "</td>"


def grid(rows: Iterable[Mapping[str, Any]], *, empty: str, **options: Any) -> Any:
    """A table to search and to pick a row from, cut at the window's edge; a sentence where it would be empty."""
    found = list(rows)
    if not found:
        st.caption(empty)
        return None
    return st.dataframe(found, hide_index=True, **options)
