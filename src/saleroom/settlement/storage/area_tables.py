"""The tables of settlement for exports and imports."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import Any

import msgspec
from sqlalchemy import Column, Table

from saleroom.kernel.errors import Fault
from saleroom.kernel.identifiers import GID
from saleroom.kernel.texts import control_fault
from saleroom.settlement.domain.bank.payouts import UNDER_WAY, PayoutState
from saleroom.settlement.domain.bank.status_reports import Doubt
from saleroom.settlement.domain.bank.transfers import read_account
from saleroom.settlement.domain.documents.content import DocumentKind, decoded, number_of
from saleroom.settlement.domain.journal import Book, EntryKind
from saleroom.settlement.domain.online.card_payments import Dispute, OnlineState, RefundState
from saleroom.settlement.domain.unsold.offers import OfferState
from saleroom.settlement.storage.bank_tables import bank_payments
from saleroom.settlement.storage.document_tables import DOCUMENT_TABLES, document_lots, document_series, documents
from saleroom.settlement.storage.journal import decode_settled
from saleroom.settlement.storage.member_tables import memberships
from saleroom.settlement.storage.offer_tables import offers
from saleroom.settlement.storage.online_tables import online_payments, online_refunds
from saleroom.settlement.storage.payout_accounts import forget
from saleroom.settlement.storage.payout_tables import (
    PAYOUT_TABLES,
    payment_files,
    payment_series,
    payout_accounts,
    payout_reports,
    payouts,
)
from saleroom.settlement.storage.pickup_tables import pickups
from saleroom.settlement.storage.rates import decode_card
from saleroom.settlement.storage.reminder_tables import reminders
from saleroom.settlement.storage.series_tables import row_series
from saleroom.settlement.storage.tables import (
    journal_entries,
    journal_postings,
    journal_series,
    rate_card_versions,
    rate_cards,
    rate_choices,
)
from saleroom.storage.areas import AreaTables, RowRule, TextRule

_CURRENCY = re.compile("[A-Z]{3}")
_DIGEST = re.compile("[0-9a-f]{64}")
_STATUS = re.compile("[A-Z]{4}")


def _gid_fault(value: str) -> Fault | None:
    return None if GID.fullmatch(value) else Fault("gid", "must be 1 to 64 characters of A-Z, a-z, 0-9, '_' and '-'")


def _terms_fault(row: Mapping[str, Any]) -> str | None:
    try:
        decode_card(row["terms"])
    except msgspec.MsgspecError:
        return "the terms of a version are not those of a rate card"
    return None


def _choice_fault(row: Mapping[str, Any]) -> str | None:
    named = [name for name in ("sale_id", "consignor_id", "lot_id") if row[name] is not None]
    return None if len(named) == 1 else "a rate card is chosen for one sale, one consignor or one lot"


def _membership_fault(row: Mapping[str, Any]) -> str | None:
    if (row["user_id"] is None) is (row["consignor_id"] is None):
        return "a membership is of one user or of one consignor"
    return None if row["is_member"] or row["until"] is None else "only a membership has an end"


def _kind_fault(value: str) -> Fault | None:
    return None if value in set(DocumentKind) else Fault("kind", f"must be one of {', '.join(DocumentKind)}")


def _digest_fault(value: str) -> Fault | None:
    return None if _DIGEST.fullmatch(value) else Fault("digest", "must be 64 hexadecimal digits")


def _content_fault(row: Mapping[str, Any]) -> str | None:
    try:
        found = decoded(row["content"])
    except msgspec.MsgspecError:
        return "the content of a document is not that of one"
    number = number_of(found.kind, row["year"], row["place"])
    return None if (found.kind, found.number) == (row["kind"], number) else "a document has the number of another one"


def _entry_fault(row: Mapping[str, Any]) -> str | None:
    if (row["kind"] in (EntryKind.LOT, EntryKind.CREDIT)) != (row["settled"] is not None) or (
        row["kind"] == EntryKind.REVERSAL
    ) != bool(row["reverses"]):
        return "an entry of the journal rests on a lot, takes another one back, or is money"
    try:
        if row["settled"] is not None:
            decode_settled(row["settled"])
    except msgspec.MsgspecError:
        return "what an entry of the journal rests on is not what a lot has come to"
    return None


def _posting_fault(row: Mapping[str, Any]) -> str | None:
    of = {Book.BUYERS: (True, False), Book.CONSIGNORS: (False, True)}.get(row["book"], (False, False))
    if of != (row["user_id"] is not None, row["consignor_id"] is not None):
        return "a posting names the buyer or the consignor of the account, and nobody otherwise"
    return None


def _decided_fault(row: Mapping[str, Any]) -> str | None:
    both = row["entry_id"] is not None and row["reason"] is not None
    return "a payment from the bank is taken or set aside, not both" if both else None


def _account_fault(row: Mapping[str, Any]) -> str | None:
    found = read_account(row["holder"], row["iban"])
    return "a bank account has no IBAN that transfers reach" if isinstance(found, Fault) else None


def _payout_fault(row: Mapping[str, Any]) -> str | None:
    ended, came_back = row["end_entry_id"] is not None, row["back_entry_id"] is not None
    is_over = row["state"] not in UNDER_WAY
    if ended != is_over or (came_back and not ended):
        return "a payout has the entries that its state says"
    return None


def _checked_fault(row: Mapping[str, Any]) -> str | None:
    both = (row["checked_at"] is None) == (row["checked_by_id"] is None)
    if not both or (row["checked_at"] is not None and row["doubt"] is None):
        return "somebody has looked into what a bank has said only if it is in doubt"
    return None


def _online_fault(row: Mapping[str, Any]) -> str | None:
    posted = row["entry_id"] is not None
    if (row["state"] == OnlineState.PAID) != posted or (row["received"] is not None) != posted:
        return "a payment online is paid if and only if it is posted, with what came"
    if row["dispute_entry_id"] is not None and (row["dispute"] != Dispute.LOST or row["disputed"] is None):
        return "only a lost dispute takes a payment online back"
    return None


def _refund_fault(row: Mapping[str, Any]) -> str | None:
    taken_back = row["back_entry_id"] is not None
    stands = row["entry_id"] is not None and not taken_back
    if (row["state"] == RefundState.DONE) != stands or (taken_back and row["entry_id"] is None):
        return "a refund online is done if and only if it is posted and not taken back"
    return None


def _day_fault(value: str) -> Fault | None:
    try:
        return None if date.fromisoformat(value).isoformat() == value else Fault("day", _DAY)
    except ValueError:
        return Fault("day", _DAY)


_DAY = "must be a day, such as 2026-12-09"


def _currency_fault(value: str) -> Fault | None:
    return None if _CURRENCY.fullmatch(value) else Fault("currency", "must be the code of a currency, such as EUR")


def _one_of(*choices: str) -> TextRule:
    fault = Fault("choice", f"must be one of {', '.join(choices)}")
    return lambda value: None if value in choices else fault


_TEXT_RULES: dict[Column[Any], TextRule] = {
    rate_cards.c.gid: _gid_fault,
    rate_card_versions.c.terms: lambda value: None,  # JSON, which escapes control characters
    documents.c.gid: _gid_fault,
    documents.c.content: lambda value: None,  # JSON as well
    **dict.fromkeys((document_series.c.kind, documents.c.kind, document_lots.c.kind), _kind_fault),
    **dict.fromkeys(
        (document_series.c.digest, documents.c.digest, journal_entries.c.digest, journal_series.c.digest), _digest_fault
    ),
    journal_entries.c.settled: lambda value: None,  # JSON too
    journal_entries.c.kind: _one_of(*EntryKind),
    journal_postings.c.book: _one_of(*Book),
    bank_payments.c.gid: _gid_fault,
    offers.c.gid: _gid_fault,
    offers.c.settled: _one_of(*OfferState),
    bank_payments.c.digest: _digest_fault,
    bank_payments.c.booked_on: _day_fault,
    bank_payments.c.currency: _currency_fault,
    payment_files.c.gid: _gid_fault,
    payment_files.c.content: lambda value: control_fault(value, lines=True),
    **dict.fromkeys((payment_files.c.content_digest, payment_files.c.digest, payment_series.c.digest), _digest_fault),
    payouts.c.gid: _gid_fault,
    payouts.c.state: _one_of(*PayoutState),
    payout_reports.c.status: lambda value: (
        None if _STATUS.fullmatch(value) else Fault("status", "must be four letters")
    ),
    payout_reports.c.doubt: _one_of(*Doubt),
    **dict.fromkeys((payout_reports.c.digest, payout_reports.c.seal), _digest_fault),
    **dict.fromkeys((bank_payments.c.seal, row_series.c.digest), _digest_fault),
    online_payments.c.gid: _gid_fault,
    online_payments.c.currency: _currency_fault,
    online_payments.c.state: _one_of(*OnlineState),
    online_payments.c.dispute: _one_of(*Dispute),
    online_refunds.c.gid: _gid_fault,
    online_refunds.c.state: _one_of(*RefundState),
}
_ROW_RULES: dict[Table, RowRule] = {
    rate_card_versions: _terms_fault,
    rate_choices: _choice_fault,
    memberships: _membership_fault,
    documents: _content_fault,
    journal_entries: _entry_fault,
    journal_postings: _posting_fault,
    bank_payments: _decided_fault,
    payout_accounts: _account_fault,
    payouts: _payout_fault,
    payout_reports: _checked_fault,
    online_payments: _online_fault,
    online_refunds: _refund_fault,
}

TABLES = AreaTables(
    tables=(
        rate_cards,
        rate_card_versions,
        rate_choices,
        memberships,
        *DOCUMENT_TABLES,
        journal_entries,
        journal_series,
        journal_postings,
        bank_payments,
        *PAYOUT_TABLES,
        reminders,
        pickups,
        offers,
        online_payments,
        online_refunds,
        row_series,
    ),
    # The law wants documents to be kept as they were issued, with the names in them, and accounts for years, by a number.
    stays=(
        rate_card_versions.c.by_id,
        rate_choices.c.by_id,
        memberships.c.user_id,
        memberships.c.by_id,
        documents.c.user_id,
        journal_entries.c.by_id,
        bank_payments.c.by_id,
        payment_files.c.by_id,
        payout_reports.c.by_id,
        payout_reports.c.checked_by_id,
        reminders.c.by_id,
        pickups.c.user_id,
        pickups.c.by_id,
        pickups.c.undone_by_id,
        offers.c.user_id,
        offers.c.by_id,
        online_payments.c.user_id,
        online_refunds.c.by_id,
        journal_postings.c.user_id,
    ),
    forget=forget,
    large_rows=(payment_files,),
    text_rules=_TEXT_RULES,
    row_rules=_ROW_RULES,
)
