"""The form of a bid: read as it was typed, and as it was confirmed."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from decimal import Decimal

from msgspec import Struct, structs

from saleroom.bidding.domain.caution import times_the_price
from saleroom.bidding.domain.preconditions import Precondition
from saleroom.bidding.domain.views import AuctionView
from saleroom.bidding.service.lot import LotDetails
from saleroom.kernel.errors import Fault, Invalid
from saleroom.kernel.money import ZERO, parse_money
from saleroom.site.language import N_, Language

KEY_BYTES = 16
NUMBER = re.compile(r"[0-9]{1,9}")
_KEY = re.compile(r"[A-Za-z0-9_-]{1,64}")
_BELOW_LEAST = N_("Bid %(amount)s or more.")
_BELOW_BID = N_("The limit must be at least as high as the bid.")
_BELOW_LIMIT = N_("You have a limit of %(amount)s already. A new one must be higher.")
_NOT_TYPED_AGAIN = N_("This is not the amount of your bid. Type it once more, or change your bid.")


class Proposal(Struct, frozen=True):
    """A bid for its bidder to confirm, exactly as it will be placed; with its `key` it counts once.

    `texts` are its amounts as they were typed, by field.
    """

    amount: Decimal | None
    maximum: Decimal | None
    buy: bool
    key: str
    texts: Mapping[str, str] = {}

    @property
    def limit(self) -> Decimal:
        """The most that the bidder would pay; zero for a purchase, whose price is the seller's."""
        return self.maximum or self.amount or ZERO

    def times(self, a: AuctionView) -> int | None:
        """Return how many times the price of the lot this is, if that may be a slip."""
        return times_the_price(Decimal(a.current_bid or a.starting_price), self.limit)

    def asked_again(self) -> Proposal:
        """Return the same bid, to be confirmed as a new one."""
        return structs.replace(self, key=new_key())

    def raised(self, least: Decimal) -> Proposal:
        """Return the next possible bid after this one was overtaken: its limit stays if it is high enough."""
        limit = self.maximum if self.maximum is not None and self.maximum >= least else None
        amount = None if self.amount is None and limit is not None else least
        return Proposal(amount, limit, buy=False, key=new_key())


def purchase() -> Proposal:
    """Return a purchase at the buy-now price."""
    return Proposal(None, None, buy=True, key=new_key())


def read(language: Language, found: LotDetails, sent: dict[str, str]) -> tuple[Proposal, dict[str, str]]:
    """Return the bid in a form, and by field those of its faults that everyone may know."""
    faults: dict[str, str] = {}
    values: dict[str, Decimal | None] = {"amount": None, "maximum": None}
    leading = found.standing == "leading"
    for name in values:
        text = sent.get(name, "").strip()
        needed = leading == (name == "maximum") and (leading or not sent.get("maximum", "").strip())
        if text or needed:
            value = language.parse_money(text)
            if isinstance(value, Fault):
                faults[name] = value.message
            else:
                values[name] = value
    amount, maximum = values["amount"], values["maximum"]
    least = least_bid(found) or ZERO
    if amount is not None and amount < least:
        faults["amount"] = language.gettext(_BELOW_LEAST, amount=language.money(least))
    if maximum is not None and amount is not None and maximum < amount and "amount" not in faults:
        faults["maximum"] = language.gettext(_BELOW_BID)
    elif leading and maximum is not None and found.limit is not None and maximum <= found.limit:
        faults["maximum"] = language.gettext(_BELOW_LIMIT, amount=language.money(found.limit))
    elif not leading and maximum is not None and maximum < least:
        faults["maximum"] = language.gettext(_BELOW_LEAST, amount=language.money(least))
    return Proposal(amount, maximum, buy=False, key=new_key(), texts=_texts(sent)), faults


def confirmed(sent: dict[str, str], *, buy: bool) -> tuple[Proposal, Precondition]:
    """Return the confirmed bid, and the state of the lot that its bidder had seen. Raises Invalid."""
    seen, price = version(sent), _exact(sent, "price") if buy else None
    if seen is None or (buy and price is None):
        raise Invalid.one("version", "required", "is missing; open the lot again")
    amount, maximum = (None, None) if buy else (_exact(sent, "exactAmount"), _exact(sent, "exactMaximum"))
    if not buy and amount is maximum is None:
        raise Invalid.one("amount", "required", "is required")
    return Proposal(amount, maximum, buy=buy, key=_key(sent), texts=_texts(sent)), Precondition(
        version=seen, price=price
    )


def typed(language: Language, sent: dict[str, str]) -> dict[str, str]:
    """Return the amount and the limit of a form as their bidder types them, also from a bid that was to be confirmed."""
    exact = {"amount": _known(sent, "exactAmount"), "maximum": _known(sent, "exactMaximum")}
    return {name: sent.get(name, "") if found is None else language.amount(found) for name, found in exact.items()}


def doubts(language: Language, proposal: Proposal) -> list[str]:
    """Return how the amounts of a bid were read, if those that were typed may mean thousands."""
    amounts = {"amount": proposal.amount, "maximum": proposal.maximum}
    said = [
        language.doubt(proposal.texts[name], amount)
        for name, amount in amounts.items()
        if amount is not None and name in proposal.texts and language.parse_money(proposal.texts[name]) == amount
    ]
    return [one for one in said if one is not None]


def slip_fault(language: Language, a: AuctionView, proposal: Proposal, sent: dict[str, str]) -> str | None:
    """Return the fault of a bid that may be a slip and whose amount was not typed again, otherwise None."""
    if proposal.times(a) is None:
        return None
    again = language.parse_money(sent.get("again", "").strip())
    if isinstance(again, Fault):
        return again.message
    return None if again == proposal.limit else language.gettext(_NOT_TYPED_AGAIN)


def version(sent: dict[str, str]) -> int | None:
    """Return the version of the lot that a form was shown with, or None."""
    text = sent.get("version", "")
    return int(text) if NUMBER.fullmatch(text) else None


def least_bid(found: LotDetails) -> Decimal | None:
    """Return the next possible bid, None if there is none."""
    text = found.auction.minimum_bid
    return None if text is None else Decimal(text)


def new_key() -> str:
    """Return an idempotency key for a bid."""
    return secrets.token_urlsafe(KEY_BYTES)


def _texts(sent: dict[str, str]) -> dict[str, str]:
    return {name: sent[name] for name in ("amount", "maximum") if name in sent}


def _key(sent: dict[str, str]) -> str:
    if _KEY.fullmatch(sent.get("key", "")) is None:
        raise Invalid.one("key", "required", "is missing; open the lot again")
    return sent["key"]


def _known(sent: dict[str, str], name: str) -> Decimal | None:
    try:
        return _exact(sent, name)
    except Invalid:
        return None


def _exact(sent: dict[str, str], name: str) -> Decimal | None:
    """Return an amount that the page itself wrote into the form, as on the wire. Raises Invalid."""
    if name not in sent:
        return None
    found = parse_money(sent[name])
    if isinstance(found, Fault):
        raise Invalid({"amount": [found]})
    return found
