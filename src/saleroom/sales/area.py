"""The area of sales: its tables, endpoints, pages and services."""

from __future__ import annotations

from saleroom.area import Area, AreaParts, Platform
from saleroom.bidding.service.admission import GATE
from saleroom.http.endpoints import Rows
from saleroom.platform_settings import PlatformSettings
from saleroom.sales import api
from saleroom.sales.api.vocabulary import VOCABULARY
from saleroom.sales.service.admission import gate
from saleroom.sales.services import SaleServices
from saleroom.sales.storage.area_tables import TABLES
from saleroom.sales.web.pages import area_pages


def _open(settings: PlatformSettings, platform: Platform) -> AreaParts:
    services = SaleServices(
        database=platform.database, tokens=platform.tokens, cursors=platform.cursors, currency=settings.currency
    )
    platform.database.provide(GATE, gate)
    return AreaParts(pages=area_pages(services), rows=(Rows(services, api.ENDPOINTS),), close=lambda: None)


SALES: Area[PlatformSettings] = Area(
    tables=TABLES, endpoints=api.ENDPOINTS, vocabulary=VOCABULARY, operations={}, open=_open
)
