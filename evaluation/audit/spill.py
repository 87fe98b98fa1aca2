"""Rows of numbers on disk: what lets a log of any length be counted exactly in bounded memory."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

ROWS_AT_ONCE = 4_000_000
"""Rows that may be held in memory at a time while counting."""


class Spill:
    """An append-only table of one NumPy record type in a temporary file, which vanishes with the
    object."""

    def __init__(self, dtype: np.dtype[Any], *, rows_at_once: int = ROWS_AT_ONCE) -> None:
        self._dtype = dtype
        self._rows_at_once = rows_at_once
        self._file = tempfile.SpooledTemporaryFile(max_size=2**24)  # noqa: SIM115 # closed by close()
        self._rows = 0

    def __len__(self) -> int:
        return self._rows

    def append(self, packed: bytes) -> None:
        """Add one row, packed in the layout of the record type."""
        self._file.write(packed)
        self._rows += 1

    def copy(self) -> Spill:
        """Another table with the same rows."""
        twin = Spill(self._dtype, rows_at_once=self._rows_at_once)
        self._file.seek(0)
        shutil.copyfileobj(self._file, twin._file, 2**20)
        twin._rows = self._rows
        return twin

    def partitions(self, column: str) -> Iterator[npt.NDArray[Any]]:
        """All rows, split by the value of an unsigned column into parts that fit memory, in order
        inside a part."""
        parts = max(1, -(-self._rows // self._rows_at_once))
        for part in range(parts):
            chunks = [c if parts == 1 else c[c[column] % parts == part] for c in self._chunks()]
            yield np.concatenate(chunks) if chunks else np.empty(0, self._dtype)

    def close(self) -> None:
        self._file.close()

    def _chunks(self) -> Iterator[npt.NDArray[Any]]:
        self._file.seek(0)
        while block := self._file.read(self._dtype.itemsize * 250_000):
            yield np.frombuffer(block, self._dtype)
        self._file.seek(0, 2)
