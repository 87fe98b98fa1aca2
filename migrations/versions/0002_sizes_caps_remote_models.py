"""Sizes and heat of entries, stores per capped key, probes of embedding servers."""

from __future__ import annotations

import time

import sqlalchemy as sa
from alembic import op

from service.storage.worth import weight

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_BIG = sa.BigInteger().with_variant(sa.INTEGER(), "sqlite")
_SIZE = "length(response) + length(request) + coalesce(length(vector), 0)"


def upgrade() -> None:
    """Must work while the code before it still runs: it fills neither column, and upkeep counts such rows as empty."""
    op.add_column("entries", sa.Column("size_bytes", _BIG, server_default="0", nullable=False))
    op.add_column("entries", sa.Column("heat", sa.Float(), server_default="0", nullable=False))
    if op.get_bind().dialect.name == "postgresql":
        op.execute("SET LOCAL statement_timeout = 0")  # it rewrites every row
    # what was there before counts as if it had been used now
    now = weight(time.time_ns() // 1_000_000)
    op.execute(
        sa.text(f"UPDATE entries SET size_bytes = {_SIZE}, heat = (hits + 1) * :now").bindparams(  # noqa: S608 - a constant
            now=now
        )
    )
    op.create_index(
        "ix_entries_tenant_id_line_size_bytes", "entries", ["tenant_id", "line", "size_bytes"]
    )
    op.create_table(
        "store_counts",
        sa.Column("key_id", sa.String(length=32), nullable=False),
        sa.Column("hour", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("count", _BIG, nullable=False),
        sa.PrimaryKeyConstraint("key_id", "hour", name="pk_store_counts"),
    )
    op.create_table(
        "remote_models",
        sa.Column("name", sa.String(length=512), nullable=False),
        sa.Column("dimensions", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("generation", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("probe", sa.LargeBinary(), nullable=False),
        sa.Column("created_ms", _BIG, nullable=False),
        sa.PrimaryKeyConstraint("name", "dimensions", "generation", name="pk_remote_models"),
    )


def downgrade() -> None:
    """Sizes and counts can be found out again; generations of remote models cannot, and their vectors are made anew."""
    op.drop_table("remote_models")
    op.drop_table("store_counts")
    op.drop_index("ix_entries_tenant_id_line_size_bytes", "entries")
    op.drop_column("entries", "heat")
    op.drop_column("entries", "size_bytes")
