"""The exact layer: how many requests of the log repeat an earlier one, under three notions of "the
same".

* bytes: the same JSON text (field order counts, blanks between tokens do not);
* canonical: the same canonical request (`service.key`), which is what the exact tier of the cache
  does;
* stable: canonical, and fields or spans of the context that hold a time or an id of the call are
  left out.

Repeats are counted inside one line, tenant and scope, as the cache would. Hashes have 64 bits:
among n different requests the expected number of wrongly merged pairs is n²/2⁶⁵ (3e-8 for a
million).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from evaluation.audit.field_effects import FieldEffect, FieldEffects
from evaluation.audit.hashing import hash64, sorted_json
from evaluation.audit.records import Record
from evaluation.audit.spill import ROWS_AT_ONCE, Spill
from evaluation.audit.volatile import is_volatile_field, mask
from service.errors import InvalidRequest
from service.key import canonicalize

TTLS_S = (3600.0, 86400.0, 7 * 86400.0)
FORMS = ("bytes", "canonical", "stable")
MAX_LINES = 1000
OTHER_LINES = "(other lines)"
"""Business lines beyond MAX_LINES are counted together under this name."""


_ROW = np.dtype(
    [
        ("bytes", "<u8"),
        ("canonical", "<u8"),
        ("stable", "<u8"),
        ("ts", "<f8"),
        ("line", "<u4"),
        ("input", "<u4"),
        ("output", "<u4"),
    ]
)
_PACK = struct.Struct("<QQQdIII").pack
_NO_USAGE = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Repeats:
    """Rows that repeat an earlier row under one notion of sameness.

    `by_ttl_s` has (time to live in seconds, repeats that an entry of that age limit would have
    answered); None where the log has no timestamps. An entry is stored when it misses and is not
    renewed by a hit.
    """

    form: str
    repeats: int
    share: float
    by_ttl_s: tuple[tuple[float, int], ...] | None
    input_tokens: int | None
    output_tokens: int | None


@dataclass(frozen=True, slots=True)
class LineRepeats:
    """The three notions for one business line (or all, under the name None)."""

    line: str | None
    rows: int
    forms: tuple[Repeats, ...]


@dataclass(frozen=True, slots=True)
class ExactReport:
    """What the exact layer found. `resolution_s` is the step of the timestamps (1 day in a log with
    dates only)."""

    overall: LineRepeats
    lines: tuple[LineRepeats, ...]
    fields: tuple[FieldEffect, ...]
    resolution_s: float | None


class ExactLayer:
    """Counts repeats of a stream of records; memory does not grow with the log (numbers go to a
    temporary file)."""

    def __init__(self, *, rows_at_once: int = ROWS_AT_ONCE) -> None:
        self._rows = Spill(_ROW, rows_at_once=rows_at_once)
        self._lines: dict[str, int] = {}
        self._effects = FieldEffects()
        self._resolution = _Resolution()

    def add(self, record: Record) -> None:
        """Count one record; rows of a trace without any identity are passed over."""
        keys = self._keys(record)
        if keys is None:
            return
        name = record.line if record.line in self._lines else self._admit(record.line)
        line = self._lines.setdefault(name, len(self._lines))
        if record.ts_s is not None:
            self._resolution.see(record.ts_s)
        usage = record.usage
        self._rows.append(
            _PACK(
                *keys,
                float("nan") if record.ts_s is None else record.ts_s,
                line,
                _NO_USAGE if usage is None else min(usage.input_tokens, _NO_USAGE - 1),
                _NO_USAGE if usage is None else min(usage.output_tokens, _NO_USAGE - 1),
            )
        )

    def report(self) -> ExactReport:
        """The counts so far, and the end of the layer: its temporary files are closed."""
        names = {number: name for name, number in self._lines.items()}
        tallies = {number: [_Tally() for _ in FORMS] for number in names}
        for at, form in enumerate(FORMS):
            for rows in self._rows.partitions(form):
                for number in np.unique(rows["line"]).tolist():
                    tallies[number][at].add(rows[rows["line"] == number], form)
        lines = tuple(
            LineRepeats(
                names[number],
                tally[0].rows,
                tuple(t.close(form) for t, form in zip(tally, FORMS, strict=True)),
            )
            for number, tally in sorted(tallies.items(), key=lambda item: -item[1][0].rows)
        )
        fields = self._effects.report()
        self._rows.close()
        return ExactReport(_sum_lines(lines), lines, fields, self._resolution.step_s())

    def _admit(self, line: str) -> str:
        return line if len(self._lines) < MAX_LINES else OTHER_LINES

    def _keys(self, record: Record) -> tuple[int, int, int] | None:
        owner = "\x1f".join((record.line, record.tenant, record.scope)).encode()
        if record.exact_id is not None:
            exact = hash64(owner, record.exact_id.encode())
            return exact, exact, hash64(owner, (record.loose_id or record.exact_id).encode())
        if record.request is None:
            return None
        request = record.request
        raw = request.encode() if isinstance(request, str) else orjson.dumps(request)
        try:
            canonical = canonicalize(record.request)
        except InvalidRequest:
            return (hash64(owner, raw),) * 3
        key = hash64(owner, canonical.body)
        if isinstance(request, dict):
            self._effects.add(owner, request, orjson.loads(canonical.body))
        elif canonical.query is not None:
            return hash64(owner, raw), key, key  # a bare prompt has no context that could vary
        context = canonical.context if canonical.query is not None else canonical.body
        return hash64(owner, raw), key, hash64(owner, *_stable(context, canonical.query))


def _stable(context: bytes, query: str | None) -> tuple[bytes, bytes]:
    """Context without volatile fields and spans, and the query untouched: a date in a question is
    the question."""
    value = orjson.loads(context)
    if isinstance(value, dict):
        value = {k: v for k, v in value.items() if not is_volatile_field(k)}
    return mask(sorted_json(value).decode()).encode(), (query or "").encode()


class _Resolution:
    """The coarsest step that all timestamps are multiples of, among day, hour, minute and
    second."""

    def __init__(self) -> None:
        self._steps = [86400.0, 3600.0, 60.0, 1.0]
        self._seen: set[float] = set()

    def see(self, ts_s: float) -> None:
        while self._steps and ts_s % self._steps[0]:
            self._steps.pop(0)
        if len(self._seen) < 2:
            self._seen.add(ts_s)

    def step_s(self) -> float | None:
        """None without timestamps; 0 for finer than a second."""
        if not self._seen:
            return None
        return self._steps[0] if self._steps and len(self._seen) > 1 else 0.0


class _Tally:
    """Repeats of one line under one form, added up over the partitions."""

    def __init__(self) -> None:
        self.rows = 0
        self.repeats = 0
        self.timed_rows = 0
        self.hits = [0] * len(TTLS_S)
        self.usage_rows = 0
        self.tokens = [0, 0]

    def add(self, rows: npt.NDArray[Any], form: str) -> None:
        order = np.lexsort((np.arange(len(rows)), np.nan_to_num(rows["ts"]), rows[form]))
        rows = rows[order]
        key = rows[form]
        again = np.empty(len(rows), bool)
        again[:1] = False
        again[1:] = key[1:] == key[:-1]
        self.rows += len(rows)
        self.repeats += int(again.sum())
        known = rows["input"] != _NO_USAGE
        self.usage_rows += int(known.sum())
        self.tokens[0] += int(rows["input"][again & known].sum(dtype=np.int64))
        self.tokens[1] += int(rows["output"][again & known].sum(dtype=np.int64))
        self.timed_rows += int((~np.isnan(rows["ts"])).sum())
        in_group = again.copy()
        in_group[:-1] |= again[1:]
        starts = (~again[in_group]).tolist()
        times = rows["ts"][in_group].tolist()
        for at, ttl_s in enumerate(TTLS_S):
            self.hits[at] += _hits_within(starts, times, ttl_s)

    def close(self, form: str) -> Repeats:
        timed = self.rows > 0 and self.timed_rows == self.rows
        return Repeats(
            form,
            self.repeats,
            self.repeats / self.rows if self.rows else 0.0,
            tuple(zip(TTLS_S, self.hits, strict=True)) if timed else None,
            self.tokens[0] if self.usage_rows else None,
            self.tokens[1] if self.usage_rows else None,
        )


def _hits_within(starts: list[bool], times: list[float], ttl_s: float) -> int:
    """Hits of a cache whose entries live `ttl_s` from the miss that stored them; `starts` marks
    each key's first row."""
    hits = 0
    stored = 0.0
    for start, now in zip(starts, times, strict=True):
        if not start and now - stored <= ttl_s:
            hits += 1
        else:
            stored = now
    return hits


def _sum_lines(lines: tuple[LineRepeats, ...]) -> LineRepeats:
    rows = sum(line.rows for line in lines)
    forms = []
    for at, form in enumerate(FORMS):
        parts = [line.forms[at] for line in lines]
        repeats = sum(p.repeats for p in parts)
        timed = bool(parts) and all(p.by_ttl_s is not None for p in parts)
        by_ttl = tuple(
            (ttl_s, sum(dict(p.by_ttl_s)[ttl_s] for p in parts if p.by_ttl_s)) for ttl_s in TTLS_S
        )
        forms.append(
            Repeats(
                form,
                repeats,
                repeats / rows if rows else 0.0,
                by_ttl if timed else None,
                _sum_known(p.input_tokens for p in parts),
                _sum_known(p.output_tokens for p in parts),
            )
        )
    return LineRepeats(None, rows, tuple(forms))


def _sum_known(values: Iterable[int | None]) -> int | None:
    known = [v for v in values if v is not None]
    return sum(known) if known else None
