"""Every table: columns and constraints, nothing else.

Times are whole milliseconds since 1970 UTC (`*_ms`, BIGINT) on both databases: one comparison, no zone, no text form,
and the hot path reads them without conversion. Documents (`*_json`) are JSON text; keys, digests, requests and
answers are bytes, so that any text (NUL included) comes back as it was.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Text,
    UniqueConstraint,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}


class Base(DeclarativeBase):
    """The metadata that migrations compare with."""

    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map = {  # noqa: RUF012 - SQLAlchemy reads it from the class
        # INTEGER makes a primary key the row's own address on SQLite (64 bits there, too)
        int: BigInteger().with_variant(sqlite.INTEGER(), "sqlite"),
        bytes: LargeBinary,
        str: Text,
        float: Float,
        bool: Boolean,
    }


class Tenant(Base):
    """Whoever API keys belong to. Nothing crosses tenants."""

    __tablename__ = "tenants"
    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    created_ms: Mapped[int]


class ApiKey(Base):
    """One API key, of which only the SHA-256 is kept."""

    __tablename__ = "api_keys"
    key_hash: Mapped[bytes] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(String(32), unique=True)
    tenant_id: Mapped[str] = mapped_column(ForeignKey("tenants.id"), index=True)
    name: Mapped[str]
    role: Mapped[str] = mapped_column(String(16))  # use | review | admin
    max_stores_per_hour: Mapped[int | None]
    created_ms: Mapped[int]
    revoked_ms: Mapped[int | None]


class Line(Base):
    """A business line of a tenant. `revision` rises with every change that a lookup must see."""

    __tablename__ = "lines"
    tenant_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    name: Mapped[str] = mapped_column(String(128), primary_key=True)
    revision: Mapped[int]
    config_json: Mapped[str]
    created_ms: Mapped[int]
    updated_ms: Mapped[int]
    updated_by: Mapped[str]


class LineChange(Base):
    """What a line was and became, who changed it and when."""

    __tablename__ = "line_changes"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    tenant_id: Mapped[str] = mapped_column(String(64))
    line: Mapped[str] = mapped_column(String(128))
    at_ms: Mapped[int]
    by: Mapped[str]
    reason: Mapped[str]
    before_json: Mapped[str | None]
    after_json: Mapped[str]
    __table_args__ = (Index(None, "tenant_id", "line", "id"),)


class Entry(Base):
    """One stored answer with its request, keys, vector and life time. A row that exists and has not expired is live."""

    __tablename__ = "entries"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    exact_key: Mapped[bytes] = mapped_column(unique=True)
    tenant_id: Mapped[str] = mapped_column(String(64))
    line: Mapped[str] = mapped_column(String(128))
    scope: Mapped[str]
    policy_version: Mapped[str]
    model: Mapped[str]
    created_ms: Mapped[int]
    expires_ms: Mapped[int | None]
    response: Mapped[bytes]
    response_hash: Mapped[bytes]
    request: Mapped[bytes]
    query: Mapped[str | None]
    partition: Mapped[bytes | None]
    fingerprint: Mapped[str | None]
    context_hash: Mapped[bytes]
    vector: Mapped[bytes | None]  # float32, little endian, unit length
    change_seq: Mapped[int]  # see storage.changes: the order in which other workers learn of it
    quarantined: Mapped[bool]  # served by meaning only after somebody reviewed it
    stored_by: Mapped[str]  # id of the API key
    hits: Mapped[int]
    last_hit_ms: Mapped[int | None]
    size_bytes: Mapped[int] = mapped_column(server_default="0")  # answer, request and vector
    heat: Mapped[float] = mapped_column(server_default="0")  # how often it is wanted: storage.worth
    __table_args__ = (
        Index(None, "partition", "change_seq", "id"),
        Index(None, "tenant_id", "line", "size_bytes"),
        Index(None, "tenant_id", "line", "id"),
        # all that counting and re-embedding read: the rows themselves are kilobytes each
        Index(
            "ix_entries_by_model",
            "tenant_id",
            "line",
            "policy_version",
            "fingerprint",
            "expires_ms",
            "partition",
        ),
        Index(None, "tenant_id", "line", "scope"),
        Index(None, "tenant_id", "created_ms"),
        Index(None, "expires_ms"),
    )


class EntryTag(Base):
    """A tag of an entry, for invalidation."""

    __tablename__ = "entry_tags"
    tenant_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    tag: Mapped[str] = mapped_column(String(256), primary_key=True)
    entry_id: Mapped[int] = mapped_column(
        ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, index=True
    )


class StoreCount(Base):
    """Stores of one capped API key in one hour, by all workers together."""

    __tablename__ = "store_counts"
    key_id: Mapped[str] = mapped_column(String(32), primary_key=True)
    hour: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    count: Mapped[int]


class RemoteModel(Base):
    """What an embedding server answered to the probe texts, by model name: another answer is another generation."""

    __tablename__ = "remote_models"
    name: Mapped[str] = mapped_column(String(512), primary_key=True)
    dimensions: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    generation: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    probe: Mapped[bytes]  # float32, little endian: one unit vector per probe text
    created_ms: Mapped[int]


class ChangeCounter(Base):
    """The source of `change_seq` on SQLite, where one writer at a time makes a plain counter gapless."""

    __tablename__ = "change_counter"
    id: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    value: Mapped[int]


class Fill(Base):
    """A lookup that missed, kept so that its store (on any worker) needs neither the request nor a second embedding."""

    __tablename__ = "fills"
    lookup_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    tenant_id: Mapped[str] = mapped_column(String(64))
    scope: Mapped[str]
    exact_key: Mapped[bytes]
    fence_seen: Mapped[int]
    started_ms: Mapped[int]
    expires_ms: Mapped[int] = mapped_column(index=True)
    payload: Mapped[bytes]


class Lease(Base):
    """Who alone may fill a missed key for a while, and which worker has a duty of upkeep."""

    __tablename__ = "leases"
    exact_key: Mapped[bytes] = mapped_column(primary_key=True)
    tenant_id: Mapped[str] = mapped_column(String(64))
    lookup_id: Mapped[int]
    expires_ms: Mapped[int]


class Fence(Base):
    """An invalidation, remembered so that a fill which began before it can't bring the old answer back."""

    __tablename__ = "fences"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    tenant_id: Mapped[str] = mapped_column(String(64))
    seq: Mapped[int]  # 1, 2, 3 … per tenant
    at_ms: Mapped[int]
    exact_key: Mapped[bytes | None]
    tag: Mapped[str | None]
    scope: Mapped[str | None]
    line: Mapped[str | None]
    model: Mapped[str | None]
    stored_before_ms: Mapped[int | None]
    __table_args__ = (UniqueConstraint("tenant_id", "seq"),)


