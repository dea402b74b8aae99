"""The pages of settlement: their addresses, menus and words."""

from __future__ import annotations

from pathlib import Path

from starlette.routing import Route

from saleroom.settlement.services import SettlementServices
from saleroom.settlement.web.rates import RATES, RatePages
from saleroom.settlement.web.words import WORDS
from saleroom.site.site import Address, AreaPages, Site


def area_pages(services: SettlementServices) -> AreaPages:
    """Return the pages over one house."""
    return AreaPages(
        folder=Path(__file__).parent,
        routes=lambda site: _routes(site, services),
        words=WORDS,
        paths=frozenset(),
        below=(f"{RATES.path}/",),
        sections=(RATES,),
    )


def _routes(site: Site, services: SettlementServices) -> list[Route]:
    rates = RatePages(site, services)
    return [
        Route(RATES.path, Address(GET=rates.all, POST=rates.make)),
        Route(f"{RATES.path}/choice", Address(POST=rates.choose)),
        Route(f"{RATES.path}/{{gid}}", Address(GET=rates.one)),
        Route(f"{RATES.path}/{{gid}}/terms", Address(POST=rates.change)),
    ]
