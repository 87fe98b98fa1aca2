"""Vectors inside PostgreSQL (extension pgvector): the table beside `entries`, what fills it, and its graphs.

`entry_vectors` holds each searchable entry's vector in half precision, in rows narrow enough to be compared by the
thousand. The database itself keeps it complete: a row that a writer did not put there (a worker that searches in
memory, an older version, a restore) is made by a trigger at commit. Deleting an entry deletes its row.

There is one graph per large partition and none over all. A graph that tenants share loses the neighbours of a small
one among those of the others, and lets one tenant's entries change how long another waits. Small partitions are
compared one by one, which is exact.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import psycopg
import structlog
from psycopg import errors as pg_errors
from sqlalchemy import text

from service.errors import Unavailable
from service.storage.postgresql import connection_settings, conninfo
from service.storage.query import Query

LARGE = 2_000
"""Entries from which a partition gets a graph: comparing with all of them takes longer than a graph from there on."""

OLDEST = (0, 8)
"""The pgvector that searches on when a filter leaves too few neighbours (`hnsw.iterative_scan`)."""

M = 16
EF_CONSTRUCTION = 100
EF_SEARCH = 100

_LOCK_ID = 7_305_411_928_002
_BATCH = 5_000
_FILLED = "complete 1"
"""Comment of the table once every entry has its row; another number when table, function or trigger change."""

log = structlog.get_logger("surehit.pgvector")

_TABLE = """
CREATE TABLE IF NOT EXISTS entry_vectors (
    entry_id bigint PRIMARY KEY REFERENCES entries (id) ON DELETE CASCADE,
    tenant_id varchar(64) NOT NULL,
    partition bytea NOT NULL,
    expires_ms bigint,
    change_seq bigint NOT NULL,
    embedding halfvec NOT NULL
)"""

# Bytes of a float32 vector, little endian, as halfvec. Some milliseconds for 384 numbers: the way of last resort.
_DECODE = """
CREATE OR REPLACE FUNCTION surehit_halfvec(v bytea) RETURNS halfvec
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
SELECT array_agg(
    CASE WHEN bits & 2139095040 = 0 THEN 0::real
    ELSE ((CASE WHEN bits >= 2147483648 THEN -1 ELSE 1 END)
        * power(2::float8, ((bits >> 23) & 255)::int - 150) * ((bits & 8388607) | 8388608))::real
    END ORDER BY i)::halfvec
FROM generate_series(0, length(v) / 4 - 1) AS i,
LATERAL (SELECT get_byte(v, 4 * i)::bigint | (get_byte(v, 4 * i + 1)::bigint << 8)
    | (get_byte(v, 4 * i + 2)::bigint << 16) | (get_byte(v, 4 * i + 3)::bigint << 24) AS bits) AS b
$$"""

_KEEP = """
CREATE OR REPLACE FUNCTION surehit_keep_vector() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.vector IS NULL OR NEW.partition IS NULL THEN
        DELETE FROM entry_vectors WHERE entry_id = NEW.id;
    ELSIF NOT EXISTS (
        SELECT 1 FROM entry_vectors WHERE entry_id = NEW.id AND change_seq = NEW.change_seq
            AND partition = NEW.partition AND expires_ms IS NOT DISTINCT FROM NEW.expires_ms
    ) THEN
        INSERT INTO entry_vectors (entry_id, tenant_id, partition, expires_ms, change_seq, embedding)
        SELECT NEW.id, NEW.tenant_id, NEW.partition, NEW.expires_ms, NEW.change_seq, surehit_halfvec(NEW.vector)
        WHERE EXISTS (SELECT 1 FROM entries WHERE id = NEW.id)
        ON CONFLICT (entry_id) DO UPDATE SET partition = excluded.partition, expires_ms = excluded.expires_ms,
            change_seq = excluded.change_seq, embedding = excluded.embedding;
    END IF;
    RETURN NULL;
