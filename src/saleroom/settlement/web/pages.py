"""The pages of settlement: their addresses, menus and words."""

from __future__ import annotations

from pathlib import Path

from starlette.routing import Route

from saleroom.settlement.services import SettlementServices
from saleroom.settlement.web.desk import DESK, DeskPages
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
        below=(f"{RATES.path}/", f"{DESK.path}/"),
        sections=(DESK, RATES),
    )


def _routes(site: Site, services: SettlementServices) -> list[Route]:
    rates, desk = RatePages(site, services), DeskPages(site, services)
    return [
        Route(DESK.path, Address(GET=desk.all)),
        Route(f"{DESK.path}/{{gid}}", Address(GET=desk.one)),
        Route(f"{DESK.path}/{{gid}}/payments", Address(POST=desk.pay)),
        Route(f"{DESK.path}/{{gid}}/refund", Address(POST=desk.refund)),
        Route(f"{DESK.path}/{{gid}}/accounts", Address(GET=desk.accounts)),
        Route(f"{DESK.path}/{{gid}}/accounts.csv", Address(GET=desk.export)),
        Route(f"{DESK.path}/{{gid}}/statements/{{code}}", Address(GET=desk.statement, POST=desk.pay_out)),
        Route(RATES.path, Address(GET=rates.all, POST=rates.make)),
        Route(f"{RATES.path}/choice", Address(POST=rates.choose)),
        Route(f"{RATES.path}/{{gid}}", Address(GET=rates.one)),
        Route(f"{RATES.path}/{{gid}}/terms", Address(POST=rates.change)),
    ]
