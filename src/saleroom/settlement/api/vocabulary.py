"""The words of the API's document that are about settlement."""

from __future__ import annotations

from saleroom.bidding.domain.events import Channel
from saleroom.http.schemas import COUNT, GID_PATTERN, INSTANT, MONEY, Schema, Vocabulary
from saleroom.sales.domain.lots import TaxScheme
from saleroom.settlement.api import (
    bank_vocabulary,
    document_vocabulary,
    member_vocabulary,
    offer_vocabulary,
    online_vocabulary,
    payout_vocabulary,
    pickup_vocabulary,
    reminder_vocabulary,
    report_vocabulary,
)
from saleroom.settlement.domain.errors import NotOwedByHouse, Overpaid
from saleroom.settlement.domain.journal import WAYS, Book
from saleroom.settlement.domain.rates.bills import Bearer, Item
from saleroom.settlement.domain.rates.tax import Country, Goods

SIGNED: Schema = {"type": "string", "pattern": r"^-?(?:0|[1-9][0-9]{0,16})\.[0-9]{3}$", "examples": ["-12.500"]}
_PERCENT: Schema = {**MONEY, "examples": ["25.000"]}

VOCABULARY = Vocabulary(
    members={
        **document_vocabulary.MEMBERS,
        **member_vocabulary.MEMBERS,
        **report_vocabulary.MEMBERS,
        **bank_vocabulary.MEMBERS,
        **reminder_vocabulary.MEMBERS,
        **pickup_vocabulary.MEMBERS,
        **offer_vocabulary.MEMBERS,
        **payout_vocabulary.MEMBERS,
        **online_vocabulary.MEMBERS,
        "above": (MONEY, "The tier is for prices above this one."),
        "buyerLines": ({}, "What the buyer pays, line by line; empty if the lot is not sold."),
        "balance": (SIGNED, "The balance: what is positive is there, or owed to the house."),
        "bill": ({}, "What the lot costs its buyer and brings its consignor."),
        "balances": ({}, "The balances of the accounts; their sum is 0."),
        "buyers": ({}, "The buyers of the sale, and what is left to pay."),
        "change": (MONEY, "What is given back in cash."),
        "consignorBalances": ({}, "The consignors of the sale, and what the house owes them."),
        "hammerTotal": (MONEY, "The sum of the hammer prices."),
        "lotName": ({}, "The name of the lot."),
        "lotsToCredit": (
            {},
            "Lots on documents that state something else than the lots have come to since: credit their lines there first.",
        ),
        "lotsBought": (COUNT, "How many lots they have bought."),
        "lotsSold": (COUNT, "How many of their lots are sold."),
        "method": (
            {"enum": list(WAYS)},
            "How it moved; `in_transit` is by a payment file, `netting` what was set off, `rounding` what cash cannot pay.",
        ),
        "money": ({}, "The payments, the oldest first."),
        "moved": (SIGNED, "How much: positive to the house, negative from it."),
        "ownLots": ({}, "The lots that they brought to the sale themselves; null if they brought none."),
        "owedInCash": (MONEY, "What is left to pay as cash can pay it: rounded to the smallest coin."),
        "tooLargeLots": ({}, "Lots that cost more than an amount can say, so that the journal has no entry for them."),
        "paidAt": (INSTANT, "When it moved."),
        "settledLots": ({}, "The lots with their lines, in the order of calling."),
        "soldLots": (COUNT, "How many lots are sold."),
        "toInvoice": ({}, "Whether lots or pledges of theirs are on no invoice yet."),
        "toPayOut": (SIGNED, "What the house owes the consignor; negative if they owe it."),
        "unsoldLots": (COUNT, "How many lots are over and not sold."),
        "card": ({"pattern": GID_PATTERN}, "The rate card."),
        "cardName": ({}, "By what name the house knows the rate card."),
        "cardVersion": ({"minimum": 1}, "The number of the version: each change makes another one."),
        "commission": ({}, "The seller's commission."),
        "consignorLines": ({}, "What the consignor gets and bears, line by line."),
        "country": ({"enum": list(Country)}, "Whose law taxes the house."),
        "cumulative": ({}, "Whether each percentage is of the part of the price in its tier."),
        "donation": (_PERCENT, "What the consignor donates, in per cent of the hammer price."),
        "due": (MONEY, "What the buyer owes in all; null without a price above 0."),
        "memberDue": (
            MONEY,
            "What a member would owe in all; null without a price above 0, or without rates of members.",
        ),
        "entryFee": (MONEY, "The consignor's fee for each lot."),
        "goods": ({"enum": list(Goods)}, "What is sold by the rate card."),
        "hiddenTax": (MONEY, "The tax inside the amount by the margin scheme, which no paper shows."),
        "insurance": (_PERCENT, "Insurance of a lot that is sold, in per cent of the hammer price."),
        "issuedInvoice": ({"pattern": GID_PATTERN}, "The invoice that was issued with the payment; null without one."),
        "item": ({"enum": list(Item)}, "What the line is about."),
        "ledgerAccount": ({"enum": list(Book)}, "The account of the journal."),
        "legalWords": ({}, "What the law wants to be said on paper; null if nothing."),
        "lineAmount": (SIGNED, "The amount without the tax on top of it; what a consignor bears is negative."),
        "lineTax": (SIGNED, "The tax on top of the amount."),
        "minimum": (MONEY, "The least that is taken of a lot that is sold."),
        "percent": (_PERCENT, "So many per cent of the price."),
        "photoFee": (MONEY, "The consignor's fee for the photos of each lot."),
        "premium": ({}, "The buyer's premium."),
        "proceeds": (SIGNED, "What the consignor gets; negative if they owe."),
        "rateCards": ({}, "The rate cards, by name."),
        "resaleRight": ({"enum": list(Bearer)}, "Who bears the artist's resale right."),
        "since": (INSTANT, "From when on this version holds."),
        "surcharges": (
            {"propertyNames": {"enum": list(Channel)}},
            "What is added to the premium by the channel of the winning bid, in per cent of the hammer price.",
        ),
        "taxPercent": (_PERCENT, "The percentage of the tax on top."),
        "tiers": ({}, "They rise, and the first is above 0."),
        "unsoldFee": (MONEY, "The consignor's fee for each lot that is not sold."),
    },
    forms={
        **report_vocabulary.FORMS,
        **bank_vocabulary.FORMS,
        **payout_vocabulary.FORMS,
        **online_vocabulary.FORMS,
        ("DocumentLineView", "taxScheme"): {"enum": list(TaxScheme), "description": "The tax scheme of its lot."},
        ("DeskView", "owed"): {**SIGNED, "description": "What is left to pay; negative if the house owes it to them."},
        ("BuyerBalanceView", "owed"): {**SIGNED, "description": "What is left to pay; negative if the house owes it."},
        ("RateCardView", "taxScheme"): {
            "enum": list(TaxScheme),
            "description": "The tax scheme of lots that have none themselves.",
        },
        ("PreviewView", "taxScheme"): {
            "enum": list(TaxScheme),
            "description": "The tax scheme that holds for the lot.",
        },
        ("BillView", "taxScheme"): {"enum": list(TaxScheme), "description": "The tax scheme that holds for the lot."},
        ("RateChoiceView", "card"): {
            "pattern": GID_PATTERN,
            "description": "The rate card that is chosen; null for none of its own.",
        },
    },
    facts={
        **reminder_vocabulary.FACTS,
        **pickup_vocabulary.FACTS,
        **offer_vocabulary.FACTS,
        **payout_vocabulary.FACTS,
        **online_vocabulary.FACTS,
        Overpaid: {"owed": {**MONEY, "description": "What is left to pay."}},
        NotOwedByHouse: {"owed": {**MONEY, "description": "What the house owes."}},
    },
    tags={"settlement": "After the hammer: rates, what lots cost and bring, payments, accounts and documents."},
)
