"""Alembic's entry: runs migrations over the connection that `backend.ledger.database` gives it."""

from __future__ import annotations

from alembic import context

from backend.ledger.entries import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
with context.begin_transaction():
    context.run_migrations()
