"""How times, rates and rows look in tables. The grid draws plain text, so nothing in a cell is markup."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import streamlit as st


def moment(ms: float | None) -> datetime | None:
    """A time of the service, for a table's column."""
    return None if ms is None else datetime.fromtimestamp(ms / 1000, UTC)


def said(ms: float | None) -> str:
    """The same in a sentence."""
    at = moment(ms)
    return "" if at is None else f"{at:%Y-%m-%d %H:%M} UTC"


def percent(rate: float | None, *, digits: int = 1) -> str:
    """A rate in words; absent ones stay absent."""
    return "–" if rate is None else f"{100 * rate:.{digits}f} %"


def first(row: Mapping[str, Any], *names: str) -> Any:
    """The first of these fields that the row has, looking into `evidence`, too."""
    places = [row, *(v for v in (row.get("evidence"), row.get("curve")) if isinstance(v, Mapping))]
    return next((p[n] for n in names for p in places if p.get(n) is not None), None)


def show(rows: Iterable[Mapping[str, Any]], *, empty: str, **options: Any) -> Any:
    """A table, or a sentence where it would be empty."""
    found = list(rows)
    if not found:
        st.caption(empty)
        return None
    return st.dataframe(found, hide_index=True, **options)
