"""The tables of payouts: the bank accounts of consignors, and payment files with their payouts."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, String, Table, Text, UniqueConstraint, text

from saleroom.accounts.storage.tables import users
from saleroom.sales.storage.tables import consignors, sales
from saleroom.settlement.domain.bank.payouts import UNDER_WAY
from saleroom.settlement.storage.tables import journal_entries
from saleroom.storage.schema import Instant, Money, Number, metadata

payout_accounts = Table(
    "payout_accounts",
    metadata,
    Column("consignor_id", BigInteger, ForeignKey(consignors.c.id), primary_key=True, autoincrement=False),
    Column("holder", String, nullable=False),
    Column("iban", String, nullable=False),
    Column("bic", String, nullable=False),
    Column("changed_at", Instant, nullable=False),
)
"""The bank account of a consignor, which payouts go to."""


payment_series = Table(
    "payment_series",
    metadata,
    Column("year", Integer, primary_key=True, autoincrement=False),
    Column("last", Integer, nullable=False),
    Column("digest", String, nullable=False),
)
"""The last number and the last digest of the payment files of each year. A transaction that makes a file locks its row."""


payment_files = Table(
    "payment_files",
    metadata,
    Column("id", Number, primary_key=True),
    Column("gid", String, nullable=False, unique=True),
    Column("year", Integer, nullable=False),
    Column("place", Integer, nullable=False),
    Column("message", String, nullable=False, unique=True),
    Column("made_at", Instant, nullable=False),
    Column("by_id", BigInteger, ForeignKey(users.c.id), nullable=False),
    Column("content", Text, nullable=False),
    Column("content_digest", String, nullable=False),
    Column("digest", String, nullable=False),
    Column("forgotten_at", Instant),
    UniqueConstraint("year", "place"),
    Index("ix_payment_files_by_id", "by_id"),
)
"""Payment files. `content` is the XML as banks get it; it never changes, and is empty once the file is `forgotten_at`.
`message` is what banks know the file by, `digest` that of its year up to it."""


_OPEN = text(f"state IN ({', '.join(repr(state.value) for state in sorted(UNDER_WAY))})")

payouts = Table(
    "payouts",
    metadata,
    Column("id", Number, primary_key=True),
    Column("gid", String, nullable=False, unique=True),
    Column("file_id", BigInteger, ForeignKey(payment_files.c.id), nullable=False),
    Column("place", Integer, nullable=False),
    Column("sale_id", BigInteger, ForeignKey(sales.c.id), nullable=False),
    Column("consignor_id", BigInteger, ForeignKey(consignors.c.id), nullable=False),
    Column("amount", Money, nullable=False),
    Column("country", String, nullable=False),
    Column("ending", String, nullable=False),
    Column("end_to_end", String, nullable=False, unique=True),
    Column("state", String, nullable=False),
    Column("reason", String),
    Column("entry_id", BigInteger, ForeignKey(journal_entries.c.id), nullable=False, unique=True),
    Column("end_entry_id", BigInteger, ForeignKey(journal_entries.c.id), unique=True),
    Column("back_entry_id", BigInteger, ForeignKey(journal_entries.c.id), unique=True),
    UniqueConstraint("file_id", "place"),
    Index("ix_payouts_sale_id", "sale_id"),
    Index("ix_payouts_consignor_id", "consignor_id"),
    Index("ix_payouts_under_way", "sale_id", "consignor_id", unique=True, sqlite_where=_OPEN, postgresql_where=_OPEN),
)
"""The transfers of payment files. `country` and `ending` are what is shown of the account. `entry_id` posted it,
`end_entry_id` that it was booked or failed, `back_entry_id` that it came back after it was booked."""

payout_reports = Table(
    "payout_reports",
    metadata,
    Column("id", Number, primary_key=True),
    Column("payout_id", BigInteger, ForeignKey(payouts.c.id), nullable=False),
    Column("message", String, nullable=False),
    Column("said_at", String, nullable=False),
    Column("status", String, nullable=False),
    Column("code", String, nullable=False),
    Column("said", Text, nullable=False),
    Column("doubt", String),
    Column("digest", String, nullable=False, unique=True),
    Column("seal", String, nullable=False),
    Column("imported_at", Instant, nullable=False),
    Column("by_id", BigInteger, ForeignKey(users.c.id), nullable=False),
    Column("checked_at", Instant),
    Column("checked_by_id", BigInteger, ForeignKey(users.c.id)),
    Index("ix_payout_reports_payout_id", "payout_id"),
    Index("ix_payout_reports_by_id", "by_id"),
    Index("ix_payout_reports_checked_by_id", "checked_by_id"),
)
"""What banks have said of payouts, each once by its `digest`, whatever file it comes in. `message` names the report, and is
empty for a booking of a statement; `said` are the bank's words, which go with the content of the payment file. One with a
`doubt` waits for a person until it is `checked_at`. `seal` is the digest of the row."""

PAYOUT_TABLES = (payout_accounts, payment_series, payment_files, payouts, payout_reports)
