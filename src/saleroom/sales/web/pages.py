"""The pages of sales: their addresses, menus and words."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path

from starlette.routing import Route

from saleroom.sales.services import SaleServices
from saleroom.sales.storage.sales import named
from saleroom.sales.web.book import BOOK, BookPages
from saleroom.sales.web.catalogue import CATALOGUES, CataloguePages
from saleroom.sales.web.consignors import CONSIGNORS, ConsignorPages
from saleroom.sales.web.console import AUCTIONEER, CONSOLE, STATE, ConsolePages
from saleroom.sales.web.dates import SaleDates
from saleroom.sales.web.decisions import PATH as DECISIONS
from saleroom.sales.web.decisions import DecisionPages
from saleroom.sales.web.editor import SALES, EditorPages
from saleroom.sales.web.entry import ENTRY, SHEET, EntryPages, shell
from saleroom.sales.web.hall import HallPages
from saleroom.sales.web.importing import EXPORT, IMPORT, ImportPages
from saleroom.sales.web.paper import PAPER, PaperPages
from saleroom.sales.web.people import PeoplePages
from saleroom.sales.web.pledges import PLEDGES, PledgePages
from saleroom.sales.web.registration import RegistrationPages
from saleroom.sales.web.words import CODES, WORDS
from saleroom.site.site import Address, AreaPages, Site, Thing
from saleroom.storage.database import Transaction

_OF_LIVE = re.compile(r"/sales/[^/]+/(?:auctioneer|block/live|console|entry|live|next|screen|total)")
"""The pages among the addresses of the API."""


def area_pages(services: SaleServices) -> AreaPages:
    """Return the pages over one house."""
    return AreaPages(
        folder=Path(__file__).parent,
        routes=lambda site: _routes(site, services),
        words=WORDS,
        paths=frozenset({CATALOGUES, f"{CATALOGUES}.ics", DECISIONS}),
        below=(f"{CATALOGUES}/", "/admin/consignors/", "/admin/sales/", "/mine/sales/", f"{DECISIONS}/"),
        is_page=lambda path: _OF_LIVE.fullmatch(path) is not None,
        sections=(SALES, CONSIGNORS),
        menu="parts/sales_menu.html",
        shells=(shell(),),
        things=_things,
        codes=CODES,
    )


def _things(tx: Transaction, keys: Collection[str]) -> Mapping[str, Thing]:
    return {one.key: Thing(one.name, f"/admin/{one.place}") for one in named(tx, keys)}


def _routes(site: Site, services: SaleServices) -> list[Route]:
    people, registration = PeoplePages(site, services), RegistrationPages(site, services)
    imports, paper = ImportPages(site, services), PaperPages(site, services)
    hall = HallPages(site, services)
    catalogue, editor = CataloguePages(site, services), EditorPages(site, services)
    dates = SaleDates(site, services)
    console, book = ConsolePages(site, services), BookPages(site, services)
    entry, decisions, consignors = (
        EntryPages(site, services),
        DecisionPages(site, services),
        ConsignorPages(site, services),
    )
    one = "/admin/sales/{gid}/people/{participant}"
    return [
        Route("/mine/sales/{gid}", Address(GET=registration.show, POST=registration.register)),
        Route(DECISIONS, Address(GET=decisions.show)),
        Route(f"{DECISIONS}/{{gid}}", Address(POST=decisions.decide)),
        Route("/admin/sales/{gid}/people", Address(GET=people.show, POST=people.admit)),
        Route(f"{one}/check-in", Address(POST=people.check_in)),
        Route(f"{one}/decision", Address(POST=people.decide)),
        Route(f"{one}/merger", Address(POST=people.merge)),
        Route(BOOK, Address(GET=book.show, POST=book.enter)),
        Route("/sales/{gid}/block/live", Address(GET=hall.live)),
        Route("/sales/{gid}/screen", Address(GET=hall.screen)),
        Route("/sales/{gid}/next", Address(GET=hall.next)),
        Route("/sales/{gid}/total", Address(GET=hall.total)),
        Route("/sales/{gid}/live", Address(GET=hall.bidder, POST=hall.pledge)),
        Route(IMPORT, Address(GET=imports.form, POST=imports.send)),
        Route(EXPORT, Address(GET=imports.download)),
        Route(PAPER, Address(GET=paper.show)),
        Route(f"{PAPER}/printed", Address(POST=paper.printed)),
        Route(f"{PAPER}/{{file}}", Address(GET=paper.file)),
        Route(f"{CATALOGUES}/{{gid}}/paper/{{file}}", Address(GET=paper.file)),
        Route(CONSOLE, Address(GET=console.console, POST=console.act)),
        Route(STATE, Address(GET=console.state)),
        Route(AUCTIONEER, Address(GET=console.auctioneer)),
        Route(ENTRY, Address(GET=entry.page, POST=entry.send)),
        Route(SHEET, Address(GET=entry.sheet)),
        Route(CATALOGUES, Address(GET=catalogue.all)),
        Route(f"{CATALOGUES}.ics", Address(GET=dates.all)),
        Route(f"{CATALOGUES}/{{gid}}/dates.ics", Address(GET=dates.one)),
        Route(f"{CATALOGUES}/{{gid}}", Address(GET=catalogue.one)),
        Route(CONSIGNORS.path, Address(GET=consignors.all, POST=consignors.add)),
        Route(f"{CONSIGNORS.path}/{{code}}", Address(POST=consignors.change)),
        Route(SALES.path, Address(GET=editor.all, POST=editor.make)),
        Route(f"{SALES.path}/{{gid}}", Address(GET=editor.one, POST=editor.save)),
        Route(f"{SALES.path}/{{gid}}/publish", Address(POST=editor.publish)),
        Route(f"{SALES.path}/{{gid}}/pause", Address(POST=editor.pause)),
        Route(f"{SALES.path}/{{gid}}/resume", Address(POST=editor.resume)),
        Route(f"{SALES.path}/{{gid}}/cancel", Address(POST=editor.cancel)),
        Route(f"{SALES.path}/{{gid}}/renumber", Address(POST=editor.renumber)),
        Route(f"{SALES.path}/{{gid}}/lots", Address(POST=editor.add)),
        Route(f"{SALES.path}/{{gid}}/order", Address(POST=editor.order)),
        Route(f"{SALES.path}/{{gid}}/lots/{{label}}", Address(GET=editor.lot, POST=editor.change)),
        Route(PLEDGES, Address(GET=PledgePages(site, services).show)),
        Route(f"{SALES.path}/{{gid}}/lots/{{label}}/withdraw", Address(POST=editor.withdraw)),
    ]
