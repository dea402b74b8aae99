"""Views: the JSON shapes of sales, lots and events, the same on every channel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.events import SoftClose
from saleroom.bidding.domain.increments import TierView
from saleroom.bidding.domain.views import AuctionView, auction_view
from saleroom.kernel.instants import instant, maybe_instant
from saleroom.sales.domain.events import SaleEvent
from saleroom.sales.domain.lots import Lot
from saleroom.sales.domain.needs import Need, Pledge, Tally
from saleroom.sales.domain.sale import Sale


class SaleSoftCloseView(Struct, frozen=True):
    """A bid within `window` seconds before the end of a lot moves it to `extension` seconds from the bid."""

    window: int
    extension: int


class SaleView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A sale as anyone may see it once it is published.

    `opens_at` is when bidding opens. `starts_at` is when a live sale begins, and the first end of a timed one. `called` is the
    gid of the lot that was called last in a live sale. `limit_default` is for staff only.
    """

    gid: str
    title: str
    description: str
    venue: str
    kind: str
    status: str
    opens_at: str | None
    starts_at: str | None
    spacing: int
    soft_close: SaleSoftCloseView | None
    following: bool
    increment: str | list[TierView]
    names: str
    registration: str
    cancelled_for: str | None
    created_at: str
    version: int
    called: str | None
    limit_default: str | UnsetType | None = UNSET


class LevelView(Struct, frozen=True, kw_only=True, rename="camel"):
    """So many `pledges` of this `amount` stand."""

    amount: str
    pledges: int


class PledgeView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A pledge. `bidder` is the name of the giver in the sale, null where that is not public; `undone`: it does not count."""

    pledge: int
    amount: str
    bidder: str | None
    channel: str
    at: str
    undone: bool


class NeedView(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a fund-a-need asks for and has: `level` is the present one, null before the first call.

    `total` of so many `pledges` stands, counted by amount; `last_pledges` are the newest ones.
    """

    levels: list[str]
    goal: str | None
    stage: str
    level: str | None
    total: str
    pledges: int
    by_level: list[LevelView]
    last_pledges: list[PledgeView]


class LotView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A lot of a sale. `auction` is null in a draft; then `name` and what follows it are the terms of the auction to come.

    A fund-a-need has a `need` and never an auction; its `starting_price` is the lowest level.

    `consignor` is its code, and `reserve_price` the reserve; both are for staff only.
    """

    gid: str
    label: str
    rank: int
    name: str
    description: str
    category: str | None
    starting_price: str
    estimate_from: str | None
    estimate_to: str | None
    tax_scheme: str | None
    withdrawn_for: str | None
    auction: AuctionView | None
    need: NeedView | None
    consignor: str | UnsetType | None = UNSET
    reserve_price: str | UnsetType | None = UNSET

    @property
    def is_hidden(self) -> bool:
        """Whether the house hides it."""
        return self.auction is not None and self.auction.hidden is True


class ConsignorView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A consignor, for staff only. `username` is their account, if they have one."""

    code: str
    name: str
    contact: str
    username: str | None
    created_at: str


def sale_view(sale: Sale, *, staff: bool = False) -> SaleView:
    """Return a sale as anyone may see it, or as staff may."""
    terms = sale.terms
    return SaleView(
        gid=sale.gid,
        title=terms.title,
        description=terms.description,
        venue=terms.venue,
        kind=terms.kind,
        status=sale.status,
        opens_at=maybe_instant(terms.opens_at),
        starts_at=maybe_instant(terms.starts_at),
        spacing=terms.spacing,
        soft_close=_soft_close(terms.soft_close),
        following=terms.following,
        increment=terms.ladder.as_json,
        names=terms.names,
        registration=terms.registration,
        cancelled_for=sale.cancelled_for,
        created_at=instant(sale.created_at),
        version=sale.version,
        called=sale.block,
        limit_default=_money(terms.limit_default) if staff else UNSET,
    )


def lot_view(
    lot: Lot,
    auction: Auction | None,
    *,
    consignor: str | None,
    staff: bool,
    shown: Callable[[Auction], AuctionView] = auction_view,
    given: NeedProgress | None,
) -> LotView:
    """Return a lot with its auction, if it has one, as `shown` shows that; `consignor` is the code, for staff.

    `given` is what a fund-a-need has come to.
    """
    entry, terms = lot.entry, lot.terms
    view = None if auction is None else shown(auction)
    offered, priced = view or terms, terms or auction
    assert offered is not None and priced is not None, "a lot has an auction or its terms"
    need = None
    if lot.need is not None:
        need = need_view(lot.need, given or NeedProgress(Tally()))
    return LotView(
        gid=lot.gid,
        label=entry.label,
        rank=lot.rank,
        name=offered.name,
        description=offered.description,
        category=offered.category,
        starting_price=str(offered.starting_price),
        estimate_from=_money(entry.estimate_from),
        estimate_to=_money(entry.estimate_to),
        tax_scheme=entry.tax_scheme,
        withdrawn_for=lot.withdrawn_for,
        auction=view,
        need=need,
        consignor=consignor if staff else UNSET,
        reserve_price=_money(priced.reserve_price) if staff else UNSET,
    )


class NeedProgress(Struct, frozen=True):
    """What a fund-a-need has come to: its tally, and its last pledges with the names of the givers, by number of the user."""

    tally: Tally
    newest: Sequence[Pledge] = ()
    names: Mapping[int, str] = {}


def need_view(need: Need, given: NeedProgress) -> NeedView:
    """Return what a fund-a-need asks for, and what it has come to."""
    return NeedView(
        levels=[str(level) for level in need.levels],
        goal=_money(need.goal),
        stage=need.stage.value,
        level=_money(need.level),
        total=str(given.tally.total),
        pledges=given.tally.count,
        by_level=[LevelView(amount=str(amount), pledges=count) for amount, count in given.tally.by_level.items()],
        last_pledges=[pledge_view(one, given.names.get(one.user.id)) for one in given.newest],
    )


def pledge_view(pledge: Pledge, bidder: str | None) -> PledgeView:
    """Return a pledge; `bidder` is the name of the giver, None if it is not shown."""
    return PledgeView(
        pledge=pledge.number,
        amount=str(pledge.amount),
        bidder=bidder,
        channel=pledge.channel.value,
        at=instant(pledge.at),
        undone=not pledge.stands,
    )


def wire_event(sale: Sale, event: SaleEvent) -> dict[str, Any]:
    """Return an event as a CloudEvents 1.0 object (docs/events.md), ready for JSON; `sale` is as it was right after it."""
    data: dict[str, Any] = msgspec.to_builtins(event, builtin_types=(datetime,))
    del data["at"]
    return {
        "specversion": "1.0",
        "id": f"{sale.gid}/{sale.version}",
        "source": f"/sales/{sale.gid}",
        "type": event.TYPE,
        "time": instant(event.at),
        "datacontenttype": "application/json",
        "sequence": sale.version,
        "data": {name: instant(value) if isinstance(value, datetime) else value for name, value in data.items()},
    }


def _money(amount: Decimal | None) -> str | None:
    return None if amount is None else str(amount)


def _soft_close(rule: SoftClose | None) -> SaleSoftCloseView | None:
    return None if rule is None else SaleSoftCloseView(rule.window, rule.extension)
