"""Writing vectors where PostgreSQL searches them; see `storage.pgvector` for the table."""

from __future__ import annotations

import numpy as np

from service.storage.database import Transaction

_PUT = """
INSERT INTO entry_vectors (entry_id, tenant_id, partition, expires_ms, change_seq, embedding)
VALUES (%(entry_id)s, %(tenant)s, %(partition)s, %(expires_ms)s, %(change_seq)s, %(embedding)s::halfvec)
ON CONFLICT (entry_id) DO UPDATE SET partition = excluded.partition, expires_ms = excluded.expires_ms,
    change_seq = excluded.change_seq, embedding = excluded.embedding"""


def as_text(vector: bytes) -> str:
    """A float32 vector as pgvector reads it."""
    return "[" + ",".join(map("{:.6g}".format, np.frombuffer(vector, dtype="<f4").tolist())) + "]"


def put(
    tx: Transaction,
    tenant: str,
    *,
    entry_id: int,
    partition: bytes,
    expires_ms: int | None,
    change_seq: int,
    vector: bytes,
) -> None:
    """The row of an entry that was just written; it spares the trigger its slow way."""
    tx.text(
        _PUT,
        {
            "entry_id": entry_id,
            "tenant": tenant,
            "partition": partition,
            "expires_ms": expires_ms,
            "change_seq": change_seq,
            "embedding": as_text(vector),
        },
    )
