"""How times, rates and rows look in tables. The grid draws plain text, so nothing in a cell is markup."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import streamlit as st


def moment(ms: float | None) -> str:
    """A time of the service, in UTC; sorts as it reads. Empty for none."""
    return "" if ms is None else f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%d %H:%M}"


def percent(rate: float | None, *, digits: int = 1) -> str:
    """A rate in words; absent ones stay absent."""
    return "–" if rate is None else f"{100 * rate:.{digits}f} %"


def show(rows: Iterable[Mapping[str, Any]], *, empty: str, **options: Any) -> Any:
    """A table, or a sentence where it would be empty."""
    found = list(rows)
    if not found:
        st.caption(empty)
        return None
    return st.dataframe(found, hide_index=True, **options)
