"""Migration 1 creates the table of entries."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table and its indexes."""
    op.create_table(
        "ledger_entries",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
        sa.Column("entry_id", sa.String(128), nullable=False),
        sa.Column("user_id", sa.String(128), nullable=False),
        sa.Column("conversation_id", sa.String(128), nullable=False),
        sa.Column("session_id", sa.String(128), nullable=False, server_default=""),
        sa.Column("at", sa.Float(53), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("role", sa.String(16), nullable=False, server_default=""),
        sa.Column("mode", sa.String(8), nullable=False, server_default=""),
        sa.Column("platform", sa.String(32), nullable=False, server_default=""),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("name", sa.String(128), nullable=False, server_default=""),
        sa.Column("call_id", sa.String(128), nullable=False, server_default=""),
        sa.Column("model", sa.String(128), nullable=False, server_default=""),
        sa.Column("tokens", sa.Integer),
        sa.Column("took_ms", sa.Integer),
        sa.Column("cost_usd", sa.Float(53)),
        sa.Column("details", sa.JSON, nullable=False),
        sa.UniqueConstraint("user_id", "conversation_id", "entry_id", name="ledger_entries_once"),
    )
    op.create_index("ledger_entries_of_user", "ledger_entries", ["user_id", "at"])
    op.create_index("ledger_entries_at", "ledger_entries", ["at"])


def downgrade() -> None:
    """Drop the table with all its rows."""
    op.drop_table("ledger_entries")
