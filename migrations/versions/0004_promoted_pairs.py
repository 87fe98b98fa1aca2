"""Near misses that reviewers found reusable, promoted to exact aliases of their entries."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_BIG = sa.BigInteger().with_variant(sa.INTEGER(), "sqlite")


def upgrade() -> None:
    """Must work while the code before it still runs: that code knows no aliases and serves none."""
    op.create_table(
        "aliases",
        sa.Column("item_id", _BIG, autoincrement=False, nullable=False),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("exact_key", sa.LargeBinary(), nullable=False),
        sa.Column("entry_id", _BIG, nullable=False),
        sa.Column("response_hash", sa.LargeBinary(), nullable=False),
        sa.Column("created_ms", _BIG, nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("item_id", name=op.f("pk_aliases")),
        sa.ForeignKeyConstraint(
            ["entry_id"],
            ["entries.id"],
            name=op.f("fk_aliases_entry_id_entries"),
            ondelete="CASCADE",
        ),
    )
    op.create_index(op.f("ix_aliases_exact_key"), "aliases", ["exact_key"])
    op.create_index(op.f("ix_aliases_entry_id"), "aliases", ["entry_id"])


def downgrade() -> None:
    """The code before it serves such requests by the threshold alone."""
    op.drop_table("aliases")
