"""The words of the pages for settlement: its refusals, lines, countries and goods."""

from __future__ import annotations

from collections.abc import Mapping

from saleroom.sales.domain.lots import TaxScheme
from saleroom.settlement.domain.bank.payouts import PayoutState
from saleroom.settlement.domain.documents.content import DocumentKind
from saleroom.settlement.domain.journal import NETTED, Book, Method
from saleroom.settlement.domain.online.card_payments import Dispute, OnlineState, RefundState
from saleroom.settlement.domain.rates.bills import Bearer, Item
from saleroom.settlement.domain.rates.tax import Country, Goods
from saleroom.settlement.domain.unsold.offers import OfferState
from saleroom.settlement.domain.unsold.underbidding import LeftOut
from saleroom.site.language import N_
from saleroom.site.words import Words

WORDS = Words(
    refusals={
        "unknown_rate_card": (N_("There is no such rate card."),),
        "rate_card_taken": (N_("Another rate card has this name. Choose another name."),),
        "too_many_rate_cards": (N_("The house has as many rate cards, or versions of one, as it can have."),),
        "own_membership": (N_("You cannot mark yourself as a member. Ask another person who sets the rates."),),
        "unknown_document": (N_("There is no such document."),),
        "no_electronic_form": (N_("This document has no electronic form. Its page says what is missing for that."),),
        "nothing_to_issue": (
            N_("There is nothing to put on it: all of their lots that ended are on a document already."),
        ),
        "lot_on_document": (N_("A lot is on a document of this kind already. Credit that one first."),),
        "not_to_credit": (N_("Only lines of an invoice or a statement can be credited."),),
        "credited_already": (N_("A credit note has taken back these lines already."),),
        "not_of_house": (
            N_(
                "Price, artist's share and donations are not the house's own. Tick all lines of the lot, or correct its sale."
            ),
        ),
        "lot_changed": (N_("The amounts of the lot have changed since this document. Tick all of its lines."),),
        "lot_not_sold": (N_("This lot is not sold, or still open."),),
        "same_buyer": (N_("The lot is theirs already. Enter the paddle of the right buyer."),),
        "nothing_to_net": (N_("There is nothing to set off: they owe nothing, or the house owes them nothing."),),
        "unknown_offer": (N_("There is no such offer."),),
        "lot_sold": (N_("This lot is sold, withdrawn or not over, so it cannot be offered."),),
        "lot_offered": (N_("This lot is offered to somebody already. Withdraw that offer first."),),
        "not_returned": (N_("This lot did not go back to its consignor."),),
        "plan_changed": (N_("Lots, bidders or prices have changed since then. Look at what would be offered again."),),
        "nobody_to_offer": (N_("No paddle of this sale may bid on this lot."),),
        "offer_ended": (N_("This offer has ended: it was answered, withdrawn, or its time is over."),),
        "not_paid": (
            N_("This lot is not paid: %(owed)s is left to pay. A manager can hand it out with a reason."),
            N_("This lot is not paid. A manager can hand it out with a reason."),
        ),
        "handed_out": (N_("This lot is handed out already."),),
        "not_handed_out": (N_("This lot is not handed out."),),
        "not_overdue": (
            N_("This invoice is not overdue: it was paid or changed meanwhile, or its day has not passed."),
        ),
        "reminder_not_due": (N_("The next step about this invoice is not due yet, or there is none any more."),),
        "no_strike": (N_("There is no strike for this invoice."),),
        "unknown_bank_payment": (N_("There is no such payment from the bank."),),
        "bank_payment_decided": (N_("This payment was taken or set aside already."),),
        "other_currency": (N_("The payment is in another currency. Change it at your bank, and set it aside here."),),
        "overpaid": (
            N_("Only %(owed)s is left to pay. There is change for cash alone."),
            N_("This is more than is left to pay. There is change for cash alone."),
        ),
        "unknown_payment_file": (N_("There is no such payment file."),),
        "only_euros": (
            N_(
                "SEPA transfers are in euros, and this house has another currency. Pay out at the desk, or at your bank."
            ),
        ),
        "no_house_account": (
            N_("The house has no bank account to pay from. Ask the people who run its server to set house_iban."),
        ),
        "no_payout_account": (
            N_("%(consignor)s has no bank account. Enter it first, or leave them out."),
            N_("A consignor has no bank account. Enter it first, or leave them out."),
        ),
        "payout_under_way": (
            N_("A payout to %(consignor)s is under way. Note first that it was booked, or that it failed."),
            N_("A payout to a consignor is under way. Note first that it was booked, or that it failed."),
        ),
        "payout_decided": (N_("A payout cannot get this mark any more. Look at what has become of it."),),
        "payout_in_doubt": (
            N_(
                "The reports of the bank on a payout to %(consignor)s contradict each other. "
                "Look into it on the page of its file first."
            ),
            N_(
                "The reports of the bank on a payout contradict each other. Look into it on the page of its file first."
            ),
        ),
        "payout_not_sure": (
            N_(
                "A payout to them in this sale is in doubt: they may have the money. Look into it, or tick to pay anyway."
            ),
        ),
        "payout_not_in_doubt": (N_("Nothing is in doubt about this payout any more."),),
        "file_forgotten": (N_("The file was deleted, as the house no longer keeps names and accounts of its day."),),
        "cards_off": (N_("The house takes no cards online."),),
        "not_payable_online": (N_("Nothing of this document is open that a card can pay online."),),
        "provider_unavailable": (
            N_(
                "The card provider cannot be reached now, and nothing was paid. Try again later, or pay in another way."
            ),
        ),
        "not_refundable_online": (
            N_("Only %(most)s of what they paid by card online can be paid back there."),
            N_("They have paid less by card online."),
        ),
        "forged_callback": (N_("This is no callback of the card provider."),),
        "not_owed_by_house": (
            N_("The house owes them %(owed)s and no more."),
            N_("The house does not owe them so much."),
        ),
    },
    faults={
        "rest_twice": (N_("Only one field can have what is left."),),
        "iban_digits": (N_("The check digits of this IBAN are wrong: a digit is mistyped or missing."),),
        "iban_length": (N_("This IBAN is too short or too long for its country."),),
        "iban_country": (N_("An IBAN begins with the two letters of its country, such as DE or AT."),),
        "iban_form": (N_("Write an IBAN, such as DE75 5121 0800 1245 1261 99."),),
        "iban_not_sepa": (N_("SEPA transfers do not reach the country of this IBAN."),),
        "holder": (N_("Write the name in letters that can be written in Latin ones."),),
        "payouts_length": (N_("Choose at least one payout, and at most 500."),),
        "transfer_amount": (N_("One transfer carries at most 999,999,999.99 euros."),),
        "places": (N_("There is no such transfer in the file."),),
        "bank_file_too_costly": (
            N_("The file takes too much time or memory to read. Ask your bank for a file of fewer days."),
        ),
        "bank_file_damaged": (N_("The file is damaged. Ask your bank for the XML file again."),),
        "not_camt": (N_("This is no bank statement in CAMT.053, or it is broken. Ask your bank for the XML file."),),
        "broken_entry": (
            N_(
                "Entry %(entry)s of the statement has no amount, currency or day that can be read. Ask your bank about it."
            ),
            N_("An entry of the statement has no amount, currency or day that can be read. Ask your bank about it."),
        ),
        "is_status_report": (
            N_(
                "This is what the bank says of a payment file (pain.002), and no statement. Import it on the page of payouts."
            ),
        ),
        "not_pain002": (
            N_("This is no payment status report (pain.002), or it is broken. Ask your bank for the XML file."),
        ),
        "is_statement": (
            N_("This is a bank statement (CAMT), and no status report. Import it on the page of the bank."),
        ),
        "is_payment_file": (N_("This is a payment file itself (pain.001), and not what the bank says about it."),),
        "zipped": (N_("This is a ZIP archive. Unpack it, and send the XML files in it one by one."),),
        "report_size": (N_("The file is larger than a status report may be."),),
        "too_many_transfers": (N_("The file has more transfers than one import takes."),),
        "no_status": (N_("The report says nothing about the payment file."),),
        "unknown_file": (
            N_("The report is about %(about)s, and this house has made no such payment file."),
            N_("The report is about a payment file that this house has not made."),
        ),
        "before_first": (N_("The last day must not be before the first one."),),
        "last_day_missing": (N_("This day is after the last month. Enter the last day, too."),),
        "first_day_missing": (N_("This day is before the last month. Enter the first day, too."),),
        "one_or_all": (N_("Enter a paddle, or tick that the offer is to all: one of the two."),),
        "same_sale": (N_("Choose another sale."),),
        "booked_in_future": (
            N_("The statement has a booking on a day that is to come. Ask your bank for the file again."),
            N_("The statement has a booking of a day that is to come. Ask your bank for the file again."),
        ),
        "document_type": (N_("The file has a document type (DOCTYPE), which files of banks never have."),),
        "statement_size": (N_("The file is larger than a bank statement may be. Send shorter periods."),),
        "too_many_payments": (N_("The file has more payments than one import takes. Send shorter periods."),),
        "one_statement": (N_("Choose one file."),),
        "other_account": (N_("This is the statement of another account than that of the house."),),
        "no_iban": (N_("The statement does not name its account by an IBAN. Ask your bank for one that does."),),
        "provider_unit": (N_("This amount cannot be paid back to a card."),),
        "set_aside": (N_("The payment has more decimals than this currency. Set it aside with a reason."),),
        "sale_or_reason": (N_("Choose a sale and a buyer, or say why it is for none."),),
        "unknown_sale": (N_("There is no such sale."),),
        "buyer": (N_("Enter a paddle or a username."),),
        "day_passed": (N_("This day is over. Choose today or a later day, or leave the field empty."),),
        "day_too_far": (
            N_("This day is more than a year away. Choose one within 365 days, or leave the field empty."),
        ),
        "offer_too_long": (N_("An offer lasts from 1 to 60 days."),),
        "one_party": (N_("A document is for one: name a buyer or a consignor, and only one of them."),),
        "payments_length": (N_("Take up to ten payments at once."),),
        "country": (N_("Enter a country by its two letters, such as DE."),),
        "vat_id": (
            N_("Enter a VAT number with the letters of its country and correct check digits, such as DE136695976."),
        ),
        "no_membership": (N_("A person who is no member has no last day. Leave the day empty."),),
        "day": (N_("Enter a day, such as 2026-12-09."),),
        "lines": (N_("Name lines by their places, the first of which is 0."),),
        "document_lines": (N_("There must be lines, or for a receipt only payments."),),
        "too_many_lines": (N_("There are too many lines for one document."),),
        "minor_unit": (N_("An amount has more decimals than this currency."),),
        "line_tax": (N_("The tax of a line is not that of its rate."),),
        "percent_too_high": (N_("Enter at most 100 per cent."),),
        "too_many_tiers": (N_("Enter at most 20 tiers."),),
        "first_tier": (N_("The first tier must be above 0."),),
        "tiers_rise": (N_("Each tier must be above a higher price than the one before."),),
        "plan_tag": (N_("Look at the plan once more, and offer from there."),),
        "tick_missing": (N_("Tick that members have a scale of their own, or empty this field."),),
        "tier_format": (N_("Write each tier on a line of its own, such as 0: 25 for 25 per cent above 0."),),
        "gid": (N_("There is no such rate card."),),
    },
)

