"""The tables of sales, lots and consignors."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from saleroom.accounts.storage.tables import users
from saleroom.bidding.storage.tables import auctions, photos
from saleroom.log.tables import log_table
from saleroom.sales.domain.events import ENDS
from saleroom.storage.schema import Instant, Money, Number, metadata

sales = Table(
    "sales",
    metadata,
    Column("id", Number, primary_key=True),
    Column("gid", String, nullable=False, unique=True),
    Column("owner_id", BigInteger, ForeignKey(users.c.id), nullable=False),
    Column("title", String, nullable=False),
    Column("description", Text, nullable=False),
    Column("venue", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("status", String, nullable=False),
    Column("opens_at", Instant),
    Column("starts_at", Instant),
    Column("spacing", Integer, nullable=False),
    Column("soft_close", Text),
    Column("following", Boolean, nullable=False),
    Column("increment", Text, nullable=False),
    Column("names", String, nullable=False),
    Column("registration", String, nullable=False),
    Column("limit_default", Money),
    Column("cancelled_for", Text),
    Column("created_at", Instant, nullable=False),
    Column("version", Integer, nullable=False),
    Column("position", Integer, nullable=False),
    Column("block", String),
    Index("ix_sales_status", "status", "opens_at"),
)
"""`version` and `position` count its events, which are all public; both are 0 until it is published. `block` is the gid of
the lot that was called last in a live sale, null before that."""


consignors = Table(
    "consignors",
    metadata,
    Column("id", Number, primary_key=True),
    Column("gid", String, nullable=False, unique=True),
    Column("code", String, nullable=False, unique=True),
    Column("name", String, nullable=False),
    Column("contact", Text, nullable=False),
    Column("user_id", BigInteger, ForeignKey(users.c.id)),
    Column("created_at", Instant, nullable=False),
    Index("ix_consignors_user_id", "user_id"),
)
"""Those who bring lots to sales. `user_id` is their account, if they have one: it must not bid on their lots."""


lots = Table(
    "lots",
    metadata,
    Column("id", Number, primary_key=True),
    Column("gid", String, nullable=False, unique=True),
    Column("sale_id", BigInteger, ForeignKey(sales.c.id), nullable=False),
    Column("auction_id", BigInteger, ForeignKey(auctions.c.id), unique=True),
    Column("label", String, nullable=False),
    Column("label_order", String, nullable=False),
    Column("rank", Integer, nullable=False),
    Column("consignor_id", BigInteger, ForeignKey(consignors.c.id)),
    Column("estimate_from", Money),
    Column("estimate_to", Money),
    Column("tax_scheme", String),
    Column("terms", Text),
    Column("need", Text),
    Column("stage", String),
    Column("withdrawn_for", Text),
    Column("created_at", Instant, nullable=False),
    UniqueConstraint("sale_id", "label"),
    UniqueConstraint("sale_id", "rank"),
    Index("ix_lots_sale_id_label_order", "sale_id", "label_order"),
    Index("ix_lots_consignor_id", "consignor_id"),
)
"""`gid` is that of its auction. `auction_id` is null until the sale is published; until then `terms` are JSON
(`sales/domain/lots.py`), afterwards the auction has them and `terms` is null. `label_order` sorts as labels do.
A fund-a-need keeps `terms` and has no auction: its levels are JSON in `need`, beside its `stage` (`sales/domain/needs.py`)."""


pledges = Table(
    "pledges",
    metadata,
    Column("id", Number, primary_key=True),
    Column("lot_id", BigInteger, ForeignKey(lots.c.id), nullable=False),
    Column("number", Integer, nullable=False),
    Column("user_id", BigInteger, ForeignKey(users.c.id), nullable=False),
    Column("amount", Money, nullable=False),
    Column("channel", String, nullable=False),
    Column("at", Instant, nullable=False),
    Column("undone_at", Instant),
    UniqueConstraint("lot_id", "number"),
    Index("ix_pledges_lot_id_user_id", "lot_id", "user_id"),
    Index("ix_pledges_user_id", "user_id"),
)
"""The pledges of each fund-a-need, numbered from 1. Those with an `undone_at` do not count."""


lot_photos = Table(
    "lot_photos",
    metadata,
    Column("lot_id", BigInteger, ForeignKey(lots.c.id), primary_key=True),
    Column("place", Integer, primary_key=True),
    Column("photo_id", BigInteger, ForeignKey(photos.c.id), nullable=False, unique=True),
)
"""The photos of lots without an auction, in their order. Such a photo has no `unplaced_at`, so that it is kept."""


lot_prints = Table(
    "lot_prints",
    metadata,
    Column("lot_id", BigInteger, ForeignKey(lots.c.id), primary_key=True),
    Column("digest", String, nullable=False),
    Column("printed_at", Instant, nullable=False),
)
"""What the label of a lot showed when it was last printed (`sales/domain/paper.py`)."""


book_lines = Table(
    "book_lines",
    metadata,
    Column("id", Number, primary_key=True),
    Column("auction_id", BigInteger, ForeignKey(auctions.c.id), nullable=False),
    Column("number", Integer, nullable=False),
    Column("maximum", Money, nullable=False),
    Column("clerk_id", BigInteger, ForeignKey(users.c.id), nullable=False),
    Column("entered_at", Instant, nullable=False),
    Index("ix_book_lines_auction_id", "auction_id"),
)
"""The absentee bids that staff have entered: the bid with this `number` on the lot has this maximum, or was raised to it."""


sale_events = log_table("sale_events", "sale_id", ENDS)
"""The log of sales (`log/tables.py`)."""


participants = Table(
    "participants",
    metadata,
    Column("id", Number, primary_key=True),
    Column("gid", String, nullable=False, unique=True),
    Column("sale_id", BigInteger, ForeignKey(sales.c.id), nullable=False),
    Column("user_id", BigInteger, ForeignKey(users.c.id), nullable=False),
    Column("paddle", Integer),
    Column("status", String, nullable=False),
    Column("reason", Text, nullable=False),
    Column("bid_limit", Money),
    Column("channel", String, nullable=False),
    Column("name", String, nullable=False),
    Column("contact", Text, nullable=False),
    Column("checked_in_at", Instant),
    Column("registered_at", Instant, nullable=False),
    Column("guest", Boolean, nullable=False),
    UniqueConstraint("sale_id", "user_id"),
    UniqueConstraint("sale_id", "paddle"),
    Index("ix_participants_user_id", "user_id"),
)
"""Those who bid in sales. A `guest` is somebody without an account: nobody can log in to the user."""


mergers = Table(
    "mergers",
    metadata,
    Column("id", Number, primary_key=True),
    Column("sale_id", BigInteger, ForeignKey(sales.c.id), nullable=False),
    Column("source_id", BigInteger, ForeignKey(users.c.id), nullable=False),
    Column("target_id", BigInteger, ForeignKey(users.c.id), nullable=False),
    Column("at", Instant, nullable=False),
    UniqueConstraint("sale_id", "source_id"),
    Index("ix_mergers_source_id", "source_id"),
    Index("ix_mergers_target_id", "target_id"),
)
"""Users who are the same person in a sale: what the rows of money say of `source_id` is of `target_id`, who is no source."""


after_sale = Table(
    "after_sale",
    metadata,
    Column("id", Number, primary_key=True),
    Column("lot_id", BigInteger, ForeignKey(lots.c.id), nullable=False),
    Column("new_lot_id", BigInteger, ForeignKey(lots.c.id), unique=True),
    Column("at", Instant, nullable=False),
    Column("by_id", BigInteger, ForeignKey(users.c.id), nullable=False),
    Column("undone_at", Instant),
    Index("ix_after_sale_lot_id", "lot_id"),
    Index("ix_after_sale_by_id", "by_id"),
)
"""Lots that were not sold: which lot of another sale each became, or null if it went back to its consignor. A row that is
undone stays as history; one whose new lot was withdrawn does not count."""
