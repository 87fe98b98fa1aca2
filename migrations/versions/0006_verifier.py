"""What a line's verifier said of a lookup's winner."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Must work while the code before it still runs: it leaves the new column empty."""
    op.add_column("lookups", sa.Column("verified", sa.Float(), nullable=True))


def downgrade() -> None:
    """Lines with a verifier must be put back first: the code before this does not know the setting."""
    op.drop_column("lookups", "verified")