DOCUMENTS: Mapping[DocumentKind, str] = {
    DocumentKind.INVOICE: N_("Invoice"),
    DocumentKind.STATEMENT: N_("Statement"),
    DocumentKind.CREDIT_NOTE: N_("Credit note"),
    DocumentKind.RECEIPT: N_("Receipt for a payment"),
}
LACKS: Mapping[str, str] = {
    "kind": N_("only an invoice and its credit note have one"),
    "currency": N_("the currency has three decimals"),
    "house country": N_("the country of the house is not set"),
    "name": N_("the name of the buyer is deleted"),
    "country": N_("the country of the buyer is not known"),
    "house tax": N_("neither VAT number nor tax number of the house is set"),
    "house vat": N_("the VAT number of the house is not set"),
    "vat": N_("the VAT number of the buyer is not known"),
    "words": N_("the rate card names no country, whose law has words for its tax"),
    "rounding": N_(
        "the tax of all its lines, each rounded, is too far from that of their sum; invoices of fewer lots have one"
    ),
}
LEFT_OUT: Mapping[LeftOut, str] = {
    LeftOut.NO_BID: N_("Nobody has bid."),
    LeftOut.NO_PADDLE: N_("The underbidder has no paddle."),
}
OFFER_STATES: Mapping[OfferState, str] = {
    OfferState.OPEN: N_("open"),
    OfferState.ACCEPTED: N_("accepted"),
    OfferState.DECLINED: N_("declined"),
    OfferState.WITHDRAWN: N_("withdrawn"),
    OfferState.EXPIRED: N_("expired"),
    OfferState.TAKEN: N_("bought by somebody else"),
}
PAYOUT_STATES: Mapping[PayoutState, str] = {
    PayoutState.MADE: N_("in the file"),
    PayoutState.SENT: N_("given to the bank"),
    PayoutState.BOOKED: N_("booked"),
    PayoutState.FAILED: N_("failed"),
}
ONLINE = N_("Card, online")
METHODS: Mapping[Method, str] = {
    Method.CASH: N_("Cash"),
    Method.CARD: N_("Card"),
    Method.BANK: N_("Transfer"),
    Method.OTHER: N_("Other"),
}
WAYS: Mapping[str, str] = {
    **{one.value: said for one, said in METHODS.items()},
    Book.IN_TRANSIT.value: N_("By a payment file"),
    Method.ONLINE.value: ONLINE,
    Book.ROUNDING.value: N_("Rounding of cash"),
    NETTED: N_("Set off"),
}
BOOKS: Mapping[Book, str] = {
    Book.BUYERS: N_("Owed by buyers"),
    Book.CONSIGNORS: N_("Owed to consignors"),
    Book.OWN_LOTS: N_("The house's own lots"),
    Book.PREMIUM: N_("Premium"),
    Book.COMMISSION: N_("Commission"),
    Book.FEES: N_("Fees"),
    Book.TAX: N_("Tax"),
    Book.RESALE_RIGHT: N_("Artist's resale right"),
    Book.DONATIONS: N_("Donations"),
    Book.CASH: N_("Cash"),
    Book.CARD: N_("Card"),
    Book.BANK: N_("Transfer"),
    Book.ONLINE: ONLINE,
    Book.OTHER: N_("Other"),
    Book.IN_TRANSIT: N_("Transfers under way"),
    Book.ROUNDING: N_("Rounding of cash"),
}
ONLINE_STATES: Mapping[OnlineState, str] = {
    OnlineState.ASKED: N_("asked for"),
    OnlineState.OPEN: N_("not paid yet"),
    OnlineState.PAID: N_("paid"),
    OnlineState.EXPIRED: N_("not paid"),
    OnlineState.UNCLEAR: N_("unclear: look at the provider's site"),
}
REFUND_STATES: Mapping[RefundState, str] = {
    RefundState.ASKED: N_("asked for"),
    RefundState.PENDING: N_("on its way"),
    RefundState.DONE: N_("done"),
    RefundState.FAILED: N_("failed"),
}
DISPUTES: Mapping[Dispute, str] = {
    Dispute.OPEN: N_("disputed: answer at the provider's site"),
    Dispute.WON: N_("dispute won"),
    Dispute.LOST: N_("dispute lost: the money is gone, and the buyer owes it again"),
}
ITEMS: Mapping[Item, str] = {
    Item.HAMMER: N_("Hammer price"),
    Item.PREMIUM: N_("Buyer's premium"),
    Item.SURCHARGE: N_("Surcharge"),
    Item.RESALE_RIGHT: N_("Artist's resale right"),
    Item.COMMISSION: N_("Seller's commission"),
    Item.ENTRY: N_("Entry fee"),
    Item.PHOTO: N_("Photo fee"),
    Item.UNSOLD: N_("Fee for an unsold lot"),
    Item.INSURANCE: N_("Insurance"),
    Item.DONATION: N_("Donation"),
}
SCHEMES: Mapping[TaxScheme, str] = {
    TaxScheme.STANDARD: N_("Standard rate"),
    TaxScheme.MARGIN: N_("Margin scheme"),
    TaxScheme.EXEMPT: N_("Exempt"),
    TaxScheme.RESALE_RIGHT: N_("With resale right"),
    TaxScheme.REVERSE_CHARGE: N_("Reverse charge"),
    TaxScheme.NONE: N_("No tax"),
}
COUNTRIES: Mapping[Country, str] = {
    Country.DE: N_("Germany"),
    Country.AT: N_("Austria"),
    Country.CH: N_("Switzerland"),
    Country.UK: N_("United Kingdom"),
    Country.NONE: N_("none: the house charges no tax"),
}
GOODS: Mapping[Goods, str] = {
    Goods.SECOND_HAND: N_("second-hand goods"),
    Goods.ART: N_("works of art"),
    Goods.COLLECTORS: N_("collectors' items"),
    Goods.ANTIQUES: N_("antiques"),
}
PAYERS: Mapping[Bearer, str] = {Bearer.BUYER: N_("the buyer"), Bearer.CONSIGNOR: N_("the consignor")}
CODES: Mapping[str, Mapping[str, str]] = {
    "back": {one.value: said for one, said in METHODS.items()},
    "state": {one.value: said for one, said in PAYOUT_STATES.items()},
}
"""The words for values of the audit log."""