END $$"""

# At commit, so that a writer who puts the row itself has done so by then.
_TRIGGER = """
CREATE CONSTRAINT TRIGGER surehit_keep_vector
AFTER INSERT OR UPDATE OF vector, partition, expires_ms, change_seq ON entries
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION surehit_keep_vector()"""

_READ = """
SELECT id, change_seq, vector FROM entries
WHERE id > %(after)s AND vector IS NOT NULL AND partition IS NOT NULL ORDER BY id LIMIT %(batch)s"""

_COPIED = "CREATE TEMPORARY TABLE copied (id bigint, seq bigint, embedding halfvec) ON COMMIT DROP"

# Of what has not changed since it was read: what has, was put there by the trigger.
_FILL = """
INSERT INTO entry_vectors (entry_id, tenant_id, partition, expires_ms, change_seq, embedding)
SELECT e.id, e.tenant_id, e.partition, e.expires_ms, e.change_seq, c.embedding
FROM copied c JOIN entries e ON e.id = c.id AND e.change_seq = c.seq
ON CONFLICT DO NOTHING"""

GRAPHS = Query(
    "graphs",
    text(
        "SELECT c.relname::text, i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
        "WHERE i.indrelid = 'entry_vectors'::regclass AND starts_with(c.relname, 'ix_entry_vectors_graph_')"
    ),
)
"""(name, whether it can be used) of all graphs."""

_LARGE = """
SELECT v.partition, count(*), (SELECT vector_dims(embedding) FROM entry_vectors o
    WHERE o.partition = v.partition LIMIT 1)
