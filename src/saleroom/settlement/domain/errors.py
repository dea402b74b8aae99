"""The refusals of settlement; their kinds are in `kernel/errors.py`."""

from __future__ import annotations

from saleroom.kernel.errors import Conflict, Forbidden, Unknown, Unreadable


class UnknownRateCard(Unknown):
    """There is no such rate card."""

    code = "unknown_rate_card"


class RateCardTaken(Conflict):
    """Another rate card has this name, or one that looks the same."""

    code = "rate_card_taken"


class TooManyRateCards(Conflict):
    """The house has as many rate cards, or versions of one, as it can have."""

    code = "too_many_rate_cards"


class OwnMembership(Forbidden):
    """Nobody marks themselves as a member without the right to set rates; ask somebody else."""

    code = "own_membership"


class UnknownDocument(Unknown):
    """There is no such document."""

    code = "unknown_document"


class NoElectronicForm(Conflict):
    """The document has no electronic form; `lacks` of `GET /documents/{gid}` says what is missing for that."""

    code = "no_electronic_form"


class NotToCredit(Conflict):
    """Only lines of an invoice or a statement can be credited, by their places in it."""

    code = "not_to_credit"


class CreditedAlready(Conflict):
    """A credit note has taken back these lines already."""

    code = "credited_already"


class NotOfHouse(Conflict):
    """The price, the artist's share and donations are not the house's own: credit all lines of the lot, or correct its sale."""

    code = "not_of_house"


class LotChanged(Conflict):
    """The lot has come to something else since the document: credit all of its lines."""

    code = "lot_changed"


class LotOnDocument(Conflict):
    """A lot is on a document of this kind already; credit that one first."""

    code = "lot_on_document"


class NothingToIssue(Conflict):
    """No lot of theirs ended that is not on a document already."""

    code = "nothing_to_issue"


class LotNotSold(Conflict):
    """The lot is not sold, or still open."""

    code = "lot_not_sold"


class SameBuyer(Conflict):
    """The lot is theirs already."""

    code = "same_buyer"


class NothingToNet(Conflict):
    """The buyer is no consignor to whom the house owes something, or owes nothing."""

    code = "nothing_to_net"


class UnknownOffer(Unknown):
    """There is no such offer."""

    code = "unknown_offer"


class LotSold(Conflict):
    """The lot is sold, withdrawn or not over, so it cannot be offered."""

    code = "lot_sold"


class LotOffered(Conflict):
    """The lot is offered to somebody already; withdraw that offer first."""

    code = "lot_offered"


class PlanChanged(Conflict):
    """What would be offered is not what you have seen: lots, bidders or prices have changed. Look at the preview again."""

    code = "plan_changed"


class NobodyToOffer(Conflict):
    """Nobody in the sale has a paddle and may bid, but perhaps the consignor: the lot can be offered to nobody."""

    code = "nobody_to_offer"


class NotReturned(Conflict):
    """The lot did not go back to its consignor."""

    code = "not_returned"


class OfferEnded(Conflict):
    """The offer was answered, withdrawn, or has expired: `state` says which."""

    code = "offer_ended"


class NotPaid(Conflict):
    """The lot is not paid; a manager can hand it out with a reason. `owed` is what its buyer has left to pay."""

    code = "not_paid"


class HandedOut(Conflict):
    """The lot is handed out already."""

    code = "handed_out"


class NotHandedOut(Conflict):
    """The lot is not handed out."""

    code = "not_handed_out"


class NotOverdue(Conflict):
    """The document is no overdue invoice: it is paid, its day has not passed, or a lot of it was changed since: credit that."""

    code = "not_overdue"


class ReminderNotDue(Conflict):
    """The calendar of the house has no step about this invoice yet; `on` is the day of the next one, null after the last."""

    code = "reminder_not_due"


class NoStrike(Conflict):
    """There is no strike for this invoice."""

    code = "no_strike"


class UnknownBankPayment(Unknown):
    """There is no such payment from the bank."""

    code = "unknown_bank_payment"


class BankPaymentDecided(Conflict):
    """The payment from the bank was taken or set aside already."""

    code = "bank_payment_decided"


class OtherCurrency(Conflict):
    """The payment is in another currency than that of the house; change it at the bank, and set it aside."""

    code = "other_currency"


class Overpaid(Conflict):
    """More is paid than owed, and not in cash, so that there is no change; `owed` is what is left to pay."""

    code = "overpaid"


class NotOwedByHouse(Conflict):
    """The house does not owe so much; `owed` is what it owes."""

    code = "not_owed_by_house"


class UnknownPaymentFile(Unknown):
    """There is no such payment file."""

    code = "unknown_payment_file"


class OnlyEuros(Conflict):
    """SEPA transfers are in euros, and the house has another currency: pay out at the desk or at your bank."""

    code = "only_euros"


class NoHouseAccount(Conflict):
    """The house has no account that transfers come from; set `house_iban`."""

    code = "no_house_account"


class NoPayoutAccount(Conflict):
    """The consignor has no bank account; enter it first. `consignor` is the code."""

    code = "no_payout_account"


class PayoutUnderWay(Conflict):
    """A payout to the consignor in this sale is under way; it must be booked or have failed first. `consignor` is the code."""

    code = "payout_under_way"


class PayoutDecided(Conflict):
    """A payout cannot get this mark from the state that it has; `state` says which."""

    code = "payout_decided"


class PayoutInDoubt(Conflict):
    """What the bank said of a payout to the consignor in this sale does not fit; look into it. `consignor` is the code."""

    code = "payout_in_doubt"


class PayoutNotSure(Conflict):
    """A payout to them in this sale is in doubt, so they may have the money: look into it, or send `isSure`."""

    code = "payout_not_sure"


class PayoutNotInDoubt(Conflict):
    """Nothing that the bank has said of this payout is in doubt, or somebody has looked into it already."""

    code = "payout_not_in_doubt"


class FileForgotten(Conflict):
    """The file is older than the house keeps names and accounts, so it was deleted; its amounts are still there."""

    code = "file_forgotten"


class CardsOff(Unknown):
    """The house takes no cards online."""

    code = "cards_off"


class NotPayableOnline(Conflict):
    """The document is no invoice of which something is open that a card can pay online."""

    code = "not_payable_online"


class ProviderUnavailable(Conflict):
    """The card provider makes no page now; nothing was paid. Try again later, or pay in another way."""

    code = "provider_unavailable"


class NotRefundableOnline(Conflict):
    """They have paid less by card online than should be paid back there; `most` is what can be."""

    code = "not_refundable_online"


class ForgedCallback(Unreadable):
    """The signature is not that of the card provider, or the callback is too old."""

    code = "forged_callback"
