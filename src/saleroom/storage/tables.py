"""The tables. `users`, `auth_tokens` and `auctions` have the specification's columns by name, type and constraint; what
the house adds stands beside them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Numeric,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    text,
)
from sqlalchemy.types import TypeEngine, UserDefinedType

from saleroom.kernel.chain import ZERO

PRECISION, SCALE = 20, 3
_SQLITE_WIDTH = PRECISION + 1


def money_text(amount: Decimal) -> str:
    """Return an amount as SQLite keeps it: all of the same length, so that text compares as money does."""
    return str(amount).zfill(_SQLITE_WIDTH)


class Money(TypeDecorator[Decimal]):
    """An exact amount: NUMERIC(20,3), or zero-padded text on SQLite, which has no decimal type (it compares as money does).

    `Numeric(20, 3)` on SQLite is stored as a binary float and loses digits; 20 digits do not fit 64 bits either.
    """

    impl = Numeric(PRECISION, SCALE)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Decimal]:
        """Return VARCHAR(21) on SQLite (text affinity), else NUMERIC(20, 3)."""
        if dialect.name == "sqlite":
            return dialect.type_descriptor(String(_SQLITE_WIDTH))  # type: ignore[arg-type]  # text stands in for decimals
        return dialect.type_descriptor(Numeric(PRECISION, SCALE))

    def process_bind_param(self, value: Decimal | None, dialect: Dialect) -> Decimal | None:
        """Write `12.500` as `00000000000000012.500` on SQLite."""
        if value is None or dialect.name != "sqlite":
            return value
        return money_text(value)  # type: ignore[return-value]  # see load_dialect_impl

    def process_result_value(self, value: Decimal | str | None, dialect: Dialect) -> Decimal | None:
        """Read the amount with its three decimals."""
        return Decimal(value) if isinstance(value, str) else value


class Instant(TypeDecorator[datetime]):
    """An aware instant in UTC with microseconds: TIMESTAMP WITH TIME ZONE, or naive UTC on SQLite."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Refuse naive instants (ValueError): nobody knows what they mean."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("an instant needs its offset from UTC")
        value = value.astimezone(UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return the instant with UTC as its zone."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class TransactionId(UserDefinedType[str]):
    """PostgreSQL's xid8: which transaction wrote a row, to tell later what an earlier reader could see."""

    cache_ok = True

    def get_col_spec(self, **_: object) -> str:
        """Return the type's name in DDL."""
        return "xid8"


class Snapshot(UserDefinedType[str]):
    """PostgreSQL's pg_snapshot: which transactions a reader could see."""

    cache_ok = True

    def get_col_spec(self, **_: object) -> str:
        """Return the type's name in DDL."""
        return "pg_snapshot"


Number = BigInteger().with_variant(Integer, "sqlite")
"""BIGINT; on SQLite INTEGER, which is 64 bits wide and numbers its own rows."""

_DUE = text("due_at IS NOT NULL")
RUNNING = text("status IN ('scheduled', 'open')")
"""Which auctions run; the index is used where this stands so."""
_UNPLACED = text("auction_id IS NULL")
_OWED = text("delivered_at IS NULL AND version IS NOT NULL")
STATE_KEPT = text("type IN ('auction.closed', 'auction.cancelled') AND cleared_at IS NULL")
"""Which events ended an auction whose state an MQTT broker may still retain; the index is used where this stands so."""

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(column_0_N_label)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

users = Table(
    "users",
    metadata,
    Column("id", Number, primary_key=True),
    Column("username", String, nullable=False, unique=True),
    Column("password_digest", String),
    Column("created_at", Instant, nullable=False),
)

auth_tokens = Table(
    "auth_tokens",
    metadata,
    Column("id", Number, primary_key=True),
    Column("user_id", BigInteger, ForeignKey("users.id"), nullable=False, index=True),
    Column("token", String, nullable=False, unique=True),
    Column("created_at", Instant, nullable=False),
    Column("expires_at", Instant, nullable=False, index=True),
    Column("agent", String),
)
"""`agent` is what people call the device that logged in, where it said what it is."""

auctions = Table(
    "auctions",
    metadata,
    Column("id", Number, primary_key=True),
    Column("name", String, nullable=False),
    Column("gid", String, nullable=False, unique=True),
    Column("author_id", BigInteger, ForeignKey("users.id"), nullable=False),
    Column("starting_price", Money, nullable=False),
    Column("current_bid", Money),
    Column("current_bidder_id", BigInteger, ForeignKey("users.id")),
    Column("current_bid_at", Instant),
    Column("created_at", Instant, nullable=False),
    Column("description", Text, nullable=False, server_default=text("''")),
    Column("reserve_price", Money),
    Column("buy_now_price", Money),
    Column("increment", Text, nullable=False),
    Column("soft_close", Text),
    Column("starts_at", Instant),
    Column("ends_at", Instant),
    Column("due_at", Instant),
    Column("status", String, nullable=False),
    Column("outcome", String),
    Column("maximum", Money),
    Column("bid_count", Integer, nullable=False),
    Column("version", Integer, nullable=False),
    Column("position", Integer, nullable=False),
    Column("price", Money, nullable=False),
    Column("ending_rank", BigInteger, nullable=False),
    Column("terms_version", Integer, nullable=False, server_default=text("1")),
    Column("seed", String, nullable=False, server_default=text("''")),
    Column("head", String, nullable=False, server_default=text(f"'{ZERO}'")),
    Column("hidden", String, nullable=False, server_default=text(f"'{ZERO}'")),
    Index("ix_auctions_ending_rank", "ending_rank", "id"),
    Index("ix_auctions_status_ending_rank", "status", "ending_rank", "id"),
    Index("ix_auctions_due_at", "due_at", sqlite_where=_DUE, postgresql_where=_DUE),
    Index("ix_auctions_author_id", "author_id", "id"),
    Index("ix_auctions_running", "author_id", sqlite_where=RUNNING, postgresql_where=RUNNING),
    Index("ix_auctions_created_at", "created_at", "id"),
)
"""`due_at` is the next instant at which the auction changes by itself; `maximum` is the leader's and never shown.
Lists sort by `price` and `ending_rank` (`bidding/storage/listing.py`); no index holds a column that each bid changes.
`seed`, `head` and `hidden` are where its ledger stands (`kernel/chain.py`)."""

texts = Table(
    "texts",
    metadata,
    Column("auction_id", Number, ForeignKey("auctions.id"), primary_key=True, autoincrement=False),
    Column("folded", Text, nullable=False),
)
"""Name and description of each auction, folded as searches compare them: see `bidding/storage/search_index.py`."""

bids = Table(
    "bids",
    metadata,
    Column("id", Number, primary_key=True),
    Column("auction_id", BigInteger, nullable=False),
    Column("number", Integer, nullable=False),
    Column("bidder_id", BigInteger, nullable=False),
    Column("amount", Money, nullable=False),
    Column("maximum", Money, nullable=False),
    Column("automatic", Boolean, nullable=False),
    Column("placed_at", Instant, nullable=False),
    Column("received_at", Instant),
    UniqueConstraint("auction_id", "number"),
    Index("ix_bids_bidder_id_auction_id", "bidder_id", "auction_id"),
)
"""The history; `number` counts an auction's bids from 1, in the order in which they were recorded. `received_at` is null for
an automatic bid.

Here and in the log there are no foreign keys: rows are written while that very auction is locked, by a bidder whose token
has just been found, nothing is ever deleted, and checking took as long as inserting (docs/decisions/0017)."""

events = Table(
    "events",
    metadata,
    Column("id", Number, primary_key=True),
    Column("auction_id", BigInteger, nullable=False),
    Column("position", Integer, nullable=False),
    Column("version", Integer),
    Column("type", String, nullable=False),
    Column("at", Instant, nullable=False),
    Column("payload", LargeBinary),
    Column("private", LargeBinary, nullable=False),
    Column("price", Money, nullable=False),
    Column("ending_rank", BigInteger, nullable=False),
    Column("written_by", BigInteger().with_variant(TransactionId(), "postgresql")),
    Column("delivered_at", Instant),
    Column("cleared_at", Instant),
    UniqueConstraint("auction_id", "position"),
    Index(
        "ix_events_owed",
        "id",
        sqlite_where=_OWED,
        postgresql_where=_OWED,
    ),
    Index("ix_events_state_kept", "delivered_at", sqlite_where=STATE_KEPT, postgresql_where=STATE_KEPT),
)
"""The log. Its order is `position`; `version` rises with it, so what is after a version is also after that position.
`payload` is the public wire form (none where `version` is null, as nobody may learn of it), `private` the
rest of the event; `price` and `ending_rank` are the auction's once it has happened, so that a list can look back.
`delivered_at` is when the MQTT broker had it, `cleared_at` when the state of the auction that it ended was taken from there."""

signing_keys = Table(
    "signing_keys",
    metadata,
    Column("kid", String, primary_key=True),
    Column("public", String, nullable=False),
    Column("private", String),
    Column("created_at", Instant, nullable=False),
)
"""What receipts are signed with, by the newest that has its `private` half here; raw Ed25519 in base64url, as JWK has it.
`kid` is the thumbprint of RFC 7638. A key whose private half is in a file has none here."""

secrets = Table(
    "secrets",
    metadata,
    Column("name", String, primary_key=True),
    Column("value", String, nullable=False),
)
"""What all processes of a house know and nobody else: `house` seals cursors and goes into the tokens of forms."""

idempotency = Table(
    "idempotency",
    metadata,
    Column("id", Number, primary_key=True),
    Column("user_id", BigInteger, ForeignKey("users.id"), nullable=False),
    Column("key", String, nullable=False),
    Column("request", LargeBinary, nullable=False),
    Column("answer", LargeBinary, nullable=False),
    Column("created_at", Instant, nullable=False, index=True),
    UniqueConstraint("user_id", "key"),
)
"""Accepted requests by their Idempotency-Key: a digest of the request, and the answer it got."""

leases = Table(
    "leases",
    metadata,
    Column("name", String, primary_key=True),
    Column("holder", String, nullable=False),
    Column("expires_at", Instant, nullable=False),
)
"""Which process does what only one may do at a time."""

heartbeats = Table(
    "heartbeats",
    metadata,
    Column("name", String, primary_key=True),
    Column("at", Instant, nullable=False),
)
"""When the house was last seen serving."""

photos = Table(
    "photos",
    metadata,
    Column("id", Number, primary_key=True),
    Column("gid", String, nullable=False, unique=True),
    Column("owner_id", BigInteger, ForeignKey("users.id"), nullable=False),
    Column("auction_id", BigInteger, ForeignKey("auctions.id")),
    Column("place", Integer),
    Column("width", Integer, nullable=False),
    Column("height", Integer, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("unplaced_at", Instant),
    UniqueConstraint("auction_id", "place"),
    Index("ix_photos_owner_id", "owner_id", sqlite_where=_UNPLACED, postgresql_where=_UNPLACED),
    Index("ix_photos_unplaced_at", "unplaced_at", sqlite_where=_UNPLACED, postgresql_where=_UNPLACED),
)
"""`place` counts a lot's photos from 1; both it and `auction_id` are null while the photo is on no lot, which is so since
`unplaced_at`. The size is that of the widest file."""

photo_files = Table(
    "photo_files",
    metadata,
    Column("photo_id", BigInteger, ForeignKey("photos.id"), primary_key=True),
    Column("width", Integer, primary_key=True),
    Column("digest", String, nullable=False),
    Column("bytes", LargeBinary, nullable=False),
)
"""What is served of a photo: WebP, in each width in which it was made (docs/decisions/0024)."""

watches = Table(
    "watches",
    metadata,
    Column("id", Number, primary_key=True),
    Column("user_id", BigInteger, ForeignKey("users.id"), nullable=False),
    Column("auction_id", BigInteger, ForeignKey("auctions.id"), nullable=False),
    Column("created_at", Instant, nullable=False),
    UniqueConstraint("user_id", "auction_id"),
    Index("ix_watches_user_id", "user_id", "id"),
)
"""Who has put a star on which lot; numbered, so that a list of them has an order of its own."""
