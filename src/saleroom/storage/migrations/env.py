"""Alembic's entry: run inside the transaction that `saleroom.storage.migrations` was given."""

from alembic import context
from sqlalchemy.dialects.postgresql.base import ischema_names

from saleroom.storage.schema import TransactionId, metadata

# SQLAlchemy does not know this type of PostgreSQL's when it reads the tables back.
ischema_names["xid8"] = TransactionId

house = context.config.attributes.get("house")
context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    compare_type=True,
    render_as_batch=True,
    # An area's own index differs between the databases, and is not among the tables that both have.
    include_name=lambda name, kind, _: kind != "table" or house is None or not house.is_index(str(name)),
)
context.run_migrations()
