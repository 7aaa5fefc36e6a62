"""The cost of an entry in a column of its own; it stood among the details."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column, and fill it."""
    op.add_column("ledger_entries", sa.Column("cost_usd", sa.Float(53)))
    on_sqlite = op.get_bind().dialect.name == "sqlite"
    cost = "json_extract(details, '$.cost_usd')" if on_sqlite else "cast(details->>'cost_usd' as double precision)"
    op.execute(f"update ledger_entries set cost_usd = {cost} where {cost} is not null")


def downgrade() -> None:
    """Drop the column; the details of older entries still have it."""
    op.drop_column("ledger_entries", "cost_usd")
