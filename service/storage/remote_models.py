"""What embedding servers answered to the probe texts: one generation per model that was ever behind a name."""

from __future__ import annotations

from sqlalchemy import bindparam, insert, select

from service.storage.database import Database, Row, Transaction
from service.storage.models import RemoteModel
from service.storage.query import Query

_KNOWN = Query(
    "remote_model_generations",
    select(RemoteModel.generation, RemoteModel.probe)
    .where(
        RemoteModel.name == bindparam("of_name"),
        RemoteModel.dimensions == bindparam("of_dimensions"),
    )
    .order_by(RemoteModel.generation),
    reads_few=True,
)
_ADD = Query(
    "add_remote_model",
    insert(RemoteModel).values({c.name: bindparam(c.name) for c in RemoteModel.__table__.columns}),
)


async def generations(db: Database, *, name: str, dimensions: int) -> list[Row]:
    """(generation, probe vectors) of a model's name, oldest first."""
    return await db.read(_KNOWN, {"of_name": name, "of_dimensions": dimensions})


def add(
    tx: Transaction, *, name: str, dimensions: int, generation: int, probe: bytes, now: int
) -> None:
    """Remember a new model behind a name; raises DuplicateKey when another worker did so first."""
    tx.run(
        _ADD,
        {
            "name": name,
            "dimensions": dimensions,
            "generation": generation,
            "probe": probe,
            "created_ms": now,
        },
    )
