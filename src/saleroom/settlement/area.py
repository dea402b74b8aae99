"""The area of settlement: its tables, endpoints, pages and services."""

from __future__ import annotations

from saleroom.area import Area, AreaParts, Platform
from saleroom.http.endpoints import Rows
from saleroom.kernel.currency import decimals
from saleroom.settlement import api
from saleroom.settlement.api.vocabulary import VOCABULARY
from saleroom.settlement.domain.documents import Letterhead
from saleroom.settlement.service.document_printing import DocumentPrinter
from saleroom.settlement.service.money_mails import MAILS
from saleroom.settlement.services import SettlementServices
from saleroom.settlement.settings import SettlementSettings, bank_of, house_of
from saleroom.settlement.storage.area_tables import TABLES
from saleroom.settlement.web.pages import area_pages


def _open(settings: SettlementSettings, platform: Platform) -> AreaParts:
    services = SettlementServices(
        database=platform.database,
        tokens=platform.tokens,
        cursors=platform.cursors,
        printer=DocumentPrinter(platform.database),
        letterhead=Letterhead(house=house_of(settings), bank=bank_of(settings), currency=settings.currency),
        places=decimals(settings.currency),
    )
    return AreaParts(pages=area_pages(services), rows=(Rows(services, api.ENDPOINTS),), close=services.printer.close)


SETTLEMENT: Area[SettlementSettings] = Area(
    tables=TABLES, endpoints=api.ENDPOINTS, vocabulary=VOCABULARY, operations={}, open=_open, mails=MAILS
)
