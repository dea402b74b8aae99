"""The words of the pages for the audit log: acts, what they changed, and from what to what."""

from __future__ import annotations

from collections.abc import Mapping

from saleroom.accounts.domain.audit import ACTS, Act, Entry
from saleroom.accounts.web.words import ROLES, STATES
from saleroom.site.language import N_, Language

ACTS_SAID: Mapping[str, str] = {
    Act.USER_ADDED: N_("added a user"),
    Act.PASSWORD_SET: N_("set a user's password"),
    Act.CODES_SWITCHED_OFF: N_("switched off a user's one-time codes"),
    Act.PASSKEYS_REMOVED: N_("removed a user's passkeys"),
    Act.ROLE_CHANGED: N_("gave a user another role"),
    Act.SELLER_APPROVED: N_("approved a seller"),
    Act.SELLER_WITHDRAWN: N_("took back the approval of a seller"),
    Act.BID_VOIDED: N_("voided a bid"),
    Act.LOT_HIDDEN: N_("took a lot down"),
    Act.LOT_SHOWN: N_("put a lot back"),
    Act.SALE_CANCELLED: N_("cancelled a sale"),
    Act.USER_WARNED: N_("warned a user"),
    Act.USER_SUSPENDED: N_("suspended a user"),
    Act.USER_BANNED: N_("banned a user"),
    Act.BAR_LIFTED: N_("lifted the suspension or the ban of a user"),
    Act.USER_STRUCK: N_("gave a user a strike for an invoice that is not paid"),
    Act.STRIKE_FORGIVEN: N_("forgave a strike of a user"),
    Act.SESSIONS_ENDED: N_("logged a user out everywhere"),
    Act.WORDS_SENT_AGAIN: N_("had mails sent again"),
    Act.INVITATION_MADE: N_("invited somebody to a role"),
    Act.INVITATION_REVOKED: N_("revoked an invitation"),
    Act.WEBHOOK_ADDED: N_("had the events of all lots posted to a webhook"),
    Act.WEBHOOK_CHANGED: N_("changed a webhook for the events of all lots"),
    Act.WEBHOOK_DELETED: N_("deleted a webhook for the events of all lots"),
    Act.USER_ERASED: N_("erased a user"),
    Act.SALE_MADE: N_("made a sale of many lots"),
    Act.SALE_CHANGED: N_("changed a sale of many lots"),
    Act.SALE_PUBLISHED: N_("published a sale with its lots"),
    Act.SALE_CALLED_OFF: N_("cancelled a sale with its lots"),
    Act.SALE_PAUSED: N_("paused a sale with all its lots"),
    Act.SALE_RESUMED: N_("let a paused sale go on"),
    Act.LOT_ADDED: N_("added a lot to a sale"),
    Act.LOT_CHANGED: N_("changed a lot of a sale"),
    Act.LOT_WITHDRAWN: N_("withdrew a lot from a sale"),
    Act.LOTS_ORDERED: N_("put the lots of a sale in another order"),
    Act.CATALOGUE_IMPORTED: N_("imported lots into a sale"),
    Act.CONSIGNOR_ADDED: N_("added a consignor"),
    Act.CONSIGNOR_CHANGED: N_("changed a consignor"),
    Act.BIDDER_ADMITTED: N_("admitted somebody to a sale"),
    Act.BIDDER_CHANGED: N_("changed the admission of a bidder to a sale"),
    Act.BIDDER_CHECKED_IN: N_("checked a bidder in at a sale"),
    Act.BIDDERS_MERGED: N_("merged two bidders of a sale"),
    Act.BLOCK_ACTED: N_("acted on the block of a sale"),
    Act.RATES_MADE: N_("made a rate card"),
    Act.RATES_CHANGED: N_("changed a rate card"),
    Act.RATES_CHOSEN: N_("chose a rate card"),
    Act.MEMBER_MARKED: N_("marked somebody as a member"),
    Act.MEMBER_UNMARKED: N_("ended a membership"),
    Act.ABSENTEE_BID_ENTERED: N_("entered an absentee bid"),
    Act.ABSENTEE_BID_TAKEN_BACK: N_("took an absentee bid back"),
    Act.KEY_RENEWED: N_("made a new key to sign receipts with"),
    Act.SECRET_RENEWED: N_("made a new secret of the house"),
    Act.RESULT_ENTERED: N_("entered the result of lots"),
    Act.RESULT_TAKEN_BACK: N_("took back the result of lots"),
    Act.DOCUMENT_ISSUED: N_("issued a document"),
    Act.DOCUMENT_CREDITED: N_("took lines of a document back"),
    Act.MONEY_TAKEN: N_("took a payment"),
    Act.MONEY_PAID_OUT: N_("paid money out"),
    Act.BANK_STATEMENT_IMPORTED: N_("imported a bank statement"),
    Act.BANK_PAYMENT_SET_ASIDE: N_("set a payment from the bank aside"),
    Act.SALE_CORRECTED: N_("corrected the sale of a lot"),
    Act.REMINDER_SENT: N_("sent a reminder of an invoice"),
    Act.OFFER_MADE: N_("offered a lot that was not sold"),
    Act.OFFER_WITHDRAWN: N_("withdrew the offer of a lot"),
    Act.LOT_RELISTED: N_("put a lot that was not sold into another sale"),
    Act.LOT_RETURNED: N_("gave a lot back to its consignor, or took that back"),
    Act.LOT_HANDED_OUT: N_("handed a lot out"),
    Act.PICKUP_UNDONE: N_("took back that a lot was handed out"),
    Act.PAYOUT_ACCOUNT_CHANGED: N_("changed the bank account of a consignor"),
    Act.PAYMENT_FILE_MADE: N_("made a payment file"),
    Act.PAYOUT_MARKED: N_("noted what became of a payout"),
    Act.PAYOUT_REPORT_IMPORTED: N_("imported the report of a bank on a payment file"),
    Act.PAYOUT_LOOKED_INTO: N_("looked into what a bank has said of a payout"),
    Act.MONEY_NETTED: N_("set off what a buyer owes against what they get"),
}
"""The acts as pages name them: the same words as `domain.audit.ACTS`, and translated."""
_CHANGED: Mapping[str, str] = {
    "barred": N_("standing"),
    "hidden": N_("hidden"),
    "leader": N_("number of the leading user"),
    "passkeys": N_("passkeys"),
    "price": N_("price"),
    "role": N_("role"),
    "seller": N_("approved as a seller"),
    "status": N_("status"),
    "until": N_("until"),
    "voided": N_("number of the voided bid's event"),
    "words": N_("mails"),
}
_YES, _NO = N_("yes"), N_("no")


def act(language: Language, code: str) -> str:
    """Return an act in words; one that this version does not know, by its code."""
    return language.gettext(ACTS_SAID.get(code, ACTS.get(Act(code), code) if code in [*Act] else code))


def changes(language: Language, entry: Entry) -> list[tuple[str, str | None, str | None]]:
    """Return what an act has changed: the name, and the value before and after in words, None if there is none."""
    names = dict.fromkeys((*entry.before, *entry.after))
    return [
        (
            language.gettext(_CHANGED[name]) if name in _CHANGED else name,
            _value(language, name, entry.before.get(name)),
            _value(language, name, entry.after.get(name)),
        )
        for name in names
    ]


def _value(language: Language, name: str, value: str | int | bool | None) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return language.gettext(_YES if value else _NO)
    if name == "until":
        return " ".join(language.when(str(value)))
    if name == "price":
        return language.money(str(value))
    said = ROLES.get(str(value)) or STATES.get(str(value))
    return str(value) if said is None else language.gettext(said)
