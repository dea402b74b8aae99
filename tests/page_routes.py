"""The routes of the pages; listing them sends no request to a house."""

from functools import cache
from types import SimpleNamespace
from typing import Any

from starlette.routing import Route

from saleroom.accounts.web import pages as account_pages
from saleroom.bidding.web import pages as bidding_pages
from saleroom.notices.web import pages as notice_pages
from saleroom.sales.web import pages as sale_pages
from saleroom.settlement.web import pages as settlement_pages
from saleroom.site.pages import Pages
from saleroom.site.site import Address, AreaPages, Site


def page_areas() -> list[AreaPages]:
    """Return the pages of each area, over no house."""
    nothing: Any = SimpleNamespace(feed=SimpleNamespace(after_rewind=[]), cards=None)
    later = [notice_pages.area_pages(nothing), settlement_pages.area_pages(nothing), sale_pages.area_pages(nothing)]
    return [*later, bidding_pages.area_pages(nothing), account_pages.area_pages(nothing)]


@cache
def page_routes() -> tuple[Route, ...]:
    """Return the routes of all pages."""
    nothing: Any = None
    return tuple(Pages(Site(page_areas(), nothing, nothing, account_pages.LOGIN), ()).routes())


def methods(route: Route) -> list[str]:
    """Return the methods that a page's route has handlers for."""
    address: Any = route.endpoint
    assert isinstance(address, Address)
    return sorted(address._handlers)
