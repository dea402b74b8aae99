"""`saleroom users export`: all that a house holds about one person, as a ZIP of JSON files and pictures."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from msgspec import Struct
from sqlalchemy import Column, ColumnElement, Select, or_, select

from saleroom.accounts.domain.accounts import parse_username
from saleroom.accounts.domain.errors import UnknownUser
from saleroom.accounts.storage import accounts
from saleroom.accounts.storage.tables import (
    audit,
    auth_tokens,
    contacts,
    invitations,
    mail_addresses,
    mail_links,
    one_time_codes,
    passkeys,
    sanctions,
    users,
)
from saleroom.admin.transfers import freeze_newest
from saleroom.bidding.domain.errors import UnknownPhoto
from saleroom.bidding.storage.photo_store import with_bytes
from saleroom.bidding.storage.photos import PhotoFile, as_file, files_of_photos
from saleroom.bidding.storage.tables import (
    auctions,
    bidder_names,
    bids,
    calendar_links,
    drafts,
    photo_files,
    photos,
    questions,
    remarks,
    watches,
)
from saleroom.kernel.errors import Fault
from saleroom.kernel.instants import instant
from saleroom.notices.storage.tables import notice_choices, push_subscriptions, quiet_hours, webhooks
from saleroom.opening import refuse_missing, run
from saleroom.outbox.tables import outbox
from saleroom.sales.storage.mergers import is_theirs
from saleroom.sales.storage.tables import consignors, mergers, participants, pledges, sales
from saleroom.sales.storage.tables import lots as sale_lots
from saleroom.settings import Settings
from saleroom.settlement.storage.document_tables import documents
from saleroom.settlement.storage.member_tables import memberships
from saleroom.settlement.storage.offer_tables import offers
from saleroom.settlement.storage.online_tables import online_payments, online_refunds
from saleroom.settlement.storage.payout_tables import payout_accounts, payout_reports, payouts
from saleroom.settlement.storage.pickup_tables import pickups
from saleroom.settlement.storage.reminder_tables import reminders
from saleroom.settlement.storage.tables import journal_entries, journal_postings
from saleroom.storage.database import Database, Transaction
from saleroom.storage.files import beside, publish
from saleroom.tools.new_files import refuse_place

ROWS_AT_ONCE = 200
LEFT_OUT = {
    "password_digest": "a secret",
    "token": "a secret",
    "secret": "a secret",
    "salt": "leads to a secret",
    "old_salt": "leads to a secret",
    "seed": "a secret of a ledger",
    "hidden": "a secret of a ledger",
    "letter": "tells how much the house has written to others",
    "head": "in the ledger",
    "by_id": "which of the staff it was",
    "undone_by_id": "which of the staff it was",
    "ended_by_id": "which of the staff it was",
    "source_id": "which of the registrations it was",
    "target_id": "which of the registrations it was",
    "owner_id": "the person",
    "author_id": "the person",
    "user_id": "the person",
    "asker_id": "the person",
    "bidder_id": "the person",
    "current_bidder_id": "somebody else",
    "maximum": "of a lot: somebody else's limit",
    "credential_id": "the device has it",
    "public_key": "the device has it",
    "handle": "the device has it",
    "former_name": "of somebody who was erased",
    "erased_at": "of somebody who was erased",
    "renamed": "follows from who was erased",
    "mailbox": "follows from the address",
    "network": "a digest of where somebody asked from, who may be a stranger",
    "folded": "follows from the address",
    "token_id": "which of the logins it was",
    "p256dh": "a key of a browser",
    "auth": "a secret of a browser",
    "endpoint": "a secret: anyone who has it can send to the browser",
}
"""Columns that no file has, and why. The limits of the person's own bids are in `bids.json`."""
README = """This archive has all that the house holds about the account {username}, as of {at}.

Each file is a list in JSON; instants are in UTC, amounts are texts in the currency of the house.

account.json        the name, the role, since when
contact.json        how you can be reached after a sale
mail_address.json   your mail address
mail_links.json     links that were sent to you by mail in the last days, without their codes
logins.json         where you are logged in, and access tokens of your programs, without the tokens
one_time_codes.json whether a login needs a code, without the secret
passkeys.json       your passkeys, by name
bids.json           your bids, with your limits
limits.json         the limits by which you lead, or have bought, as you raised them last
bidder_names.json   the names by which you are shown in sales, where they are not your username
lots.json           the lots that you have offered
participants.json   your registrations for sales, with paddle, limit and what you have told of yourself
mergers.json        sales in which you were registered twice and staff made that one
memberships.json    whether you pay the rates of members, as a buyer or as one who brings lots
pledges.json        what you have pledged in sales
documents.json      invoices, statements and credit notes that were issued to you
journal_postings.json  what the accounts of sales say of you as a buyer: what you owed and paid
reminders.json      reminders of your invoices that were not paid
pickups.json        lots that you have bought and that were handed out, and to whom
offers.json         lots that the house has offered to you after a sale
online_payments.json   payments by card online that you have begun
online_refunds.json    what of these was paid back
sales.json          the sales that you have made for the house
consignors.json     what the house has noted about you as one who brings lots to its sales
consigned_lots.json the lots that you have brought to its sales
payout_accounts.json  the bank accounts to which the house pays out what your lots bring
payouts.json        transfers to you for your lots, with the end of the account that each went to
payout_reports.json what banks have said of these transfers
remarks.json        your remarks on your lots
questions.json      your questions to sellers, with their answers
answers.json        questions to you as a seller, with your answers; not who asked
watch_list.json     the lots that you watch
calendar_link.json  since when you have a private link to their calendar
drafts.json         forms of lots that you have saved
photos.json         your photos; their pictures are in the folder photos
notices.json        what the house has written to you, and when
notice_choices.json which words you want by mail and on browsers, as far as you have chosen
quiet_hours.json    the hours in which nothing is sent to you
browsers.json       browsers that show messages of the house, without their addresses and keys
webhooks.json       your webhooks, without their secrets
sanctions.json      warnings, suspensions and bans, with their reasons
invitations.json    invitations that you have made or taken
acts.json           what staff has done about your account; not who of them

Ledgers of lots are public and name bidders and buyers: GET /auctions/GID/ledger.
Your receipts, signed by the house, are on its page /lots/GID/receipts while you are logged in.
Secrets, which are digests or sealed, are left out.
"""