FROM entry_vectors v GROUP BY v.partition HAVING count(*) >= %(small)s"""


def prepare(url: str, *, tell: Callable[[str], None] = lambda text: None) -> None:
    """Make the database ready for `search = "pgvector"`: extension, table, trigger, and a row for every entry.

    Safe for two starters at once, and quick when all is there. On a database that holds entries the first call takes
    about a minute for 300,000 of them, graphs included. Raises Unavailable, saying what is missing.
    """
    try:
        with _session(url) as connection:
            # First without locks: a start must wait neither for a graph that is being built nor hold up searches.
            if _is_ready(connection):
                return
            connection.execute("SELECT pg_advisory_lock(%s)", (_LOCK_ID,))
            if _is_ready(connection):
                return
            _extension(connection)
            _schema(connection)
            _fill(connection, tell)
            connection.execute("ANALYZE entry_vectors")
            _index(connection, tell)
            connection.execute(f"COMMENT ON TABLE entry_vectors IS '{_FILLED}'")
    except psycopg.Error as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise Unavailable(f"search = pgvector: {reason}") from error


def index_large_partitions(
    url: str, *, large: int = LARGE, tell: Callable[[str], None] = lambda text: None
) -> int:
    """Give large partitions their graph and take it from those that have shrunk to half; how many were changed.

    Stores and searches go on meanwhile. Returns 0 at once when another worker is at it.
    """
    try:
        with _session(url) as connection:
            row = connection.execute("SELECT pg_try_advisory_lock(%s)", (_LOCK_ID,)).fetchone()
            # the lock of `prepare` as well: the first graphs are its own
            return _index(connection, tell, large=large) if row and row[0] else 0
    except psycopg.Error as error:
        raise Unavailable(f"indexing vectors: {str(error).splitlines()[0]}") from error


def _session(url: str) -> psycopg.Connection[Any]:
    """A session whose statements may take long; what it locks is free when it ends."""
    info = conninfo(url)
    settings = connection_settings(
        info,
        statement_s=86_400,
        maintenance_work_mem="512MB",
        # each would take its share of shared memory, of which containers have little
        max_parallel_maintenance_workers="0",
    )
    return psycopg.connect(info, autocommit=True, connect_timeout=5, **settings)


def _extension(connection: psycopg.Connection[Any]) -> None:
    try:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except (pg_errors.FeatureNotSupported, pg_errors.UndefinedFile) as error:
        raise Unavailable(
            "SUREHIT_SEARCH: pgvector needs the extension `vector` on the database server; install pgvector "
            f"{'.'.join(map(str, OLDEST))} or later there, or set SUREHIT_SEARCH=local"
        ) from error
    except pg_errors.InsufficientPrivilege as error:
        raise Unavailable(
            "SUREHIT_SEARCH: this database user may not create the extension `vector`; let an administrator run "
            "CREATE EXTENSION vector in this database"
        ) from error
    _check_version(connection)


def _check_version(connection: psycopg.Connection[Any]) -> None:
    row = connection.execute(
        "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
    ).fetchone()
    found = str(row[0]) if row else "none"
    if row is None or tuple(int(n) for n in found.split(".")[:2]) < OLDEST:
        raise Unavailable(
            f"SUREHIT_SEARCH: pgvector is {found} in this database, {'.'.join(map(str, OLDEST))} or later is needed "
            "(ALTER EXTENSION vector UPDATE)"
        )


def _schema(connection: psycopg.Connection[Any]) -> None:
    with connection.transaction():
        connection.execute(_TABLE)
        # whole rows: a vector beside its row costs one more read for each comparison
        connection.execute("ALTER TABLE entry_vectors ALTER COLUMN embedding SET STORAGE PLAIN")
        connection.execute(
            "CREATE INDEX IF NOT EXISTS ix_entry_vectors_partition ON entry_vectors (partition)"
        )
        connection.execute(_DECODE)
        connection.execute(_KEEP)
        row = connection.execute(
            "SELECT 1 FROM pg_trigger WHERE tgname = 'surehit_keep_vector' "
            "AND tgrelid = 'entries'::regclass"
        ).fetchone()
        if row is None:
            connection.execute(_TRIGGER)


def _is_ready(connection: psycopg.Connection[Any]) -> bool:
    """True when an earlier `prepare` has come to its end, by what it wrote beside the table."""
    row = connection.execute(
        "SELECT obj_description(to_regclass('entry_vectors'), 'pg_class')"
    ).fetchone()
    if row is None or row[0] != _FILLED:
        return False
    _check_version(connection)
    return True


def _fill(connection: psycopg.Connection[Any], tell: Callable[[str], None]) -> None:
    after, done = -1, 0
    while True:
        rows = connection.execute(_READ, {"after": after, "batch": _BATCH}).fetchall()
        if not rows:
            return
        try:
            with connection.transaction():
                _copy(connection, rows)
        except pg_errors.ForeignKeyViolation:
            continue  # one was deleted under our hands: read the rest again
        after, done = rows[-1][0], done + len(rows)
        if done % (10 * _BATCH) == 0:
            tell(f"{done} vectors copied")


def _copy(connection: psycopg.Connection[Any], rows: list[Any]) -> None:
    connection.execute(_COPIED)
    with connection.cursor().copy("COPY copied FROM STDIN (FORMAT BINARY)") as copy:
        copy.set_types(["int8", "int8", "bytea"])
        for entry_id, seq, vector in rows:
            copy.write_row((entry_id, seq, _as_binary(vector)))
    connection.execute(_FILL)


def _as_binary(vector: bytes) -> bytes:
    """A float32 vector as pgvector sends a halfvec: dimensions, two unused bytes, halves; all big endian."""
    halves = np.frombuffer(vector, dtype="<f4").astype(">f2")
    return struct.pack(">HH", len(halves), 0) + halves.tobytes()


def _index(
    connection: psycopg.Connection[Any], tell: Callable[[str], None], *, large: int = LARGE
) -> int:
    graphs = {row[0]: row[1] for row in connection.execute(GRAPHS.postgresql.encode()).fetchall()}
    changed = 0
    sizes = connection.execute(_LARGE, {"small": max(1, large // 2)}).fetchall()
    keep = {graph_name(row[0]) for row in sizes}
    for name, is_valid in graphs.items():
        if name not in keep or not is_valid:  # not valid: its builder died
            connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
            changed += 1
    for partition, count, dimensions in sizes:
        name = graph_name(partition)
        if count < large or graphs.get(name):
            continue
        tell(f"graph of {count} vectors")
        connection.execute(
            f"CREATE INDEX CONCURRENTLY {name} ON entry_vectors USING hnsw "
            f"((embedding::halfvec({dimensions})) halfvec_ip_ops) "
            f"WITH (m = {M}, ef_construction = {EF_CONSTRUCTION}) "
            f"WHERE partition = '\\x{bytes(partition).hex()}'"
        )
        changed += 1
    return changed


def graph_name(partition: bytes) -> str:
    """The name of the index that is a partition's graph."""
    return f"ix_entry_vectors_graph_{hashlib.sha256(bytes(partition)).hexdigest()[:24]}"
