"""Indexes under what upkeep, figures and the list of entries read: rows by model, and newest first."""

from __future__ import annotations

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_BY_MODEL = "ix_entries_by_model"
_BY_AGE = "ix_entries_tenant_id_line_id"


def upgrade() -> None:
    """Must work while the code before it still runs: that code only finds its rows faster."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute("SET LOCAL statement_timeout = 0")  # it reads every row
    op.create_index(
        _BY_MODEL,
        "entries",
        ["tenant_id", "line", "policy_version", "fingerprint", "expires_ms", "partition"],
    )
    op.create_index(_BY_AGE, "entries", ["tenant_id", "line", "id"])


def downgrade() -> None:
    """The code before it reads whole tables instead."""
    op.drop_index(_BY_AGE, "entries")
    op.drop_index(_BY_MODEL, "entries")