class Part(Struct, frozen=True):
    """A file of the archive: rows by their key, which also orders them."""

    name: str
    key: Column[Any]
    mine: ColumnElement[bool]
    keeps: frozenset[str] = frozenset()
    """Columns of `LEFT_OUT` that this file has all the same."""
    only: frozenset[str] = frozenset()
    """The columns of the file; empty for all of the table."""


def export(settings: Settings, name: str, file: Path | BinaryIO, *, force: bool) -> str:
    """Write the archive of a user to a new `file` or a stream, and return a line that says so. Raises Refusal, OSError."""
    refuse_missing(settings)
    username = parse_username(name)
    if isinstance(username, Fault):
        raise UnknownUser

    if isinstance(file, Path):
        refuse_place(file, force=force)
        with beside(file) as part:
            with part.open("wb") as target:
                written = write(settings, username, target)
            publish(part, file, force=force)
    else:
        written = write(settings, username, file)
    return f"Exported {username}: {written} rows and pictures."


def write(settings: Settings, username: str, target: BinaryIO) -> int:
    """Write the archive of a user, with connections and an event loop of its own; return how many rows and pictures.

    A process that serves calls it in a thread, so that no request waits for the compressing. Raises Refusal.
    """
    return run(settings, partial(_write_all, username=username, target=target))