class Block(Base):
    """A pair of query and entry that somebody called not reusable. It outlives the entry."""

    __tablename__ = "blocks"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    tenant_id: Mapped[str] = mapped_column(String(64))
    line: Mapped[str] = mapped_column(String(128))
    scope: Mapped[str]
    context_hash: Mapped[bytes]
    query: Mapped[str]
    entry_query: Mapped[str]
    response_hash: Mapped[bytes]
    created_ms: Mapped[int]
    source: Mapped[str] = mapped_column(String(16))  # feedback | review
    by: Mapped[str]
    __table_args__ = (Index(None, "tenant_id", "line", "scope", "context_hash"),)


class Alias(Base):
    """A request that scored under the threshold and for which a reviewer found an entry's answer reusable."""

    __tablename__ = "aliases"
    item_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    tenant_id: Mapped[str] = mapped_column(String(64))
    exact_key: Mapped[bytes] = mapped_column(index=True)
    """Of the promoted request."""
    entry_id: Mapped[int] = mapped_column(ForeignKey("entries.id", ondelete="CASCADE"), index=True)
    response_hash: Mapped[bytes]  # of the answer that was reviewed
    created_ms: Mapped[int]
    by: Mapped[str]


class Lookup(Base):
    """One lookup that reached the semantic tier: what was found, what was decided, and under which rule."""

    __tablename__ = "lookups"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    tenant_id: Mapped[str] = mapped_column(String(64))
    line: Mapped[str] = mapped_column(String(128))
    scope: Mapped[str]
    at_ms: Mapped[int]
    outcome: Mapped[str] = mapped_column(String(16))  # hit | miss
    reason: Mapped[str | None] = mapped_column(String(32))
    query: Mapped[str]
    exact_key: Mapped[bytes]
    context_hash: Mapped[bytes]
    entry_id: Mapped[int | None]
    entry_query: Mapped[str | None]
    response_hash: Mapped[bytes | None]
    entry_age_ms: Mapped[int | None]
    score: Mapped[float | None]
    cosine: Mapped[float | None]  # of the same candidate; empty in rows of old, whose score it is
    second_score: Mapped[float | None]  # greatest cosine of any other candidate
    verified: Mapped[float | None]  # what the line's verifier said; empty where it was not asked
    guard: Mapped[str | None] = mapped_column(String(32))
    guard_detail: Mapped[str | None]
    threshold: Mapped[float | None]
    decision_id: Mapped[int | None]
    mode: Mapped[str] = mapped_column(String(16))
    policy_version: Mapped[str]
    score_version: Mapped[str]
    certify_probability: Mapped[float]
    inclusion_probability: Mapped[float]
    certify_draw: Mapped[float]
    explore_draw: Mapped[float]
    __table_args__ = (Index(None, "tenant_id", "line", "at_ms"), Index(None, "at_ms"))


