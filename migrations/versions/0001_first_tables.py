"""First tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Must work while the code before it still runs."""
    op.create_table(
        "audit_events",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("at_ms", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("act", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("detail_json", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_events")),
    )
    with op.batch_alter_table("audit_events", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_audit_events_tenant_id"), ["tenant_id"], unique=False)

    op.create_table(
        "blocks",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("line", sa.String(length=128), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("context_hash", sa.LargeBinary(), nullable=False),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("entry_query", sa.Text(), nullable=False),
        sa.Column("response_hash", sa.LargeBinary(), nullable=False),
        sa.Column(
            "created_ms", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False
        ),
        sa.Column("source", sa.String(length=16), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_blocks")),
    )
    with op.batch_alter_table("blocks", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_blocks_tenant_id_line_scope_context_hash"),
            ["tenant_id", "line", "scope", "context_hash"],
            unique=False,
        )

    op.create_table(
        "change_counter",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("value", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_change_counter")),
    )
    op.create_table(
        "counters",
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("line", sa.String(length=128), nullable=False),
        sa.Column("day", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("tier", sa.String(length=16), nullable=False),
        sa.Column("outcome", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.String(length=32), nullable=False),
        sa.Column("count", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False),
        sa.PrimaryKeyConstraint(
            "tenant_id", "line", "day", "tier", "outcome", "reason", name=op.f("pk_counters")
        ),
    )
    op.create_table(
        "decision_events",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("line", sa.String(length=128), nullable=False),
        sa.Column(
            "decision_id", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=True
        ),
        sa.Column("act", sa.String(length=16), nullable=False),
        sa.Column("at_ms", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_decision_events")),
    )
    with op.batch_alter_table("decision_events", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_decision_events_tenant_id_line_id"),
            ["tenant_id", "line", "id"],
            unique=False,
        )

    op.create_table(
        "decisions",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("line", sa.String(length=128), nullable=False),
        sa.Column(
            "created_ms", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False
        ),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("threshold", sa.Float(), nullable=False),
        sa.Column("target_false_hit_rate", sa.Float(), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=False),
        sa.Column("score_version", sa.Text(), nullable=False),
        sa.Column("policy_version", sa.Text(), nullable=False),
        sa.Column("evidence_json", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_decisions")),
    )
    with op.batch_alter_table("decisions", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_decisions_tenant_id_line_id"), ["tenant_id", "line", "id"], unique=False
        )

    op.create_table(
        "entries",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("exact_key", sa.LargeBinary(), nullable=False),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("line", sa.String(length=128), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("policy_version", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column(
            "created_ms", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False
        ),
        sa.Column(
            "expires_ms", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=True
        ),
        sa.Column("response", sa.LargeBinary(), nullable=False),
        sa.Column("response_hash", sa.LargeBinary(), nullable=False),
        sa.Column("request", sa.LargeBinary(), nullable=False),
        sa.Column("query", sa.Text(), nullable=True),
        sa.Column("partition", sa.LargeBinary(), nullable=True),
        sa.Column("fingerprint", sa.Text(), nullable=True),
        sa.Column("context_hash", sa.LargeBinary(), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=True),
        sa.Column(
            "change_seq", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False
        ),
        sa.Column("quarantined", sa.Boolean(), nullable=False),
        sa.Column("stored_by", sa.Text(), nullable=False),
        sa.Column("hits", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False),
        sa.Column(
            "last_hit_ms", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=True
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_entries")),
        sa.UniqueConstraint("exact_key", name=op.f("uq_entries_exact_key")),
    )
    with op.batch_alter_table("entries", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_entries_expires_ms"), ["expires_ms"], unique=False)
        batch_op.create_index(
            batch_op.f("ix_entries_partition_change_seq_id"),
            ["partition", "change_seq", "id"],
            unique=False,
        )
        batch_op.create_index(
            batch_op.f("ix_entries_tenant_id_created_ms"), ["tenant_id", "created_ms"], unique=False
        )
        batch_op.create_index(
            batch_op.f("ix_entries_tenant_id_line_scope"),
            ["tenant_id", "line", "scope"],
            unique=False,
        )

    op.create_table(
        "feedback",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("line", sa.String(length=128), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column(
            "lookup_id", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False
        ),
        sa.Column("verdict", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("query", sa.Text(), nullable=True),
        sa.Column("entry_query", sa.Text(), nullable=True),
        sa.Column("score", sa.Float(), nullable=True),
        sa.Column("at_ms", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_feedback")),
    )
    with op.batch_alter_table("feedback", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_feedback_tenant_id_line_at_ms"),
            ["tenant_id", "line", "at_ms"],
            unique=False,
        )

    op.create_table(
        "fences",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("seq", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False),
        sa.Column("at_ms", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False),
        sa.Column("exact_key", sa.LargeBinary(), nullable=True),
        sa.Column("tag", sa.Text(), nullable=True),
        sa.Column("scope", sa.Text(), nullable=True),
        sa.Column("line", sa.Text(), nullable=True),
        sa.Column("model", sa.Text(), nullable=True),
        sa.Column(
            "stored_before_ms", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=True
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_fences")),
        sa.UniqueConstraint("tenant_id", "seq", name=op.f("uq_fences_tenant_id_seq")),
    )
    op.create_table(
        "fills",
        sa.Column(
            "lookup_id",
            sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("exact_key", sa.LargeBinary(), nullable=False),
        sa.Column(
            "fence_seen", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False
        ),
        sa.Column(
            "started_ms", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False
        ),
        sa.Column(
            "expires_ms", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False
        ),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("lookup_id", name=op.f("pk_fills")),
    )
    with op.batch_alter_table("fills", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_fills_expires_ms"), ["expires_ms"], unique=False)

    op.create_table(
        "ledger",
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("line", sa.String(length=128), nullable=False),
        sa.Column("model", sa.String(length=128), nullable=False),
        sa.Column("day", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("layer", sa.String(length=16), nullable=False),
        sa.Column("requests", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False),
        sa.Column(
            "without_usage", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False
        ),
        sa.Column(
            "input_tokens", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False
        ),
        sa.Column(
            "cached_read", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False
        ),
        sa.Column(
            "cache_write_5m", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False
        ),
        sa.Column(
            "cache_write_1h", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False
        ),
        sa.Column(
            "cache_write_other",
            sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"),
            nullable=False,
        ),
        sa.Column(
            "output_tokens", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False
        ),
        sa.Column(
            "embedded_tokens", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False
        ),
        sa.PrimaryKeyConstraint(
            "tenant_id", "line", "model", "day", "layer", name=op.f("pk_ledger")
        ),
    )
    op.create_table(
        "leases",
        sa.Column("exact_key", sa.LargeBinary(), nullable=False),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column(
            "lookup_id", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False
        ),
        sa.Column(
            "expires_ms", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False
        ),
        sa.PrimaryKeyConstraint("exact_key", name=op.f("pk_leases")),
    )
    op.create_table(
        "line_changes",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("line", sa.String(length=128), nullable=False),
        sa.Column("at_ms", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("before_json", sa.Text(), nullable=True),
        sa.Column("after_json", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_line_changes")),
    )
    with op.batch_alter_table("line_changes", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_line_changes_tenant_id_line_id"),
            ["tenant_id", "line", "id"],
            unique=False,
        )

    op.create_table(
        "lines",
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("revision", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False),
        sa.Column("config_json", sa.Text(), nullable=False),
        sa.Column(
            "created_ms", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False
        ),
        sa.Column(
            "updated_ms", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False
        ),
        sa.Column("updated_by", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "name", name=op.f("pk_lines")),
    )
    op.create_table(
        "lookups",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("line", sa.String(length=128), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("at_ms", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False),
        sa.Column("outcome", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.String(length=32), nullable=True),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("exact_key", sa.LargeBinary(), nullable=False),
        sa.Column("context_hash", sa.LargeBinary(), nullable=False),
        sa.Column("entry_id", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=True),
        sa.Column("entry_query", sa.Text(), nullable=True),
        sa.Column("response_hash", sa.LargeBinary(), nullable=True),
        sa.Column(
            "entry_age_ms", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=True
        ),
        sa.Column("score", sa.Float(), nullable=True),
        sa.Column("second_score", sa.Float(), nullable=True),
        sa.Column("guard", sa.String(length=32), nullable=True),
        sa.Column("guard_detail", sa.Text(), nullable=True),
        sa.Column("threshold", sa.Float(), nullable=True),
        sa.Column(
            "decision_id", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=True
        ),
        sa.Column("mode", sa.String(length=16), nullable=False),
        sa.Column("policy_version", sa.Text(), nullable=False),
        sa.Column("score_version", sa.Text(), nullable=False),
        sa.Column("certify_probability", sa.Float(), nullable=False),
        sa.Column("inclusion_probability", sa.Float(), nullable=False),
        sa.Column("certify_draw", sa.Float(), nullable=False),
        sa.Column("explore_draw", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_lookups")),
    )
    with op.batch_alter_table("lookups", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_lookups_at_ms"), ["at_ms"], unique=False)
        batch_op.create_index(
            batch_op.f("ix_lookups_tenant_id_line_at_ms"),
            ["tenant_id", "line", "at_ms"],
            unique=False,
        )

    op.create_table(
        "review_items",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("line", sa.String(length=128), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column(
            "created_ms", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False
        ),
        sa.Column("lookup_id", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=True),
        sa.Column("exact_key", sa.LargeBinary(), nullable=True),
        sa.Column("context_hash", sa.LargeBinary(), nullable=True),
        sa.Column("entry_id", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=True),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("entry_query", sa.Text(), nullable=False),
        sa.Column("entry_response", sa.LargeBinary(), nullable=False),
        sa.Column("response_hash", sa.LargeBinary(), nullable=False),
        sa.Column("fresh_response", sa.LargeBinary(), nullable=True),
        sa.Column("score", sa.Float(), nullable=True),
        sa.Column("guard", sa.String(length=32), nullable=True),
        sa.Column("guard_detail", sa.Text(), nullable=True),
        sa.Column("was_served", sa.Boolean(), nullable=False),
        sa.Column("threshold", sa.Float(), nullable=True),
        sa.Column(
            "decision_id", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=True
        ),
        sa.Column("policy_version", sa.Text(), nullable=False),
        sa.Column("score_version", sa.Text(), nullable=False),
        sa.Column("streams", sa.String(length=32), nullable=False),
        sa.Column("certify_probability", sa.Float(), nullable=False),
        sa.Column("inclusion_probability", sa.Float(), nullable=False),
        sa.Column("gold_verdict", sa.String(length=16), nullable=True),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("verdict", sa.String(length=16), nullable=True),
        sa.Column("reason", sa.String(length=32), nullable=True),
        sa.Column("done_ms", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=True),
        sa.Column("lease_by", sa.Text(), nullable=True),
        sa.Column(
            "lease_until_ms", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_review_items")),
    )
    with op.batch_alter_table("review_items", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_review_items_entry_id"), ["entry_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_review_items_lookup_id"), ["lookup_id"], unique=False)
        batch_op.create_index(
            batch_op.f("ix_review_items_tenant_id_line_state_id"),
            ["tenant_id", "line", "state", "id"],
            unique=False,
        )

    op.create_table(
        "monitors",
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("line", sa.String(length=128), nullable=False),
        sa.Column(
            "decision_id", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False
        ),
        sa.Column("state_json", sa.Text(), nullable=False),
        sa.Column(
            "updated_ms", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False
        ),
        sa.PrimaryKeyConstraint("tenant_id", "line", name=op.f("pk_monitors")),
    )
    op.create_table(
        "tuning_runs",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("line", sa.String(length=128), nullable=False),
        sa.Column("at_ms", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("score_version", sa.Text(), nullable=False),
        sa.Column("policy_version", sa.Text(), nullable=False),
        sa.Column("since_ms", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False),
        sa.Column("until_ms", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False),
        sa.Column("target_false_hit_rate", sa.Float(), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=False),
        sa.Column("look", sa.Integer(), nullable=False),
        sa.Column("labels_hash", sa.LargeBinary(), nullable=False),
        sa.Column("outcome", sa.String(length=16), nullable=False),
        sa.Column(
            "decision_id", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=True
        ),
        sa.Column("report_json", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tuning_runs")),
    )
    with op.batch_alter_table("tuning_runs", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_tuning_runs_tenant_id_line_id"),
            ["tenant_id", "line", "id"],
            unique=False,
        )

    op.create_table(
        "tenants",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column(
            "created_ms", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tenants")),
    )
    op.create_table(
        "api_keys",
        sa.Column("key_hash", sa.LargeBinary(), nullable=False),
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column(
            "max_stores_per_hour",
            sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"),
            nullable=True,
        ),
        sa.Column(
            "created_ms", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False
        ),
        sa.Column(
            "revoked_ms", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=True
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_api_keys_tenant_id_tenants")
        ),
        sa.PrimaryKeyConstraint("key_hash", name=op.f("pk_api_keys")),
        sa.UniqueConstraint("id", name=op.f("uq_api_keys_id")),
    )
    with op.batch_alter_table("api_keys", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_api_keys_tenant_id"), ["tenant_id"], unique=False)

    op.create_table(
        "entry_tags",
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("tag", sa.String(length=256), nullable=False),
        sa.Column("entry_id", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False),
        sa.ForeignKeyConstraint(
            ["entry_id"],
            ["entries.id"],
            name=op.f("fk_entry_tags_entry_id_entries"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "tag", "entry_id", name=op.f("pk_entry_tags")),
    )
    with op.batch_alter_table("entry_tags", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_entry_tags_entry_id"), ["entry_id"], unique=False)

    op.create_table(
        "labels",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("item_id", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False),
        sa.Column("reviewer", sa.Text(), nullable=False),
        sa.Column("verdict", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.String(length=32), nullable=True),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("adjudicates", sa.Boolean(), nullable=False),
        sa.Column("at_ms", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=False),
        sa.Column(
            "superseded_ms", sa.BigInteger().with_variant(sa.INTEGER(), "sqlite"), nullable=True
        ),
        sa.ForeignKeyConstraint(
            ["item_id"],
            ["review_items.id"],
            name=op.f("fk_labels_item_id_review_items"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_labels")),
    )
    with op.batch_alter_table("labels", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_labels_item_id"), ["item_id"], unique=False)
        batch_op.create_index(
            batch_op.f("ix_labels_tenant_id_reviewer_at_ms"),
            ["tenant_id", "reviewer", "at_ms"],
            unique=False,
        )
    op.execute("INSERT INTO change_counter (id, value) VALUES (1, 0)")


def downgrade() -> None:
    """Back to the revision before."""
    with op.batch_alter_table("labels", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_labels_tenant_id_reviewer_at_ms"))
        batch_op.drop_index(batch_op.f("ix_labels_item_id"))

    op.drop_table("labels")
    with op.batch_alter_table("entry_tags", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_entry_tags_entry_id"))

    op.drop_table("entry_tags")
    with op.batch_alter_table("api_keys", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_api_keys_tenant_id"))

    op.drop_table("api_keys")
    op.drop_table("tenants")
    with op.batch_alter_table("tuning_runs", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_tuning_runs_tenant_id_line_id"))

    op.drop_table("tuning_runs")
    op.drop_table("monitors")
    with op.batch_alter_table("review_items", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_review_items_tenant_id_line_state_id"))
        batch_op.drop_index(batch_op.f("ix_review_items_lookup_id"))
        batch_op.drop_index(batch_op.f("ix_review_items_entry_id"))

    op.drop_table("review_items")
    with op.batch_alter_table("lookups", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_lookups_tenant_id_line_at_ms"))
        batch_op.drop_index(batch_op.f("ix_lookups_at_ms"))

    op.drop_table("lookups")
    op.drop_table("lines")
    with op.batch_alter_table("line_changes", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_line_changes_tenant_id_line_id"))

    op.drop_table("line_changes")
    op.drop_table("leases")
    op.drop_table("ledger")
    with op.batch_alter_table("fills", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_fills_expires_ms"))

    op.drop_table("fills")
    op.drop_table("fences")
    with op.batch_alter_table("feedback", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_feedback_tenant_id_line_at_ms"))

    op.drop_table("feedback")
    with op.batch_alter_table("entries", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_entries_tenant_id_line_scope"))
        batch_op.drop_index(batch_op.f("ix_entries_tenant_id_created_ms"))
        batch_op.drop_index(batch_op.f("ix_entries_partition_change_seq_id"))
        batch_op.drop_index(batch_op.f("ix_entries_expires_ms"))

    op.drop_table("entries")
    with op.batch_alter_table("decisions", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_decisions_tenant_id_line_id"))

    op.drop_table("decisions")
    with op.batch_alter_table("decision_events", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_decision_events_tenant_id_line_id"))

    op.drop_table("decision_events")
    op.drop_table("counters")
    op.drop_table("change_counter")
    with op.batch_alter_table("blocks", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_blocks_tenant_id_line_scope_context_hash"))

    op.drop_table("blocks")
    with op.batch_alter_table("audit_events", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_audit_events_tenant_id"))

    op.drop_table("audit_events")
