"""Labels in and out, as JSON lines or CSV, so that a team can begin with what it has.

Imported labels were not drawn with a known probability: they feed the pilot curve and the next sampling plan, never a
certificate. Importing the same rows again changes nothing.
"""

from __future__ import annotations

import asyncio
import csv
import hashlib
import io
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import orjson
from sqlalchemy import bindparam, select

from evaluation import review_rows
from evaluation.desk import Desk
from evaluation.http_bodies import one_name
from evaluation.review_rows import VERDICTS, Given
from evaluation.reviews import REASONS
from evaluation.score import reading
from service import ids
from service.errors import FieldError, InvalidRequest
from service.policy import Policy
from service.score import COSINE, Context
from service.storage import lookups as lookup_rows
from service.storage.database import Transaction
from service.storage.models import Label, ReviewItem
from service.storage.query import Query

Format = Literal["jsonl", "csv"]
MAX_ROWS = 50_000
MAX_TEXT = 20_000
FIELDS = (
    "item_id",
    "kind",
    "query",
    "entry_query",
    "entry_response",
    "verdict",
    "reason",
    "note",
    "reviewer",
    "at_ms",
    "score",
    "guard",
    "was_served",
    "threshold",
    "item_state",
    "item_verdict",
    "gold_verdict",
    "inclusion_probability",
    "certify_probability",
    "score_version",
    "policy_version",
)
"""Of an export, in this order. An import needs `query`, `entry_query`, `verdict`; the rest is optional."""

ScorePairs = Callable[[Sequence[tuple[str, str]]], Awaitable[list[float | None]]]
"""Pairs of texts → their scores under the line's model; None where it cannot read one of them."""


@dataclass(frozen=True)
class Imported:
    """How many rows were new, changed a verdict, or were known already."""

    added: int
    changed: int
    unchanged: int


@dataclass(frozen=True)
class Row:
    """One label from outside."""

    query: str
    entry_query: str
    verdict: str
    reason: str | None
    note: str | None
    reviewer: str
    answer: bytes
    item_id: int | None

    def key(self, tenant: str, line: str) -> int:
        """The same pair by the same reviewer is the same label, whenever and wherever it is imported."""
        parts = (tenant, line, self.query, self.entry_query, self.reviewer)
        digest = hashlib.sha256("\x00".join(parts).encode("utf-8", "surrogatepass")).digest()
        return int.from_bytes(digest[:8], "big") >> 1


_EXPORT = Query(
    "export_labels",
    select(
        ReviewItem.id,
        ReviewItem.kind,
        ReviewItem.query,
        ReviewItem.entry_query,
        ReviewItem.entry_response,
        Label.verdict,
        Label.reason,
        Label.note,
        Label.reviewer,
        Label.at_ms,
        ReviewItem.score,
        ReviewItem.guard,
        ReviewItem.was_served,
        ReviewItem.threshold,
        ReviewItem.state,
        ReviewItem.verdict,
        ReviewItem.gold_verdict,
        ReviewItem.inclusion_probability,
        ReviewItem.certify_probability,
        ReviewItem.score_version,
        ReviewItem.policy_version,
        Label.id,
    )
    .join(ReviewItem, ReviewItem.id == Label.item_id)
    .where(
        Label.tenant_id == bindparam("tenant"),
        ReviewItem.line == bindparam("of_line"),
        Label.superseded_ms.is_(None),
        Label.id > bindparam("after"),
    )
    .order_by(Label.id)
    .limit(5_000),
)
_ITEM_BY_ID = Query(
    "item_for_import",
    select(ReviewItem.kind, ReviewItem.verdict).where(
        ReviewItem.id == bindparam("item_id"),
        ReviewItem.tenant_id == bindparam("tenant"),
        ReviewItem.line == bindparam("of_line"),
    ),
)


async def export_labels(desk: Desk, tenant: str, *, line: str, form: Format = "jsonl") -> str:
    """All labels of a line that count, one row each, oldest first; skips and flags are not among them."""
    await desk.policy(tenant, line)
    found: list[dict[str, Any]] = []
    after = -1
    while True:
        params = {"tenant": tenant, "of_line": line, "after": after}
        batch = await desk.db.read(_EXPORT, params)
        found += [_exported(row) for row in batch if row[5] in VERDICTS]
        if len(batch) < 5_000:
            break
        after = batch[-1][-1]
    if form == "jsonl":
        return "".join(orjson.dumps(row).decode() + "\n" for row in found)
    return as_csv(found)


def as_csv(rows: Sequence[dict[str, Any]]) -> str:
    """RFC 4180, every field quoted: a lone carriage return inside a text would end the row otherwise."""
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, FIELDS, quoting=csv.QUOTE_ALL, restval="")
    writer.writeheader()
    for row in rows:
        answer = orjson.dumps(row.get("entry_response")).decode()
        row = {**row, "entry_response": answer}
        writer.writerow({name: _no_formula(value) for name, value in row.items()})
    return out.getvalue()


