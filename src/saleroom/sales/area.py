"""The area of sales: its tables, endpoints, pages and services, and the tasks that run beside the requests."""

from __future__ import annotations

from collections.abc import Mapping

from babel.numbers import get_currency_symbol

from saleroom.area import Area, AreaParts, Platform, Task
from saleroom.bidding.domain.categories import read_categories
from saleroom.bidding.service.admission import GATE
from saleroom.bidding.service.catalogue import IN_SALE
from saleroom.bidding.service.closing import EARLIEST_ENDS
from saleroom.bidding.service.ledgers import OPENS
from saleroom.bidding.settings import BiddingSettings
from saleroom.bidding.storage.auctions import CHANGED
from saleroom.bidding.storage.bids import SALES_OF
from saleroom.feed.feed import Feed
from saleroom.feed.sessions import SessionStreams
from saleroom.http.endpoints import Rows
from saleroom.sales import api
from saleroom.sales.api.asyncapi import area_messages
from saleroom.sales.api.people_vocabulary import PEOPLE
from saleroom.sales.api.publications import PUBLICATIONS
from saleroom.sales.api.vocabulary import VOCABULARY
from saleroom.sales.service.clocks import Clocks, earliest_ends
from saleroom.sales.service.files.importer import Importer
from saleroom.sales.service.files.importing import HouseRules
from saleroom.sales.service.keeping import Keeper
from saleroom.sales.service.live.acts import Acts
from saleroom.sales.service.live.blocks import Blocks
from saleroom.sales.service.paper.printing import Printer
from saleroom.sales.service.people.admission import gate
from saleroom.sales.service.people.people_mails import MAILS
from saleroom.sales.service.publishing import opens_ledger
from saleroom.sales.service.showing import place_of
from saleroom.sales.services import SaleServices
from saleroom.sales.storage.area_tables import TABLES
from saleroom.sales.storage.participants import sales_of
from saleroom.sales.storage.sales import LOG
from saleroom.sales.web.pages import area_pages
from saleroom.storage.database import Database


def _open(settings: BiddingSettings, platform: Platform) -> AreaParts:
    database = platform.database
    database.provide(GATE, gate)
    database.provide(IN_SALE, place_of)
    categories = read_categories(settings.categories)
    signs = (settings.currency, get_currency_symbol(settings.currency, "en"))
    database.provide(EARLIEST_ENDS, earliest_ends)
    database.provide(OPENS, opens_ledger)
    database.provide(SALES_OF, sales_of)
    services = SaleServices(
        database=database,
        tokens=platform.tokens,
        cursors=platform.cursors,
        feed=Feed(database, LOG, settings.followers_max),
        blocks=Blocks(database),
        acts=Acts(platform.tokens),
        importer=Importer(database, settings.photo_bytes_max, HouseRules(signs, categories)),
        printer=Printer(database, settings.house_name, settings.currency),
        origin=platform.origin,
        currency=settings.currency,
        categories=tuple(one.name for one in categories),
    )

    async def begin() -> Mapping[str, Task]:
        found = tasks(database, Keeper(database), Clocks(database), services.feed)
        sessions = SessionStreams(services.feed, platform.tokens).run
        return {**found, **tasks_of_blocks(database, services.blocks), "sessions of sales": sessions}

    def look() -> None:
        services.feed.wake()
        services.blocks.wake()

    def close() -> None:
        services.importer.close()
        services.printer.close()

    return AreaParts(
        pages=area_pages(services),
        rows=(Rows(services, api.ENDPOINTS), Rows(services.feed, api.STREAMS)),
        begin=begin,
        look=look,
        close=close,
        figures=services.acts.figures,
    )


def tasks(database: Database, keeper: Keeper, clocks: Clocks, feed: Feed) -> Mapping[str, Task]:
    """Return the tasks that run beside the requests, by name; each hears of commits from here on."""

    def told(_: object) -> None:
        feed.wake()
        keeper.wake()

    database.after_commit(CHANGED, keeper.heard)
    database.after_commit(CHANGED, clocks.heard)
    database.after_commit(LOG.appended, told)
    return {"sales": keeper.run, "clocks of sales": clocks.run, "feed of sales": feed.run}


def tasks_of_blocks(database: Database, blocks: Blocks) -> Mapping[str, Task]:
    """Return the task that follows blocks; it hears of commits from here on."""
    database.after_commit(CHANGED, blocks.heard)
    database.after_commit(LOG.appended, lambda _: blocks.wake())
    return {"blocks": blocks.run}


SALES: Area[BiddingSettings] = Area(
    tables=TABLES,
    endpoints=(*api.ENDPOINTS, *api.STREAMS),
    vocabulary=VOCABULARY | PEOPLE,
    operations={},
    open=_open,
    messages=(area_messages,),
    published=(PUBLICATIONS,),
    mails=MAILS,
)
