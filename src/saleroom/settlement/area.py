"""The area of settlement: its tables, endpoints, pages and services."""

from __future__ import annotations

from saleroom.area import Area, AreaParts, Platform
from saleroom.bidding.settings import BiddingSettings
from saleroom.http.endpoints import Rows
from saleroom.kernel.currency import decimals
from saleroom.settlement import api
from saleroom.settlement.api.vocabulary import VOCABULARY
from saleroom.settlement.services import SettlementServices
from saleroom.settlement.storage.area_tables import TABLES
from saleroom.settlement.web.pages import area_pages


def _open(settings: BiddingSettings, platform: Platform) -> AreaParts:
    services = SettlementServices(
        database=platform.database, tokens=platform.tokens, places=decimals(settings.currency)
    )
    return AreaParts(pages=area_pages(services), rows=(Rows(services, api.ENDPOINTS),), close=lambda: None)


SETTLEMENT: Area[BiddingSettings] = Area(
    tables=TABLES, endpoints=api.ENDPOINTS, vocabulary=VOCABULARY, operations={}, open=_open
)
