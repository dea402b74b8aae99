"""The book: absentee bids that people have left on paper or by telephone (docs/rules.md, "The book", number by number).

Each is a maximum of the one bid engine; what is taken back is voided by its rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal

from msgspec import Struct

from saleroom.bidding.domain.auction import Auction, refuse_if_over
from saleroom.bidding.domain.bidding import BidRequest
from saleroom.bidding.domain.errors import OnBlock
from saleroom.bidding.domain.events import Channel, Event
from saleroom.bidding.domain.paddles import PADDLE_MAX
from saleroom.bidding.domain.voiding import BidBook, void
from saleroom.kernel.errors import Fault
from saleroom.sales.domain.errors import NotInBook, NotPublished
from saleroom.sales.domain.labels import parse_label
from saleroom.sales.domain.sale import Sale
from saleroom.sales.domain.sale import refuse_if_over as refuse_if_sale_over

REASON = "The absentee bid was taken back before the lot was called."
"""Why a bid is voided, unless staff give another reason. Everybody can read it."""
LINE_MAX = 80
_LINE = re.compile(r"#?0*([0-9]{1,6})\s+(\S+)\s+(\S.*)")
_TAKES_BACK = frozenset("-\u2013\u2212")


class BookLine(Struct, frozen=True, kw_only=True):
    """A line as it arrived: the paddle has this `maximum` on the lot `label`, None for no absentee bid."""

    paddle: int
    label: str
    maximum: Decimal | None
    reason: str = REASON


class BookBid(Struct, frozen=True):
    """An absentee bid as the book has it: the bid with this number on the lot has this maximum, or was raised to it."""

    number: int
    maximum: Decimal


class BookRow(Struct, frozen=True, kw_only=True):
    """A line of the book. `leads`: its bidder leads on the lot; `stands`: the bid was neither taken back nor voided."""

    id: int
    lot: str
    label: str
    paddle: int | None
    bidder: str
    maximum: Decimal
    stands: bool
    leads: bool
    clerk: str
    entered_at: datetime


class StandingBids(Struct, frozen=True):
    """The absentee bids of one bidder on one lot that stand: their versions, and the highest maximum, None without any.

    `most` is the highest limit of the bidder on the lot, also of what they have bid themselves.
    """

    versions: tuple[int, ...]
    maximum: Decimal | None
    most: Decimal | None


def parse_line(text: str) -> tuple[int, str, str | None] | Fault:
    """Return paddle, label and the text of the amount of a line such as `12 45A 500`, or its fault.

    The amount is None for `-`, which takes the absentee bid back.
    """
    found = _LINE.fullmatch(text.strip()[: LINE_MAX + 1])
    if found is None or not 1 <= int(found[1]) <= PADDLE_MAX:
        return Fault("book_line", "must be a paddle, a lot and an amount, such as 12 45 500")
    label = parse_label(found[2])
    if isinstance(label, Fault):
        return label
    return int(found[1]), label, None if found[3] in _TAKES_BACK else found[3]


def refuse_without_book(sale: Sale) -> None:
    """Raise SaleOver, or NotPublished of a draft: nobody bids on its lots yet."""
    refuse_if_sale_over(sale)
    if sale.is_draft:
        raise NotPublished


def refuse_on_block(auction: Auction, now: datetime) -> None:
    """Raise AuctionOver, or OnBlock once the lot was called: from then on its clerk takes bids and takes them back."""
    refuse_if_over(auction, auction.not_before(now))
    if auction.block is not None:
        raise OnBlock


def standing(log: BidBook, user_id: int, entered: Iterable[BookBid]) -> StandingBids:
    """Return what stands of a bidder on a lot; `log` has read the whole log, `entered` is what the book has of the lot."""
    own = log.standing_of(user_id)
    versions = [version for version, _ in own if log.bid_at(version).channel is Channel.ABSENTEE]
    numbers = {log.own_numbers[version] for version in versions}
    maxima = [one.maximum for one in entered if one.number in numbers]
    return StandingBids(
        tuple(dict.fromkeys(versions)), max(maxima, default=None), max((most for _, most in own), default=None)
    )


def takes_back(before: StandingBids, maximum: Decimal | None) -> bool:
    """Return whether a line takes back what stands: it says so, or names a lower maximum, as no maximum is ever lowered."""
    return maximum is None or (before.maximum is not None and maximum < before.maximum)


def take_back(auction: Auction, log: BidBook, before: StandingBids, reason: str, now: datetime) -> list[Event]:
    """Return what happens when the absentee bids of a bidder on a lot are taken back; `log` reads it too.

    Raises NotInBook if there is none, or the bidder has raised it themselves since.
    """
    if before.maximum is None or before.maximum != before.most:
        raise NotInBook
    made: list[Event] = []
    for version in reversed(before.versions):
        events = void(auction, log, version, reason, now)
        for event in events:
            log.read(event)
        auction = auction.after_all(events)
        made += events
    return made


def request(maximum: Decimal) -> BidRequest:
    """Return the bid that a line places."""
    return BidRequest(None, maximum, channel=Channel.ABSENTEE)
