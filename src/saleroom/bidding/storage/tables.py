"""The tables of auctions, bids and photos; auctions has the specification's columns by name, type and constraint."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    UniqueConstraint,
    or_,
    text,
)

from saleroom.accounts.storage.tables import users
from saleroom.bidding.domain.block_events import BidderNamed
from saleroom.bidding.domain.events import AuctionCancelled, AuctionClosed
from saleroom.kernel.chain import ZERO
from saleroom.log.tables import log_table
from saleroom.storage.schema import Instant, Money, Number, metadata

_DUE = text("due_at IS NOT NULL")


RUNNING = text("status IN ('scheduled', 'open')")
"""Which auctions run; a statement with exactly these words uses the index."""


_UNPLACED = text("auction_id IS NULL")


_CATEGORIZED = text("category IS NOT NULL")


_IN_SALE = text("sale_id IS NOT NULL")


auctions = Table(
    "auctions",
    metadata,
    Column("id", Number, primary_key=True),
    Column("name", String, nullable=False),
    Column("gid", String, nullable=False, unique=True),
    Column("author_id", BigInteger, ForeignKey(users.c.id), nullable=False),
    Column("starting_price", Money, nullable=False),
    Column("current_bid", Money),
    Column("current_bidder_id", BigInteger, ForeignKey(users.c.id)),
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
    Column("category", String),
    Column("taken_down", Text),
    Column("cancelled_for", Text),
    Column("renamed", Integer, nullable=False, server_default=text("0")),
    Column("withheld", Text),
    Column("sale_id", BigInteger),
    Column("paused_at", Instant),
    Column("block", Text),
    Index("ix_auctions_ending_rank", "ending_rank", "id"),
    Index("ix_auctions_status_ending_rank", "status", "ending_rank", "id"),
    Index("ix_auctions_due_at", "due_at", sqlite_where=_DUE, postgresql_where=_DUE),
    Index("ix_auctions_author_id", "author_id", "id"),
    Index("ix_auctions_running", "author_id", sqlite_where=RUNNING, postgresql_where=RUNNING),
    Index("ix_auctions_created_at", "created_at", "id"),
    Index(
        "ix_auctions_category_ending_rank",
        "category",
        "ending_rank",
        "id",
        sqlite_where=_CATEGORIZED,
        postgresql_where=_CATEGORIZED,
    ),
    Index("ix_auctions_category", "category", "id", sqlite_where=_CATEGORIZED, postgresql_where=_CATEGORIZED),
    Index("ix_auctions_sale_id", "sale_id", "id", sqlite_where=_IN_SALE, postgresql_where=_IN_SALE),
)
"""`due_at` is the next instant at which the auction changes by itself; `maximum` is the leader's and never shown.
Lists sort by `price` and `ending_rank` (`bidding/storage/listing.py`); no index holds a column that each bid changes.
`seed`, `head` and `hidden` are the end of its ledger (`kernel/chain.py`). `taken_down` and `cancelled_for` are the reasons
for which staff hide the auction or have cancelled it, null otherwise; `withheld` that for which they hide it once it is over,
which is beside its ledger (decision 64). `renamed` counts how often somebody whom it names was erased, and how often it was
hidden or shown once it was over: no event says so, and what processes remember of it must go. `sale_id` is the sale that the
lot belongs to, as a number; null for none. It is there from the start, never changes, and is in no event. `paused_at` is
when its clock stopped, null while it goes. `block` is JSON (`bidding/domain/block.py`) while the auctioneer of a live sale
sells the lot, null otherwise: no bid writes it."""


HIDDEN = or_(auctions.c.taken_down.is_not(None), auctions.c.withheld.is_not(None))
"""Which auctions staff hide."""


texts = Table(
    "texts",
    metadata,
    Column("auction_id", Number, ForeignKey(auctions.c.id), primary_key=True, autoincrement=False),
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
    Column("voided", Text),
    UniqueConstraint("auction_id", "number"),
    Index("ix_bids_bidder_id_auction_id", "bidder_id", "auction_id"),
)
"""The history; `number` counts an auction's bids from 1, in the order in which they were recorded. `received_at` is null for
an automatic bid. `voided` is the reason for which staff voided the bid, or the mark of one that was undone or retracted
(`bidding/domain/voiding.py`), null if it stands: no bid writes it.