async def _write_all(database: Database, username: str, target: BinaryIO) -> int:
    """Write the archive, first all that is in the database. Pictures of the store come after its transaction."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archived:
        written, stored = await database.read(_frozen_archive, username, archived)
        for file in stored:
            try:
                picture = (await with_bytes(database, file)).data
            except UnknownPhoto:
                continue  # the store has lost it, which is in the log
            archived.writestr(zipfile.ZipInfo(file.key.replace(f"/{file.width}.", ".")), picture)
            written += 1
    return written


def _frozen_archive(tx: Transaction, username: str, archived: zipfile.ZipFile) -> tuple[int, list[PhotoFile]]:
    freeze_newest(tx)
    return archive(tx, username, archived)


def archive(tx: Transaction, username: str, archived: zipfile.ZipFile) -> tuple[int, list[PhotoFile]]:
    """Write what the database holds about a user, a few rows in memory at a time.

    Returns how many rows and pictures that is, and the pictures that are in the store. Raises UnknownUser.
    """
    login = accounts.find_login(tx, username)
    if login is None:
        raise UnknownUser
    archived.writestr("README.txt", README.format(username=username, at=instant(tx.now())))
    written = sum(_write(tx, archived, part) for part in parts(tx, login.account.id))
    count, stored = _pictures(tx, archived, login.account.id)
    return written + count, stored


def parts(tx: Transaction, user_id: int) -> list[Part]:
    """Return the files of a user's archive."""
    given = tx.execute(select(mail_addresses.c.address).where(mail_addresses.c.user_id == user_id)).scalar()
    lots = select(auctions.c.id).where(auctions.c.author_id == user_id)
    consigned = select(consignors.c.id).where(consignors.c.user_id == user_id)
    paid_out = select(payouts.c.id).where(payouts.c.consignor_id.in_(consigned))
    return [
        Part("account", users.c.id, users.c.id == user_id),
        Part("contact", contacts.c.user_id, contacts.c.user_id == user_id),
        Part("mail_address", mail_addresses.c.user_id, mail_addresses.c.user_id == user_id),
        Part("mail_links", mail_links.c.id, mail_links.c.user_id == user_id),
        Part("logins", auth_tokens.c.id, auth_tokens.c.user_id == user_id),
        Part("one_time_codes", one_time_codes.c.user_id, one_time_codes.c.user_id == user_id),
        Part("passkeys", passkeys.c.id, passkeys.c.user_id == user_id),
        Part("bids", bids.c.id, bids.c.bidder_id == user_id, frozenset({"maximum"})),
        Part(
            "limits",
            auctions.c.id,
            auctions.c.current_bidder_id == user_id,
            frozenset({"maximum"}),
            frozenset({"gid", "maximum"}),
        ),
        Part(
            "bidder_names",
            bidder_names.c.sale_id,
            bidder_names.c.user_id == user_id,
            only=frozenset({"name"}),
        ),
        Part("participants", participants.c.id, participants.c.user_id == user_id),
        Part("mergers", mergers.c.id, or_(mergers.c.source_id == user_id, mergers.c.target_id == user_id)),
        Part(
            "memberships",
            memberships.c.id,
            or_(memberships.c.user_id == user_id, memberships.c.consignor_id.in_(consigned)),
        ),
        Part("pledges", pledges.c.id, pledges.c.user_id == user_id),
        *_parts_as_buyer(user_id),
        Part("lots", auctions.c.id, auctions.c.author_id == user_id),
        Part("sales", sales.c.id, sales.c.owner_id == user_id),
        Part("consignors", consignors.c.id, consignors.c.user_id == user_id),
        Part("consigned_lots", sale_lots.c.id, sale_lots.c.consignor_id.in_(consigned)),
        Part("payout_accounts", payout_accounts.c.consignor_id, payout_accounts.c.consignor_id.in_(consigned)),
        Part("payouts", payouts.c.id, payouts.c.consignor_id.in_(consigned)),
        Part("payout_reports", payout_reports.c.id, payout_reports.c.payout_id.in_(paid_out)),
        Part("remarks", remarks.c.id, remarks.c.auction_id.in_(lots)),
        Part("questions", questions.c.id, questions.c.asker_id == user_id),
        Part("answers", questions.c.id, questions.c.auction_id.in_(lots)),
        Part("calendar_link", calendar_links.c.user_id, calendar_links.c.user_id == user_id),
        Part("watch_list", watches.c.id, watches.c.user_id == user_id),
        Part("drafts", drafts.c.id, drafts.c.owner_id == user_id),
        Part("photos", photos.c.id, photos.c.owner_id == user_id),
        Part("notices", outbox.c.id, or_(outbox.c.receiver == user_id, outbox.c.address == given)),
        Part("notice_choices", notice_choices.c.kind, notice_choices.c.user_id == user_id),
        Part("quiet_hours", quiet_hours.c.user_id, quiet_hours.c.user_id == user_id),
        Part("browsers", push_subscriptions.c.id, push_subscriptions.c.user_id == user_id),
        Part("webhooks", webhooks.c.id, webhooks.c.user_id == user_id),
        Part("sanctions", sanctions.c.id, sanctions.c.user_id == user_id),
        Part("invitations", invitations.c.id, or_(invitations.c.by_id == user_id, invitations.c.used_by_id == user_id)),
        Part("acts", audit.c.id, audit.c.user_id == user_id),
    ]


