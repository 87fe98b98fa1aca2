"""Learned scores, and the cosine beside every score."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_BIG = sa.BigInteger().with_variant(sa.INTEGER(), "sqlite")


def upgrade() -> None:
    """Must work while the code before it still runs: it leaves the new columns empty, and its scores are cosines."""
    op.add_column("lookups", sa.Column("cosine", sa.Float(), nullable=True))
    op.add_column("review_items", sa.Column("cosine", sa.Float(), nullable=True))
    op.create_table(
        "scorers",
        sa.Column("id", _BIG, autoincrement=False, nullable=False),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("line", sa.String(length=128), nullable=False),
        sa.Column("version", sa.String(length=32), nullable=False),
        sa.Column("created_ms", _BIG, nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("blob", sa.LargeBinary(), nullable=False),
        sa.Column("report_json", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_scorers")),
        sa.UniqueConstraint(
            "tenant_id", "line", "version", name=op.f("uq_scorers_tenant_id_line_version")
        ),
    )


def downgrade() -> None:
    """Lines with a learned score must be put back to the cosine first: the code before this knows no other."""
    op.drop_table("scorers")
    op.drop_column("review_items", "cosine")
    op.drop_column("lookups", "cosine")
