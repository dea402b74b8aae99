"""The pages of sales: their addresses, menus and words."""

from __future__ import annotations

from pathlib import Path

from saleroom.sales.services import SaleServices
from saleroom.sales.web.words import WORDS
from saleroom.site.site import AreaPages


def area_pages(services: SaleServices) -> AreaPages:
    """Return the pages over one house."""
    return AreaPages(folder=Path(__file__).parent, routes=lambda site: (), words=WORDS, paths=frozenset())