def _parts_as_buyer(user_id: int) -> list[Part]:
    """Return the files about what a user has bought: papers, money and lots, also those of guests who were merged with them."""
    papers = is_theirs(user_id, documents.c.user_id, documents.c.sale_id)
    issued = select(documents.c.id).where(papers)
    # Named, as they are used two levels down, where nothing is correlated by itself.
    of_entry = select(journal_entries.c.sale_id).where(journal_entries.c.id == journal_postings.c.entry_id)
    of_entry = of_entry.correlate(journal_postings)
    of_pickup = select(sale_lots.c.sale_id).where(sale_lots.c.id == pickups.c.lot_id).correlate(pickups)
    of_offer = select(sale_lots.c.sale_id).where(sale_lots.c.id == offers.c.lot_id).correlate(offers)
    paid_online = select(online_payments.c.id).where(online_payments.c.document_id.in_(issued))
    return [
        Part("documents", documents.c.id, papers),
        Part(
            "journal_postings",
            journal_postings.c.id,
            is_theirs(user_id, journal_postings.c.user_id, of_entry.scalar_subquery()),
        ),
        Part("reminders", reminders.c.id, reminders.c.document_id.in_(issued)),
        Part("pickups", pickups.c.id, is_theirs(user_id, pickups.c.user_id, of_pickup.scalar_subquery())),
        Part("offers", offers.c.id, is_theirs(user_id, offers.c.user_id, of_offer.scalar_subquery())),
        Part("online_payments", online_payments.c.id, online_payments.c.document_id.in_(issued)),
        Part("online_refunds", online_refunds.c.id, online_refunds.c.payment_id.in_(paid_online)),
    ]


def _write(tx: Transaction, archived: zipfile.ZipFile, part: Part) -> int:
    count = 0
    with archived.open(f"{part.name}.json", "w", force_zip64=True) as file:
        for row in _rows(tx, part):
            file.write((b"[\n" if count == 0 else b",\n") + _encode(row))
            count += 1
        file.write(b"[]\n" if count == 0 else b"\n]\n")
    return count


def _rows(tx: Transaction, part: Part) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file in the order of their key; the lot that one is about also by its gid."""
    table = part.key.table
    names = (part.only or {column.name for column in table.c}) - (LEFT_OUT.keys() - part.keeps)
    columns = [column for column in table.c if column.name in names]
    found: Select[Any] = select(part.key.label("key_"), *columns).where(part.mine)
    if "auction_id" in table.c:
        gid = select(auctions.c.gid).where(auctions.c.id == table.c.auction_id).scalar_subquery()
        found = found.add_columns(gid.label("lot"))
    page = found.order_by(part.key).limit(ROWS_AT_ONCE)
    rows = tx.execute(page).mappings().all()
    while rows:
        for row in rows:
            yield {name: value for name, value in row.items() if name not in ("key_", "id", "auction_id")}
        rows = tx.execute(page.where(part.key > rows[-1]["key_"])).mappings().all()


def _pictures(tx: Transaction, archived: zipfile.ZipFile, user_id: int) -> tuple[int, list[PhotoFile]]:
    """Write the widest file of each photo, one in memory at a time; return how many, and those that are in the store."""
    own = files_of_photos(photos.c.id, photos.c.gid).where(
        photos.c.owner_id == user_id, photos.c.source_id.is_(None), photo_files.c.width == photos.c.width
    )
    count, last, stored = 0, 0, []
    while (row := tx.execute(own.where(photos.c.id > last).order_by(photos.c.id).limit(1)).first()) is not None:
        last, file = row.id, as_file(row)
        if file.key:
            stored.append(file)
        else:
            archived.writestr(zipfile.ZipInfo(f"photos/{row.gid}.webp"), file.data)
            count += 1
    return count, stored


def _encode(row: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode(row, enc_hook=str, order="sorted")
