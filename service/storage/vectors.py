"""Vectors on their way to where PostgreSQL searches them; see `storage.pgvector` for the table."""

from __future__ import annotations

import struct

import numpy as np
import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format

from service.storage.database import Transaction

_PUT = """
INSERT INTO entry_vectors (entry_id, tenant_id, partition, expires_ms, change_seq, embedding)
VALUES (%(entry_id)s, %(tenant)s, %(partition)s, %(expires_ms)s, %(change_seq)s, %(embedding)s::halfvec)
ON CONFLICT (entry_id) DO UPDATE SET partition = excluded.partition, expires_ms = excluded.expires_ms,
    change_seq = excluded.change_seq, embedding = excluded.embedding"""


class Reals(bytes):
    """A float32 vector, little endian, as a parameter: PostgreSQL reads it as `real[]`, which casts to `halfvec`."""

    __slots__ = ()


class _RealsDumper(Dumper):
    """The binary form of an array (`array_recv`): dimensions, no NULLs, type of the elements; size, lower bound 1.

    Then each element behind its length. Text of 384 numbers takes a tenth of a millisecond to write, and again to read.
    """

    format = Format.BINARY
    oid = psycopg.adapters.types["float4"].array_oid

    def dump(self, obj: Reals) -> bytes:
        """See `Dumper.dump`."""
        numbers = np.frombuffer(obj, dtype="<f4")
        elements = np.empty(len(numbers), dtype=[("length", ">i4"), ("value", ">f4")])
        elements["length"], elements["value"] = 4, numbers
        head = struct.pack(">5i", 1, 0, psycopg.adapters.types["float4"].oid, len(numbers), 1)
        return head + elements.tobytes()


psycopg.adapters.register_dumper(Reals, _RealsDumper)


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
            "embedding": Reals(vector),
        },
    )