_FORMULA = ("=", "+", "-", "@", "\t", "\r", "'")
"""What makes a spreadsheet take a text for a formula (OWASP, CSV Injection), and the mark that says it is none."""


def _no_formula(value: Any) -> Any:
    """A text that somebody asked must not be run by the spreadsheet of who reads the labels; `_as_it_was` undoes it."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _as_it_was(value: str) -> str:
    return value[1:] if value[:1] == "'" and value[1:].startswith(_FORMULA) else value


async def import_labels(
    desk: Desk, tenant: str, *, line: str, text: str, form: Format, score_pairs: ScorePairs
) -> Imported:
    """Take labels in; all rows or, when one is wrong, none. Raises InvalidRequest naming the row and its field."""
    policy = await desk.policy(tenant, line)
    rows = parse(text, form)
    cosines: list[float | None] = []
    for start in range(0, len(rows), 256):
        part = rows[start : start + 256]
        cosines += await score_pairs([(row.entry_query, row.query) for row in part])
    lifts = await reading.lifts(desk, policy, policy.scorer, (row.query for row in rows))
    scores = await asyncio.to_thread(_scores, policy, rows, cosines, lifts)
    scores = await desk.verify(policy, [(row.entry_query, row.query) for row in rows], scores)
    score_version = await desk.score_version(policy)
    now = desk.clock_ms()
    label_ids = [desk.new_id() for _ in rows]

    def work(tx: Transaction) -> Imported:
        counts = {"added": 0, "changed": 0, "unchanged": 0}
        for row, score, cosine, label_id in zip(rows, scores, cosines, label_ids, strict=True):
            counts[_take(tx, row, score, cosine, label_id)] += 1
        return Imported(**counts)

    def _take(
        tx: Transaction, row: Row, score: float | None, cosine: float | None, label_id: int
    ) -> str:
        known = _known(tx, tenant, line, row)
        if known == "sampled":
            return "unchanged"  # an export of this very line: its labels are here already
        item_id = row.key(tenant, line)
        if known is None:
            version = policy.config.policy_version
            item = _item(row, item_id, version, score_version, score, cosine, now)
            lookup_rows.add_items(tx, [{**item, "tenant_id": tenant, "line": line}])
        elif known == row.verdict:
            return "unchanged"
        else:
            for old in review_rows.given(tx, tenant, item_id=item_id):
                review_rows.supersede(tx, tenant, label_id=old.id, now=now)
            review_rows.settle(
                tx,
                tenant,
                item_id=item_id,
                state="done",
                verdict=row.verdict,
                reason=row.reason,
                done_ms=now,
            )
        label = Given(
            label_id, item_id, row.reviewer, row.verdict, row.reason, row.note, False, now
        )
        review_rows.add_label(tx, tenant, label)
        return "added" if known is None else "changed"

    return await desk.db.write(work, durable=True)


def decoded(raw: bytes) -> str:
    """The text of a file, whose line ends stay as they are. Raises InvalidRequest."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidRequest.field("body", "must be UTF-8") from error


def count_rows(text: str, form: Format) -> int:
    """How many labels an export holds; a text in it may have lines of its own."""
    return text.count("\n") if form == "jsonl" else len(_csv_rows(text))


def parse(text: str, form: Format) -> list[Row]:
    """Rows of an import. Raises InvalidRequest with every wrong row (at most 20 are named)."""
    raw = _json_lines(text) if form == "jsonl" else _csv_rows(text)
    if len(raw) > MAX_ROWS:
        raise InvalidRequest.field("body", f"has {len(raw)} rows; at most {MAX_ROWS} at a time")
    rows: list[Row] = []
    errors: list[FieldError] = []
    for number, fields in enumerate(raw, start=1):
        try:
            rows.append(_row(fields))
        except InvalidRequest as error:
            errors += [FieldError(f"row {number}: {e.field}", e.message) for e in error.errors]
    if errors:
        detail = "; ".join(f"{e.field}: {e.message}" for e in errors[:20])
        raise InvalidRequest(detail, errors=tuple(errors[:20]))
    return rows


def _json_lines(text: str) -> list[Any]:
    found = []
    for number, line in enumerate(text.split("\n"), start=1):  # JSON leaves U+2028 as it is
        if line.strip():
            try:
                found.append(orjson.loads(line))
            except orjson.JSONDecodeError as error:
                raise InvalidRequest.field(f"row {number}", f"is not JSON: {error}") from error
    return found


