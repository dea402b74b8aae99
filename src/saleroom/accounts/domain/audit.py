"""The audit log: what staff did, on whom or what, and why. An entry is written once and stays."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from saleroom.kernel.errors import Fault
from saleroom.kernel.texts import hidden_fault, shown_fault

REASON_CHARACTERS_MAX = 500
Facts = Mapping[str, str | int | bool | None]
"""What an act changed, by name. Secrets never stand here, and no names of users: an act is on a user by number."""


def parse_reason(text: str) -> str | Fault:
    """Return the reason of an act in one line, without the white space around it, or its fault; it may be empty."""
    reason = text.strip()
    if len(reason) > REASON_CHARACTERS_MAX:
        return Fault("text_length", f"must have at most {REASON_CHARACTERS_MAX} characters", most=REASON_CHARACTERS_MAX)
    return hidden_fault(reason, lines=False) or shown_fault(reason) or reason


class Act(StrEnum):
    """A kind of act of staff. `ACTS` says each in words."""

    USER_ADDED = "user.added"
    PASSWORD_SET = "password.set"  # the name of an act
    CODES_SWITCHED_OFF = "codes.switched_off"
    PASSKEYS_REMOVED = "passkeys.removed"
    ROLE_CHANGED = "role.changed"
    SELLER_APPROVED = "seller.approved"
    SELLER_WITHDRAWN = "seller.withdrawn"
    BID_VOIDED = "bid.voided"
    LOT_HIDDEN = "lot.hidden"
    LOT_SHOWN = "lot.shown"
    SALE_CANCELLED = "sale.cancelled"
    USER_WARNED = "user.warned"
    USER_SUSPENDED = "user.suspended"
    USER_BANNED = "user.banned"
    BAR_LIFTED = "bar.lifted"
    USER_STRUCK = "user.struck"
    STRIKE_FORGIVEN = "strike.forgiven"
    SESSIONS_ENDED = "sessions.ended"
    WORDS_SENT_AGAIN = "words.sent_again"
    INVITATION_MADE = "invitation.made"
    INVITATION_REVOKED = "invitation.revoked"
    WEBHOOK_ADDED = "webhook.added"
    WEBHOOK_CHANGED = "webhook.changed"
    WEBHOOK_DELETED = "webhook.deleted"
    USER_ERASED = "user.erased"
    SALE_MADE = "sale.made"
    SALE_CHANGED = "sale.changed"
    SALE_PUBLISHED = "sale.published"
    SALE_CALLED_OFF = "sale.called_off"
    SALE_PAUSED = "sale.paused"
    SALE_RESUMED = "sale.resumed"
    LOT_ADDED = "lot.added"
    LOT_CHANGED = "lot.changed"
    LOT_WITHDRAWN = "lot.withdrawn"
    LOTS_ORDERED = "lots.ordered"
    CATALOGUE_IMPORTED = "catalogue.imported"
    CONSIGNOR_ADDED = "consignor.added"
    CONSIGNOR_CHANGED = "consignor.changed"
    BIDDER_ADMITTED = "bidder.admitted"
    BIDDER_CHANGED = "bidder.changed"
    BIDDER_CHECKED_IN = "bidder.checked_in"
    BIDDERS_MERGED = "bidders.merged"
    BLOCK_ACTED = "block.acted"
    RATES_MADE = "rates.made"
    RATES_CHANGED = "rates.changed"
    RATES_CHOSEN = "rates.chosen"
    MEMBER_MARKED = "member.marked"
    MEMBER_UNMARKED = "member.unmarked"
    ABSENTEE_BID_ENTERED = "absentee_bid.entered"
    ABSENTEE_BID_TAKEN_BACK = "absentee_bid.taken_back"
    KEY_RENEWED = "key.renewed"
    SECRET_RENEWED = "secret.renewed"
    RESULT_ENTERED = "result.entered"
    RESULT_TAKEN_BACK = "result.taken_back"
    DOCUMENT_ISSUED = "document.issued"
    DOCUMENT_CREDITED = "document.credited"
    MONEY_TAKEN = "money.taken"
    MONEY_PAID_OUT = "money.paid_out"
    BANK_STATEMENT_IMPORTED = "bank.imported"
    BANK_PAYMENT_SET_ASIDE = "bank.set_aside"
    SALE_CORRECTED = "sale.corrected"
    MONEY_NETTED = "money.netted"
    REMINDER_SENT = "reminder.sent"
    OFFER_MADE = "offer.made"
    OFFER_WITHDRAWN = "offer.withdrawn"
    LOT_RELISTED = "lot.relisted"
    LOT_RETURNED = "lot.returned"
    LOT_HANDED_OUT = "lot.handed_out"
    PICKUP_UNDONE = "pickup.undone"
    PAYOUT_ACCOUNT_CHANGED = "payout_account.changed"
    PAYMENT_FILE_MADE = "payment_file.made"
    PAYOUT_MARKED = "payout.marked"
    PAYOUT_REPORT_IMPORTED = "payout_report.imported"
    PAYOUT_LOOKED_INTO = "payout.looked_into"


ACTS: Mapping[Act, str] = {
    Act.USER_ADDED: "added a user",
    Act.PASSWORD_SET: "set a user's password",
    Act.CODES_SWITCHED_OFF: "switched off a user's one-time codes",
    Act.PASSKEYS_REMOVED: "removed a user's passkeys",
    Act.ROLE_CHANGED: "gave a user another role",
    Act.SELLER_APPROVED: "approved a seller",
    Act.SELLER_WITHDRAWN: "took back the approval of a seller",
    Act.BID_VOIDED: "voided a bid",
    Act.LOT_HIDDEN: "took a lot down",
    Act.LOT_SHOWN: "put a lot back",
    Act.SALE_CANCELLED: "cancelled a sale",
    Act.USER_WARNED: "warned a user",
    Act.USER_SUSPENDED: "suspended a user",
    Act.USER_BANNED: "banned a user",
    Act.BAR_LIFTED: "lifted the suspension or the ban of a user",
    Act.USER_STRUCK: "gave a user a strike for an invoice that is not paid",
    Act.STRIKE_FORGIVEN: "forgave a strike of a user",
    Act.SESSIONS_ENDED: "logged a user out everywhere",
    Act.WORDS_SENT_AGAIN: "had mails sent again",
    Act.INVITATION_MADE: "invited somebody to a role",
    Act.INVITATION_REVOKED: "revoked an invitation",
    Act.WEBHOOK_ADDED: "had the events of all lots posted to a webhook",
    Act.WEBHOOK_CHANGED: "changed a webhook for the events of all lots",
    Act.WEBHOOK_DELETED: "deleted a webhook for the events of all lots",
    Act.USER_ERASED: "erased a user",
    Act.SALE_MADE: "made a sale of many lots",
    Act.SALE_CHANGED: "changed a sale of many lots",
    Act.SALE_PUBLISHED: "published a sale with its lots",
    Act.SALE_CALLED_OFF: "cancelled a sale with its lots",
    Act.SALE_PAUSED: "paused a sale with all its lots",
    Act.SALE_RESUMED: "let a paused sale go on",
    Act.LOT_ADDED: "added a lot to a sale",
    Act.LOT_CHANGED: "changed a lot of a sale",
    Act.LOT_WITHDRAWN: "withdrew a lot from a sale",
    Act.LOTS_ORDERED: "put the lots of a sale in another order",
    Act.CATALOGUE_IMPORTED: "imported lots into a sale",
    Act.CONSIGNOR_ADDED: "added a consignor",
    Act.CONSIGNOR_CHANGED: "changed a consignor",
    Act.BIDDER_ADMITTED: "admitted somebody to a sale",
    Act.BIDDER_CHANGED: "changed the admission of a bidder to a sale",
    Act.BIDDER_CHECKED_IN: "checked a bidder in at a sale",
    Act.BIDDERS_MERGED: "merged two bidders of a sale",
    Act.BLOCK_ACTED: "acted on the block of a sale",
    Act.RATES_MADE: "made a rate card",
    Act.RATES_CHANGED: "changed a rate card",
    Act.RATES_CHOSEN: "chose a rate card",
    Act.MEMBER_MARKED: "marked somebody as a member",
    Act.MEMBER_UNMARKED: "ended a membership",
    Act.ABSENTEE_BID_ENTERED: "entered an absentee bid",
    Act.ABSENTEE_BID_TAKEN_BACK: "took an absentee bid back",
    Act.KEY_RENEWED: "made a new key to sign receipts with",
    Act.SECRET_RENEWED: "made a new secret of the house",
    Act.RESULT_ENTERED: "entered the result of lots",
    Act.RESULT_TAKEN_BACK: "took back the result of lots",
    Act.DOCUMENT_ISSUED: "issued a document",
    Act.DOCUMENT_CREDITED: "took lines of a document back",
    Act.MONEY_TAKEN: "took a payment",
    Act.MONEY_PAID_OUT: "paid money out",
    Act.BANK_STATEMENT_IMPORTED: "imported a bank statement",
    Act.BANK_PAYMENT_SET_ASIDE: "set a payment from the bank aside",
    Act.SALE_CORRECTED: "corrected the sale of a lot",
    Act.MONEY_NETTED: "set off what a buyer owes against what they get",
    Act.REMINDER_SENT: "sent a reminder of an invoice",
    Act.OFFER_MADE: "offered a lot that was not sold",
    Act.OFFER_WITHDRAWN: "withdrew the offer of a lot",
    Act.LOT_RELISTED: "put a lot that was not sold into another sale",
    Act.LOT_RETURNED: "gave a lot back to its consignor, or took that back",
    Act.LOT_HANDED_OUT: "handed a lot out",
    Act.PICKUP_UNDONE: "took back that a lot was handed out",
    Act.PAYOUT_ACCOUNT_CHANGED: "changed the bank account of a consignor",
    Act.PAYMENT_FILE_MADE: "made a payment file",
    Act.PAYOUT_MARKED: "noted what became of a payout",
    Act.PAYOUT_REPORT_IMPORTED: "imported the report of a bank on a payment file",
    Act.PAYOUT_LOOKED_INTO: "looked into what a bank has said of a payout",
}
"""Each act in words that go after who did it."""


class Entry(Struct, frozen=True, kw_only=True):
    """An act of staff on the user `user` or on the thing `subject`, such as a gid. `by` is None for the command line."""

    id: int
    at: datetime
    by: str | None
    act: str
    user: str | None
    subject: str | None
    before: dict[str, str | int | bool | None]
    after: dict[str, str | int | bool | None]
    reason: str


class SubjectName(NamedTuple):
    """What an entry names by a key, such as a sale by its gid: its title or name, and `place`, its page in the back office."""

    key: str
    name: str
    place: str
