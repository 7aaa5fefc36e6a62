"""Alembic's entry: runs migrations over the connection that `backend.storage.ledger.database` gives it."""

from alembic import context

from backend.storage.ledger.entries import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
with context.begin_transaction():
    context.run_migrations()
