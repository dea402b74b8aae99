"""The pages of auctions and bids: their addresses, menus and words."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from starlette.routing import Route

from saleroom.accounts.domain.accounts import Account
from saleroom.accounts.domain.rights import Sellers, is_staff
from saleroom.bidding.domain.categories import shown_name
from saleroom.bidding.domain.views import leader_first
from saleroom.bidding.services import BiddingServices
from saleroom.bidding.storage.listing import names
from saleroom.bidding.web import words
from saleroom.bidding.web.ask import AskPages
from saleroom.bidding.web.calendars import CalendarPages
from saleroom.bidding.web.drafts import DraftPages
from saleroom.bidding.web.feeds import Feeds
from saleroom.bidding.web.health import HEALTH, HealthPages
from saleroom.bidding.web.home import HomePage
from saleroom.bidding.web.live import LivePages
from saleroom.bidding.web.lots import LotPages
from saleroom.bidding.web.mine import MinePages
from saleroom.bidding.web.moderation import ModerationPages
from saleroom.bidding.web.photos import PhotoFiles
from saleroom.bidding.web.qr_codes import QrCodes
from saleroom.bidding.web.questions import QuestionPages
from saleroom.bidding.web.receipts import ReceiptPages
from saleroom.bidding.web.results import ResultFiles
from saleroom.bidding.web.screen import ScreenPages
from saleroom.bidding.web.selling import SellingPages
from saleroom.site.site import Address, AreaPages, Site, Thing
from saleroom.storage.database import Transaction


def area_pages(services: BiddingServices) -> AreaPages:
    """Return the pages over one house."""
    return AreaPages(
        folder=Path(__file__).parent,
        routes=lambda site: _routes(site, services),
        words=words.WORDS,
        paths=frozenset({"/", "/live", "/lots.atom", "/lots.ics", "/results.csv", "/sell", "/mine"}),
        below=("/lots/", "/sell/", "/mine/", "/watchlist/"),
        sections=(HEALTH,),
        menu="parts/lots_menu.html",
        tabs="parts/mine_tabs.html",
        shows_again=_shows_again,
        things=_things,
        codes=words.CODES,
        filters={
            "offers_lots": lambda _, viewer: _offers_lots(services.sellers, viewer),
            "category": lambda language, name: shown_name(services.categories, name, language.catalogue),
            "leader_first": lambda _, bids: leader_first(bids),
            "soft_close": words.soft_close,
            "steps": words.steps,
        },
    )


def _routes(site: Site, services: BiddingServices) -> list[Route]:
    lots, live, screen = LotPages(site, services), LivePages(site, services), ScreenPages(site)
    receipts, files = ReceiptPages(site, services), ResultFiles(site, services)
    feeds, calendars = Feeds(site, services), CalendarPages(site, services)
    moderation = ModerationPages(site, services)
    drafts, mine = DraftPages(site, services), MinePages(site, services)
    selling, questions = SellingPages(site, services, drafts), QuestionPages(site, services, lots)
    return [
        Route("/", Address(GET=HomePage(site, services).show)),
        Route("/lots/{gid}", Address(GET=lots.show)),
        Route("/lots/{gid}/bids", Address(GET=lots.bids)),
        Route("/lots/{gid}/box", Address(GET=lots.box)),
        Route("/lots/{gid}/bid", Address(POST=lots.bid)),
        Route("/lots/{gid}/ask", Address(POST=AskPages(site, services).bid)),
        Route("/lots/{gid}/buy", Address(POST=lots.buy)),
        Route("/lots/{gid}/questions", Address(POST=questions.ask)),
        Route("/lots/{gid}/answers", Address(POST=questions.answer)),
        Route("/lots/{gid}/live", Address(GET=live.lot)),
        Route("/lots/{gid}/screen/live", Address(GET=live.screen)),
        Route("/live", Address(GET=live.cards)),
        Route("/lots/{gid}/screen", Address(GET=screen.show)),
        Route("/lots/{gid}/screen/next", Address(GET=screen.next)),
        Route("/lots/{gid}/qr.svg", Address(GET=QrCodes(site, services).show)),
        Route("/lots/{gid}/receipts", Address(GET=receipts.show, POST=receipts.check)),
        Route("/lots/{gid}/receipts/{number}.txt", Address(GET=receipts.file)),
        Route("/lots/{gid}/moderate", Address(GET=moderation.overview)),
        Route("/lots/{gid}/void", Address(POST=moderation.void)),
        Route("/lots/{gid}/hide", Address(POST=moderation.hide)),
        Route("/lots/{gid}/show", Address(POST=moderation.show)),
        Route("/lots/{gid}/cancel", Address(POST=moderation.cancel)),
        Route("/lots/{gid}/watch", Address(POST=mine.watch)),
        Route("/lots/{gid}/unwatch", Address(POST=mine.unwatch)),
        Route("/sell", Address(GET=selling.form, POST=selling.submit)),
        Route("/sell/photos", Address(POST=selling.upload)),
        Route("/sell/drafts/{draft}", Address(GET=selling.draft, POST=drafts.keep)),
        Route("/sell/drafts/{draft}/preview", Address(GET=selling.preview)),
        Route("/sell/drafts/{draft}/delete", Address(POST=drafts.delete)),
        Route("/sell/{gid}", Address(GET=selling.manage, POST=selling.save)),
        Route("/sell/{gid}/preview", Address(GET=selling.preview)),
        Route("/sell/{gid}/remark", Address(POST=selling.remark)),
        Route("/sell/{gid}/cancel", Address(POST=selling.cancel)),
        Route("/sell/{gid}/close", Address(POST=selling.close)),
        Route("/mine", Address(GET=mine.bidding)),
        Route("/mine/selling", Address(GET=mine.selling)),
        Route("/mine/selling/results.csv", Address(GET=files.of_seller)),
        Route("/results.csv", Address(GET=files.of_house)),
        Route("/lots.atom", Address(GET=feeds.atom)),
        Route("/lots.ics", Address(GET=feeds.calendar)),
        Route("/lots/{gid}/dates.ics", Address(GET=feeds.of_lot)),
        Route("/mine/watching", Address(GET=mine.watching)),
        Route("/mine/watching/calendar", Address(POST=calendars.make)),
        Route("/mine/watching/calendar/end", Address(POST=calendars.end)),
        Route("/watchlist/{link}.ics", Address(GET=calendars.dates)),
        Route("/watchlist/{link}.atom", Address(GET=calendars.atom)),
        Route(HEALTH.path, Address(GET=HealthPages(site).show)),
        Route("/photos/{id}/{width}.webp", Address(GET=PhotoFiles(services).show)),
    ]


def _things(tx: Transaction, keys: Collection[str]) -> Mapping[str, Thing]:
    return {gid: Thing(name, f"/lots/{gid}") for gid, name in names(tx, keys).items()}


def _offers_lots(sellers: Sellers, viewer: Account | None) -> bool:
    """Whether a page leads its reader to the form of a new lot; in a house whose staff alone sells it leads nobody else."""
    return sellers is not Sellers.STAFF or (viewer is not None and is_staff(viewer.role))


def _shows_again(path: str) -> bool:
    """Whether this is the form of a lot, which is too long to be lost at the end of a session, of a bid or of a question."""
    parts = path.split("/")
    on_lot = parts[1] == "lots" and parts[3:] in (["bid"], ["buy"], ["questions"], ["answers"])
    return on_lot or (parts[1] == "sell" and len(parts) <= 3 and parts[-1] != "photos")
