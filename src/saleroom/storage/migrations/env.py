"""Alembic's entry: run inside the transaction that `saleroom.storage.migrations` was given."""

from alembic import context
from sqlalchemy.dialects.postgresql.base import ischema_names

from saleroom.bidding.storage.search_index import INDEX
from saleroom.storage.schema import TransactionId, metadata

# SQLAlchemy does not know this type of PostgreSQL's when it reads the tables back.
ischema_names["xid8"] = TransactionId

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    compare_type=True,
    render_as_batch=True,
    # Each database has an index of texts of its own kind, beside the tables that both have.
    include_name=lambda name, kind, _: kind != "table" or not str(name).startswith(INDEX),
)
context.run_migrations()