class Counter(Base):
    """Outcomes per line and day. Exact and semantic hits are separate rows and are never added up."""

    __tablename__ = "counters"
    tenant_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    line: Mapped[str] = mapped_column(String(128), primary_key=True)
    day: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    tier: Mapped[str] = mapped_column(String(16), primary_key=True)  # exact | semantic | none
    outcome: Mapped[str] = mapped_column(String(16), primary_key=True)  # hit | miss | store
    reason: Mapped[str] = mapped_column(String(32), primary_key=True)
    count: Mapped[int]


class LedgerRow(Base):
    """Tokens per line, model, day and layer. What one layer answered never reached the next: none is in two rows."""

    __tablename__ = "ledger"
    tenant_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    line: Mapped[str] = mapped_column(String(128), primary_key=True)
    model: Mapped[str] = mapped_column(String(128), primary_key=True)
    day: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    layer: Mapped[str] = mapped_column(String(16), primary_key=True)  # see service.ledger.Layer
    requests: Mapped[int]
    without_usage: Mapped[int]  # of these requests; their tokens are not known
    input_tokens: Mapped[int]  # all input, cached or not
    cached_read: Mapped[int]
    cache_write_5m: Mapped[int]
    cache_write_1h: Mapped[int]
    cache_write_other: Mapped[int]
    output_tokens: Mapped[int]
    embedded_tokens: Mapped[int]  # estimated


class Feedback(Base):
    """A user's or application's own verdict: not a random sample, so never part of a curve."""

    __tablename__ = "feedback"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    tenant_id: Mapped[str] = mapped_column(String(64))
    line: Mapped[str] = mapped_column(String(128))
    scope: Mapped[str]
    lookup_id: Mapped[int]
    verdict: Mapped[str] = mapped_column(String(16))
    reason: Mapped[str | None]
    note: Mapped[str | None]
    query: Mapped[str | None]
    entry_query: Mapped[str | None]
    score: Mapped[float | None]
    at_ms: Mapped[int]
    by: Mapped[str]
    __table_args__ = (Index(None, "tenant_id", "line", "at_ms"),)


class ReviewItem(Base):
    """A candidate that reviewers judge, with everything they need to see and the probability of its being drawn."""

    __tablename__ = "review_items"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    tenant_id: Mapped[str] = mapped_column(String(64))
    line: Mapped[str] = mapped_column(String(128))
    scope: Mapped[str]
    kind: Mapped[str] = mapped_column(String(16))  # sampled | gold | imported
    created_ms: Mapped[int]
    lookup_id: Mapped[int | None]
    exact_key: Mapped[bytes | None]  # of the new request: where its fresh answer will be stored
    context_hash: Mapped[bytes | None]
    entry_id: Mapped[int | None]
    query: Mapped[str]
    entry_query: Mapped[str]
    entry_response: Mapped[bytes]
    response_hash: Mapped[bytes]
    fresh_response: Mapped[bytes | None]
    score: Mapped[float | None]
    cosine: Mapped[float | None]  # as in lookups
    guard: Mapped[str | None] = mapped_column(String(32))
    guard_detail: Mapped[str | None]
    was_served: Mapped[bool]
    threshold: Mapped[float | None]
    decision_id: Mapped[int | None]
    policy_version: Mapped[str]
    score_version: Mapped[str]
    streams: Mapped[str] = mapped_column(String(32))  # certify, explore, or both
    certify_probability: Mapped[float]
    inclusion_probability: Mapped[float]
    gold_verdict: Mapped[str | None] = mapped_column(String(16))
    state: Mapped[str] = mapped_column(String(16))  # open | second | disputed | done | withdrawn
    verdict: Mapped[str | None] = mapped_column(String(16))
    reason: Mapped[str | None] = mapped_column(String(32))
    done_ms: Mapped[int | None]
    lease_by: Mapped[str | None]
    lease_until_ms: Mapped[int]
    __table_args__ = (
        Index(None, "tenant_id", "line", "state", "id"),
        Index(None, "lookup_id"),
        Index(None, "entry_id"),
    )