def _csv_rows(text: str) -> list[Any]:
    reader = csv.DictReader(io.StringIO(text, newline=""))
    try:
        missing = {"query", "entry_query", "verdict"} - set(reader.fieldnames or ())
        rows = [] if missing else list(reader)
    except csv.Error as error:
        raise InvalidRequest.field(f"row {reader.line_num}", f"is not CSV: {error}") from error
    if missing:
        raise InvalidRequest.field("header", f"lacks {', '.join(sorted(missing))}")
    return [{k: _as_it_was(v) for k, v in row.items() if k and v not in (None, "")} for row in rows]


def _row(fields: Any) -> Row:
    if not isinstance(fields, dict):
        raise InvalidRequest.field("row", "must be a JSON object")
    for name in ("query", "entry_query"):
        value = fields.get(name)
        if not isinstance(value, str) or not value.strip() or len(value) > MAX_TEXT:
            raise InvalidRequest.field(name, f"must be text of 1 to {MAX_TEXT} characters")
    if fields.get("verdict") not in VERDICTS:
        raise InvalidRequest.field("verdict", f"must be one of {', '.join(VERDICTS)}")
    reason = fields.get("reason") or None
    if reason is not None and reason not in REASONS:
        raise InvalidRequest.field("reason", f"must be one of {', '.join(REASONS)}")
    reviewer = fields.get("reviewer") or "import"
    if not isinstance(reviewer, str) or not 1 <= len(reviewer := one_name(reviewer)) <= 128:
        raise InvalidRequest.field("reviewer", "must be text of 1 to 128 characters")
    note = fields.get("note")
    answer = fields.get("entry_response", "")
    item_id = fields.get("item_id")
    return Row(
        query=_column(fields["query"]),
        entry_query=_column(fields["entry_query"]),
        verdict=fields["verdict"],
        reason=reason,
        note=_column(str(note)) if note else None,
        reviewer=reviewer,
        answer=orjson.dumps(answer),
        item_id=ids.decode("itm", item_id) if isinstance(item_id, str) else None,
    )


def _known(tx: Transaction, tenant: str, line: str, row: Row) -> str | None:
    """`sampled` for an item of this line's own, else the verdict imported before, else None."""
    params = {"tenant": tenant, "of_line": line}
    if row.item_id is not None:
        found = tx.run(_ITEM_BY_ID, {**params, "item_id": row.item_id})
        if found and found[0][0] != "imported":
            return "sampled"
    found = tx.run(_ITEM_BY_ID, {**params, "item_id": row.key(tenant, line)})
    return str(found[0][1]) if found else None


def _scores(
    policy: Policy,
    rows: Sequence[Row],
    cosines: Sequence[float | None],
    lifts: Mapping[str, float],
) -> list[float | None]:
    return [_score(policy, row, cosine, lifts) for row, cosine in zip(rows, cosines, strict=True)]


def _score(
    policy: Policy, row: Row, cosine: float | None, lifts: Mapping[str, float]
) -> float | None:
    """The pair's score under the line's rule; None where it cannot be had."""
    if cosine is None or policy.config.score == COSINE:
        return cosine
    if policy.scorer is None:
        return None
    return reading.probability(policy.scorer, row.entry_query, row.query, Context(cosine), lifts)


def _item(
    row: Row,
    item_id: int,
    policy_version: str,
    score_version: str,
    score: float | None,
    cosine: float | None,
    now: int,
) -> dict[str, Any]:
    return {
        "id": item_id,
        "scope": "",
        "kind": "imported",
        "created_ms": now,
        "lookup_id": None,
        "exact_key": None,
        "context_hash": None,
        "entry_id": None,
        "query": row.query,
        "entry_query": row.entry_query,
        "entry_response": row.answer,
        "response_hash": hashlib.sha256(row.answer).digest(),
        "fresh_response": None,
        "score": score,
        "cosine": cosine,
        "guard": None,
        "guard_detail": None,
        "was_served": False,
        "threshold": None,
        "decision_id": None,
        "policy_version": policy_version,
        "score_version": score_version,
        "streams": "",
        "certify_probability": 0.0,
        "inclusion_probability": 0.0,
        "gold_verdict": None,
        "state": "done",
        "verdict": row.verdict,
        "reason": row.reason,
        "done_ms": now,
        "lease_by": None,
        "lease_until_ms": 0,
    }


def _exported(row: Sequence[Any]) -> dict[str, Any]:
    values = dict(zip(FIELDS, row[:-1], strict=True))
    values["item_id"] = ids.encode("itm", row[0])
    values["entry_response"] = orjson.loads(bytes(row[4]))
    values["was_served"] = bool(values["was_served"])
    return values


def _column(text: str) -> str:
    return text.replace("\x00", "\u2400")  # PostgreSQL has no NUL
