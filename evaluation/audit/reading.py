"""Reading a log as a stream of records: plain or gzip, bad lines counted and shown, never a
crash."""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import orjson

from evaluation.audit.records import Record, UnreadableRow, parse_record

SHOWN_BAD_LINES = 5
MAX_LINE_BYTES = 64 * 2**20  # a longer line is no request, and would unbound the memory


@dataclass(frozen=True, slots=True)
class BadLine:
    """One line that could not be read: its number (from 1), why, and how it begins."""

    number: int
    why: str
    begins: str


@dataclass(slots=True)
class ReadingTally:
    """What was read so far; filled by `read_records` while it runs."""

    rows: int = 0
    bad_lines: int = 0
    shown: list[BadLine] = field(default_factory=list)

    def note(self, number: int, why: str, raw: bytes) -> None:
        self.bad_lines += 1
        if len(self.shown) < SHOWN_BAD_LINES:
            self.shown.append(BadLine(number, why, raw[:80].decode("utf-8", "replace")))


def read_records(
    path: Path,
    tally: ReadingTally,
    *,
    line: str | None = None,
    limit: int | None = None,
    on_bytes: Callable[[int], object] = lambda _: None,
) -> Iterator[Record]:
    """Records of a JSON Lines file in file order. Blank lines are skipped.

    `on_bytes` is told the position in the (packed) file now and then. Raises OSError when the file
    cannot be opened.
    """
    with path.open("rb") as file:
        for number, raw in enumerate(_lines(file, tally), start=1):
            if number % 1024 == 0:
                on_bytes(file.tell())
            raw = (raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw).strip()
            if not raw:
                continue
            if limit is not None and tally.rows >= limit:
                return
            if len(raw) > MAX_LINE_BYTES:
                tally.note(number, f"longer than {MAX_LINE_BYTES} bytes", raw)
                continue
            try:
                record = parse_record(orjson.loads(raw), number, line=line)
            except (orjson.JSONDecodeError, UnreadableRow) as error:
                tally.note(number, str(error), raw)
                continue
            tally.rows += 1
            yield record
        on_bytes(file.tell())


def _lines(file: BinaryIO, tally: ReadingTally) -> Iterator[bytes]:
    """Lines with an upper bound on their length; of a longer one only its beginning is handed
    on."""
    packed = file.read(2) == b"\x1f\x8b"
    file.seek(0)
    reader = gzip.GzipFile(fileobj=file) if packed else file
    count = 0
    try:
        while head := reader.readline(MAX_LINE_BYTES + 1):
            count += 1
            yield head
            while len(head) > MAX_LINE_BYTES and not head.endswith(b"\n"):
                head = reader.readline(MAX_LINE_BYTES + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        tally.note(count + 1, f"the packed file is damaged from here on: {error}", b"")