class Label(Base):
    """One reviewer's verdict on one item. Never changed: a second thought is a new row that supersedes."""

    __tablename__ = "labels"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    tenant_id: Mapped[str] = mapped_column(String(64))
    item_id: Mapped[int] = mapped_column(
        ForeignKey("review_items.id", ondelete="CASCADE"), index=True
    )
    reviewer: Mapped[str]
    verdict: Mapped[str] = mapped_column(
        String(16)
    )  # reusable | not_reusable | unsure | skip | flag | lapsed (the lease went to another)
    reason: Mapped[str | None] = mapped_column(String(32))
    note: Mapped[str | None]
    adjudicates: Mapped[bool]  # the last word on a disagreement
    at_ms: Mapped[int]
    superseded_ms: Mapped[int | None]
    __table_args__ = (Index(None, "tenant_id", "reviewer", "at_ms"),)


class Decision(Base):
    """A threshold with all that it rests on. Kept for ever; applying an older one rolls back."""

    __tablename__ = "decisions"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    tenant_id: Mapped[str] = mapped_column(String(64))
    line: Mapped[str] = mapped_column(String(128))
    created_ms: Mapped[int]
    by: Mapped[str]
    threshold: Mapped[float]
    target_false_hit_rate: Mapped[float]
    confidence: Mapped[float]
    score_version: Mapped[str]
    policy_version: Mapped[str]
    evidence_json: Mapped[str]
    __table_args__ = (Index(None, "tenant_id", "line", "id"),)


class DecisionEvent(Base):
    """When a decision was put in force, rolled back, tightened by the monitor or found void, by whom and why."""

    __tablename__ = "decision_events"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    tenant_id: Mapped[str] = mapped_column(String(64))
    line: Mapped[str] = mapped_column(String(128))
    decision_id: Mapped[int | None]
    act: Mapped[str] = mapped_column(String(16))  # applied | alarm | void
    at_ms: Mapped[int]
    by: Mapped[str]
    reason: Mapped[str]
    __table_args__ = (Index(None, "tenant_id", "line", "id"),)


class TuningRun(Base):
    """One look of the tuner at a line's labels. How often a body of labels was tested makes the next test stricter."""

    __tablename__ = "tuning_runs"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    tenant_id: Mapped[str] = mapped_column(String(64))
    line: Mapped[str] = mapped_column(String(128))
    at_ms: Mapped[int]
    by: Mapped[str]
    score_version: Mapped[str]
    policy_version: Mapped[str]
    since_ms: Mapped[int]
    until_ms: Mapped[int]
    target_false_hit_rate: Mapped[float]
    confidence: Mapped[float]
    look: Mapped[int] = mapped_column(Integer)
    labels_hash: Mapped[bytes]  # the same labels again are the same look
    outcome: Mapped[str] = mapped_column(String(16))  # certified | missing | unreachable
    decision_id: Mapped[int | None]
    report_json: Mapped[str]
    __table_args__ = (Index(None, "tenant_id", "line", "id"),)


class ScorerRow(Base):
    """A learned score of a line. Never changed; a line's `score` names the version in force."""

    __tablename__ = "scorers"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    tenant_id: Mapped[str] = mapped_column(String(64))
    line: Mapped[str] = mapped_column(String(128))
    version: Mapped[str] = mapped_column(String(32))  # learned-<digits of the blob's SHA-256>
    created_ms: Mapped[int]
    by: Mapped[str]
    blob: Mapped[bytes]  # see service.score.scorer
    report_json: Mapped[str]  # what it was adopted for
    __table_args__ = (UniqueConstraint("tenant_id", "line", "version"),)


class Monitor(Base):
    """What the monitor knows of the decision in force on a line."""

    __tablename__ = "monitors"
    tenant_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    line: Mapped[str] = mapped_column(String(128), primary_key=True)
    decision_id: Mapped[int]
    state_json: Mapped[str]
    updated_ms: Mapped[int]


class AuditEvent(Base):
    """An administrative act: who did what to which thing. Never request or answer text."""

    __tablename__ = "audit_events"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    tenant_id: Mapped[str] = mapped_column(String(64), index=True)
    at_ms: Mapped[int]
    by: Mapped[str]
    act: Mapped[str]
    subject: Mapped[str]
    detail_json: Mapped[str]