Here and in the log there are no foreign keys: rows are written while that very auction is locked, by a bidder whose token
has just been found, nothing is ever deleted, and checking took as long as inserting (docs/decisions/0017)."""


bidder_names = Table(
    "bidder_names",
    metadata,
    Column("sale_id", BigInteger, primary_key=True, autoincrement=False),
    Column("user_id", BigInteger, ForeignKey(users.c.id), primary_key=True, autoincrement=False),
    Column("name", String, nullable=False),
    UniqueConstraint("sale_id", "name"),
)
"""The names by which users bid on the lots of a sale, where these are not their usernames."""


ENDS = (AuctionClosed.TYPE, AuctionCancelled.TYPE)
"""The types of events that end an auction."""

events = log_table(
    "events",
    "auction_id",
    ENDS,
    Column("price", Money, nullable=False),
    Column("ending_rank", BigInteger, nullable=False),
)
"""The log of auctions (`log/tables.py`); `price` and `ending_rank` are the auction's after the event, so that a list can
look back."""
NAMED = text(f"type = '{BidderNamed.TYPE}'")
"""The condition of events by which a clerk has named the bidder of a bid of the floor; the index needs exactly these words."""
Index("ix_events_named", events.c.private, sqlite_where=NAMED, postgresql_where=NAMED)


archived = Table(
    "archived",
    metadata,
    Column("auction_id", BigInteger, ForeignKey(auctions.c.id), primary_key=True, autoincrement=False),
    Column("events", Integer, nullable=False),
    Column("digest", String, nullable=False),
    Column("archived_at", Instant, nullable=False),
)
"""The lots whose first events are in files (`bidding/storage/archive.py`). The files hold `events` of them; the last one stays
in its table, too. `digest` is the SHA-256 of the file that is not the ledger."""


signing_keys = Table(
    "signing_keys",
    metadata,
    Column("kid", String, primary_key=True),
    Column("public", String, nullable=False),
    Column("private", String),
    Column("created_at", Instant, nullable=False),
)
"""The keys of receipts; the newest with its `private` half here signs. Raw Ed25519 in base64url, as in a JWK.
`kid` is the thumbprint of RFC 7638. A key whose private half is in a file has none here."""


photos = Table(
    "photos",
    metadata,
    Column("id", Number, primary_key=True),
    Column("gid", String, nullable=False, unique=True),
    Column("owner_id", BigInteger, ForeignKey(users.c.id), nullable=False),
    Column("auction_id", BigInteger, ForeignKey(auctions.c.id)),
    Column("place", Integer),
    Column("width", Integer, nullable=False),
    Column("height", Integer, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("unplaced_at", Instant),
    Column("source_id", BigInteger),
    Column("sent_digest", String),
    UniqueConstraint("auction_id", "place"),
    Index("ix_photos_owner_id", "owner_id", sqlite_where=_UNPLACED, postgresql_where=_UNPLACED),
    Index("ix_photos_unplaced_at", "unplaced_at", sqlite_where=_UNPLACED, postgresql_where=_UNPLACED),
)
"""`place` counts a lot's photos from 1; both it and `auction_id` are null while the photo is on no lot, since
`unplaced_at`; that is null too while a lot without an auction has it (`sales/storage/tables.py`). The size is that of the
widest file. `source_id` is the photo whose files a copy shows, null for a photo with files of its own. It is on a lot that is
over, which keeps it for good: so copies need no foreign key. `sent_digest` is the SHA-256 of the file that a photo came as in
an import, which thereby knows what has come before."""


photo_files = Table(
    "photo_files",
    metadata,
    Column("photo_id", BigInteger, ForeignKey(photos.c.id), primary_key=True),
    Column("width", Integer, primary_key=True),
    Column("digest", String, nullable=False),
    Column("bytes", LargeBinary, nullable=False),
)
"""The files of a photo and of its copies: WebP, in each width that was made (docs/decisions/0024)."""


watches = Table(
    "watches",
    metadata,
    Column("id", Number, primary_key=True),
    Column("user_id", BigInteger, ForeignKey(users.c.id), nullable=False),
    Column("auction_id", BigInteger, ForeignKey(auctions.c.id), nullable=False),
    Column("created_at", Instant, nullable=False),
    UniqueConstraint("user_id", "auction_id"),
    Index("ix_watches_user_id", "user_id", "id"),
    Index("ix_watches_auction_id", "auction_id"),
)
"""The lots that each user watches; numbered, so that a list of them has its own order."""


calendar_links = Table(
    "calendar_links",
    metadata,
    Column("user_id", BigInteger, ForeignKey(users.c.id), primary_key=True, autoincrement=False),
    Column("token", String, nullable=False, unique=True),
    Column("created_at", Instant, nullable=False),
)
"""The private links to the calendars of watch lists. `token` is a digest, as that of a login."""


drafts = Table(
    "drafts",
    metadata,
    Column("id", Number, primary_key=True),
    Column("gid", String, nullable=False),
    Column("owner_id", BigInteger, ForeignKey(users.c.id), nullable=False),
    Column("content", Text, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("saved_at", Instant, nullable=False),
    UniqueConstraint("owner_id", "gid"),
    Index("ix_drafts_saved_at", "saved_at"),
)
"""Forms of lots as their sellers left them: `content` is JSON (`domain/drafts.py`), without the photos."""


draft_photos = Table(
    "draft_photos",
    metadata,
    Column("draft_id", BigInteger, ForeignKey(drafts.c.id), primary_key=True),
    Column("place", Integer, primary_key=True),
    Column("photo_id", BigInteger, ForeignKey(photos.c.id), nullable=False),
    Index("ix_draft_photos_photo_id", "photo_id"),
)
"""The photos of drafts in their order. They are kept as long as the draft."""


remarks = Table(
    "remarks",
    metadata,
    Column("id", Number, primary_key=True),
    Column("auction_id", BigInteger, ForeignKey(auctions.c.id), nullable=False),
    Column("number", Integer, nullable=False),
    Column("text", Text, nullable=False),
    Column("written_at", Instant, nullable=False),
    UniqueConstraint("auction_id", "number"),
)
"""Sellers' remarks on their lots. They are no events: every program that verifies a ledger knows only the events of its time,
and a remark decides no bid."""


questions = Table(
    "questions",
    metadata,
    Column("id", Number, primary_key=True),
    Column("auction_id", BigInteger, ForeignKey(auctions.c.id), nullable=False),
    Column("asker_id", BigInteger, ForeignKey(users.c.id), nullable=False),
    Column("text", Text, nullable=False),
    Column("asked_at", Instant, nullable=False),
    Column("answer", Text),
    Column("settled_at", Instant),
    Index("ix_questions_auction_id", "auction_id", "id"),
    Index("ix_questions_asker_id", "asker_id", "asked_at"),
)
"""Questions to sellers, and no events either. `settled_at` is null while a question is open; a declined one has no `answer`."""
