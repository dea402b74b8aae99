"""Alembic's entry: run inside the transaction that `saleroom.storage.migrations` was given."""

from alembic import context
from sqlalchemy.dialects.postgresql.base import ischema_names

from saleroom.storage.tables import TransactionId, metadata

# SQLAlchemy does not know this type of PostgreSQL's when it reads the tables back.
ischema_names["xid8"] = TransactionId

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    compare_type=True,
    render_as_batch=True,
)
context.run_migrations()
