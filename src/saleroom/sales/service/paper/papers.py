"""What each kind of paper of a sale shows, read in one transaction and written in a language; the templates set it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from babel import Locale
from babel.dates import format_date, format_time
from msgspec import Struct, structs

from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate
from saleroom.bidding.domain.auction import Auction, Status
from saleroom.bidding.domain.events import Outcome
from saleroom.bidding.service.photos import covers
from saleroom.kernel.currency import with_currency
from saleroom.kernel.errors import Invalid
from saleroom.kernel.money import ZERO
from saleroom.sales.domain.lots import LotTerms
from saleroom.sales.domain.paper import BUYERS_NEED, LABEL_FORMS, LAYOUTS, NEEDED, PaperKind, on_label
from saleroom.sales.domain.paper_words import TITLES, words
from saleroom.sales.domain.participants import Participant
from saleroom.sales.domain.sale import Sale
from saleroom.sales.domain.selections import Spans, chosen
from saleroom.sales.service import needs
from saleroom.sales.service.access import get_one, is_staff, viewer_of
from saleroom.sales.service.needs import GivenPledge
from saleroom.sales.service.paper.labelling import labels_of
from saleroom.sales.storage import consignors, lots, participants, pledges
from saleroom.sales.storage.lots import OfferedLot
from saleroom.storage.database import Transaction

_LOCALES = {"en": Locale("en", "GB"), "de": Locale("de")}
LONG_LETTERS, LONG_LINES = 900, 12
"""The description of a lot that is longer than this may go on on the next page."""
PHOTO_RATIO = 52 / 44
"""The height of a photo over its width from which its height is what bounds it (`sales/paper/catalogue.typ`)."""


class Letterhead(Struct, frozen=True, kw_only=True):
    """What the house puts on its paper: its name, its currency, and the address that codes lead to."""

    house: str
    currency: str
    origin: str


class PaperOrder(Struct, frozen=True, kw_only=True):
    """What somebody wants to print. `layout` is one of its kind, `skip` how many stickers of the first sheet are gone.

    `changed`: only the labels that show something else than when they were last printed.
    """

    kind: PaperKind
    language: str = "en"
    zone: str = "UTC"
    layout: str = ""
    lots: Spans = ()
    paddles: Sequence[range] = ()
    skip: int = 0
    changed: bool = False
    buyers: bool = False

    @property
    def needed(self) -> Right | None:
        """The right that it needs."""
        return BUYERS_NEED if self.buyers else NEEDED[self.kind]


class Paper(Struct, frozen=True):
    """Data for the template of a kind, and the ids of the photos that it shows by the names of their files."""

    kind: PaperKind
    data: dict[str, Any]
    photos: dict[str, str]


class _Writer(Struct, frozen=True):
    """How values are written: in a language, a currency and a time zone."""

    language: str
    currency: str
    zone: str

    def money(self, amount: Decimal | None) -> str:
        return "" if amount is None else with_currency(amount, self.currency, _LOCALES[self.language])

    def day(self, at: datetime) -> str:
        return format_date(at.astimezone(ZoneInfo(self.zone)), "long", locale=_LOCALES[self.language])

    def moment(self, at: datetime) -> str:
        time = format_time(at, "short", tzinfo=ZoneInfo(self.zone), locale=_LOCALES[self.language])
        return f"{self.day(at)}, {time} ({self.zone})"

    def estimate(self, low: Decimal | None, high: Decimal | None) -> str:
        return " \u2013 ".join(self.money(one) for one in (low, high) if one is not None)


def refuse(tx: Transaction, token: str | None, gid: str, needed: Right | None) -> Sale:
    """Return the sale of some paper. Raises Unauthenticated, MissingRight or UnknownSale for those who must not have it."""
    if needed is None:
        return get_one(tx, gid, staff=is_staff(viewer_of(tx, token)))
    authenticate(tx, token, Right.READ).refuse_without(needed)
    return get_one(tx, gid, staff=True)


def read(tx: Transaction, token: str | None, gid: str, order: PaperOrder, head: Letterhead) -> Paper:
    """Return what the paper shows. Raises as `refuse`, and Invalid if it was asked for lots or paddles that are not there."""
    sale = refuse(tx, token, gid, order.needed)
    writer = _Writer(order.language, head.currency, order.zone)
    said, title = words(order.language), TITLES[order.kind][order.language]
    shown, photos = _READ[order.kind](tx, sale, order, writer, head)
    if order.lots and not shown["lots"] and not order.changed:
        raise Invalid.one("lots", "nothing_chosen", "must name a lot of the sale that is on this paper")
    if order.paddles and not shown["cards"]:
        raise Invalid.one("paddles", "nothing_chosen", "must name a paddle of the sale whose holder may bid")
    # The day alone is on what anyone may have: until midnight the same data are the same paper.
    now = said["as_of"].format(when=writer.day(tx.now()))
    if order.needed is not None:
        now = said["printed"].format(when=writer.moment(tx.now()))
    data = {
        "language": order.language,
        "words": said,
        "kind": title,
        "title": sale.terms.title if order.kind is PaperKind.CATALOGUE else f"{title}: {sale.terms.title}",
        "house": head.house,
        "made": now,
        "layout": layout_of(order),
        "sale": _sale(sale, writer, said),
        **shown,
    }
    return Paper(order.kind, data, photos)


def layout_of(order: PaperOrder) -> str:
    """Return the layout of an order, which is the first one of its kind if nobody has said."""
    return order.layout or LAYOUTS.get(order.kind, ("",))[0]


def _sale(sale: Sale, writer: _Writer, said: dict[str, str]) -> dict[str, Any]:
    terms = sale.terms
    begins = said["ends" if sale.is_timed else "begins"]
    return {
        "title": terms.title,
        "when": "" if terms.starts_at is None else begins.format(when=writer.moment(terms.starts_at)),
        "venue": terms.venue,
        "lines": terms.description.splitlines(),
    }


Shown = tuple[dict[str, Any], dict[str, str]]


def _catalogue(tx: Transaction, sale: Sale, order: PaperOrder, writer: _Writer, head: Letterhead) -> Shown:
    found = _public(tx, sale, order.lots)
    first = {}
    if layout_of(order) == "photos":
        first = covers(tx, [one.lot.gid for one in found if one.auction is not None])
        drafts = {one.lot.id: one.lot.gid for one in found if one.auction is None}
        if drafts:
            own = lots.photos_of(tx, drafts.keys())
            first |= {drafts[number]: some[0].photo for number, some in own.items() if some}
    said, shown, files = words(order.language), [], {}
    for number, one in enumerate(tx.unhurried(found)):
        entry, terms, photo = one.lot.entry, _terms(one), first.get(one.lot.gid)
        lines, picture = terms.description.splitlines(), None
        if photo is not None:
            alt = said["photo"].format(label=one.lot.label, name=terms.name)
            picture = {"file": f"{number}.jpg", "tall": photo.height / photo.width > PHOTO_RATIO, "alt": alt}
            files[f"{number}.jpg"] = photo.id
        estimate = writer.estimate(entry.estimate_from, entry.estimate_to)
        shown.append(
            {
                "number": f"{said['lot']} {one.lot.label}",
                "name": terms.name,
                "lines": lines,
                "long": len(terms.description) > LONG_LETTERS or len(lines) > LONG_LINES,
                "estimate": f"{said['estimate']} {estimate}" if estimate else "",
                "starting": _starting(one, writer, said),
                "withdrawn": said["withdrawn"] if one.lot.is_withdrawn else "",
                "photo": picture,
            }
        )
    return {"lots": shown}, files


def _labels(tx: Transaction, sale: Sale, order: PaperOrder, writer: _Writer, head: Letterhead) -> Shown:
    said, shown = words(order.language), []
    for one in tx.unhurried(labels_of(tx, sale, order.lots, head.origin, changed=order.changed)):
        code = {"address": one.address, "alt": said["lot_code"].format(label=one.number)}
        shown.append({"number": one.number, "name": on_label(one.name), "code": code})
    form = structs.asdict(LABEL_FORMS[layout_of(order)])
    return {"lots": shown, "form": form, "skip": order.skip if form["columns"] else 0}, {}


def _cards(tx: Transaction, sale: Sale, order: PaperOrder, writer: _Writer, head: Letterhead) -> Shown:
    said, shown = words(order.language), []
    for one in tx.unhurried(participants.with_paddles(tx, sale.id)):
        paddle = one.paddle or 0
        if not one.may_bid or (order.paddles and not any(paddle in some for some in order.paddles)):
            continue
        address = f"{head.origin}/mine/sales/{sale.gid}?paddle={paddle}"
        code = {"address": address, "alt": said["card_code"].format(paddle=paddle)}
        shown.append(
            {"paddle": str(paddle), "person": one.name or ("" if one.is_guest else one.user.name), "code": code}
        )
    return {"cards": shown}, {}


def _run_sheet(tx: Transaction, sale: Sale, order: PaperOrder, writer: _Writer, head: Letterhead) -> Shown:
    found = _all(tx, sale, order.lots)
    numbers = {one.lot.entry.consignor_id for one in found} - {None}
    codes = consignors.codes(tx, [number for number in numbers if number is not None])
    leaders = _paddles(tx, sale, found)
    said, shown = words(order.language), []
    for one in tx.unhurried(found):
        entry, terms, auction = one.lot.entry, _terms(one), one.auction
        absentee = ""
        if auction is not None and auction.leader is not None and auction.maximum is not None and not auction.over:
            bidder = leaders.get(auction.leader.id, auction.leader.name)
            absentee = said["up_to"].format(bidder=bidder, amount=writer.money(auction.maximum))
        shown.append(
            {
                "number": one.lot.label,
                "name": terms.name,
                "consignor": codes.get(entry.consignor_id or 0, ""),
                "estimate": writer.estimate(entry.estimate_from, entry.estimate_to),
                "starting": "" if one.lot.need is not None else writer.money(terms.starting_price),
                "levels": _levels(one, writer),
                "reserve": writer.money(terms.reserve_price),
                "absentee": absentee,
                "withdrawn": said["withdrawn"] if one.lot.is_withdrawn else "",
            }
        )
    return {"lots": shown}, {}


def _clerk_sheet(tx: Transaction, sale: Sale, order: PaperOrder, writer: _Writer, head: Letterhead) -> Shown:
    gone = words(order.language)["withdrawn"]
    found = [(one.lot, _terms(one)) for one in tx.unhurried(_all(tx, sale, order.lots))]
    return {
        "lots": [
            {"number": lot.label, "name": terms.name, "withdrawn": gone if lot.is_withdrawn else ""}
            for lot, terms in found
        ]
    }, {}


def _results(tx: Transaction, sale: Sale, order: PaperOrder, writer: _Writer, head: Letterhead) -> Shown:
    found = _all(tx, sale, order.lots) if order.buyers else _public(tx, sale, order.lots)
    buyers = _paddles(tx, sale, found) if order.buyers else {}
    asked = [one.lot.id for one in found if one.lot.need is not None]
    raised, given = pledges.tallies(tx, asked), needs.of_lots(tx, sale, asked if order.buyers else [])
    said, shown, prices = words(order.language), [], []
    for one in tx.unhurried(found):
        auction, buyer, givers = one.auction, "", ""
        price = said[_state(one)]
        if auction is not None and auction.outcome is Outcome.SOLD:
            prices.append(auction.current_bid or ZERO)
            price = writer.money(prices[-1])
            if order.buyers and auction.leader is not None:
                buyer = buyers.get(auction.leader.id, auction.leader.name)
        if one.lot.need is not None and not one.lot.is_withdrawn:
            tally = raised[one.lot.id]
            price = said["raised"].format(total=writer.money(tally.total), count=tally.count)
            givers = _givers(given.get(one.lot.id, ()), writer)
        shown.append(
            {"number": one.lot.label, "name": _terms(one).name, "givers": givers, "price": price, "buyer": buyer}
        )
    total = writer.money(sum(prices, ZERO))
    summary = said["sold"].format(count=len(prices), all=sum(one.lot.need is None for one in found), total=total)
    return {"lots": shown, "buyers": order.buyers, "summary": summary}, {}


_READ = {
    PaperKind.CATALOGUE: _catalogue,
    PaperKind.LABELS: _labels,
    PaperKind.CARDS: _cards,
    PaperKind.RUN_SHEET: _run_sheet,
    PaperKind.CLERK_SHEET: _clerk_sheet,
    PaperKind.RESULTS: _results,
}


def _all(tx: Transaction, sale: Sale, spans: Spans) -> list[OfferedLot]:
    return lots.with_auctions(tx, [one for one in lots.of_sale(tx, sale.id) if chosen(one.label, spans)])


def _public(tx: Transaction, sale: Sale, spans: Spans) -> list[OfferedLot]:
    """Return the lots that anyone may see; of a draft, which only staff see, all."""
    found = _all(tx, sale, spans)
    shown = partial(_is_shown, sale)
    return [one for one in found if shown(one)]


def _is_shown(sale: Sale, one: OfferedLot) -> bool:
    if one.lot.need is not None:
        return True
    return not (sale.is_public if one.auction is None else one.auction.is_hidden)


def _levels(one: OfferedLot, writer: _Writer) -> str:
    """Return the levels of a fund-a-need; nothing for an auction."""
    return "" if one.lot.need is None else " / ".join(writer.money(level) for level in one.lot.need.levels)


def _starting(one: OfferedLot, writer: _Writer, said: dict[str, str]) -> str:
    levels = _levels(one, writer)
    return f"{said['levels']} {levels}" if levels else f"{said['starting']} {writer.money(_terms(one).starting_price)}"


def _givers(some: Sequence[GivenPledge], writer: _Writer) -> str:
    """Return who has given how much in all, one after the other."""
    given: dict[str, Decimal] = {}
    for one, bidder, _ in some:
        if one.stands:
            given[bidder] = given.get(bidder, ZERO) + one.amount
    return ", ".join(f"{bidder} {writer.money(amount)}" for bidder, amount in given.items())


def _terms(one: OfferedLot) -> LotTerms | Auction:
    found = one.auction or one.lot.terms
    assert found is not None, "a lot has an auction or its terms"
    return found


def _state(one: OfferedLot) -> str:
    auction = one.auction
    if one.lot.is_withdrawn or (auction is not None and auction.status is Status.CANCELLED):
        return "withdrawn"
    if auction is not None and auction.outcome is Outcome.CONDITIONAL:
        return "conditional"
    return "passed" if auction is not None and auction.over else "open"


def _paddles(tx: Transaction, sale: Sale, found: Collection[OfferedLot]) -> dict[int, str]:
    """Return the paddles of those who lead or have bought, by the number of the user."""
    users = {one.auction.leader.id for one in found if one.auction is not None and one.auction.leader is not None}
    known: Collection[Participant] = participants.of_pairs(
        tx, [(sale.id, user) for user in users], locked=False
    ).values()
    return {one.user.id: f"#{one.paddle}" for one in known if one.paddle is not None}
