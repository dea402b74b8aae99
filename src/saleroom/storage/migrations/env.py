"""Alembic's entry: run inside the transaction that `saleroom.storage.migrations` was given."""

from alembic import context

from saleroom.storage.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    compare_type=True,
    render_as_batch=True,
)
context.run_migrations()
