"""The area of settlement: its tables, endpoints, pages and services."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from saleroom.area import Area, AreaParts, Platform, Task
from saleroom.http.endpoints import Rows
from saleroom.kernel.currency import decimals
from saleroom.settlement import api
from saleroom.settlement.api.vocabulary import VOCABULARY
from saleroom.settlement.domain.documents import Letterhead
from saleroom.settlement.service import retention
from saleroom.settlement.service.document_printing import DocumentPrinter
from saleroom.settlement.service.money_mails import MAILS
from saleroom.settlement.service.offering import MAILS as OFFERS
from saleroom.settlement.service.reminding import MAILS as REMINDERS
from saleroom.settlement.services import SettlementServices
from saleroom.settlement.settings import SettlementSettings, bank_of, calendar_of, house_of, payer_of
from saleroom.settlement.storage.area_tables import TABLES
from saleroom.settlement.web.pages import area_pages


def _open(settings: SettlementSettings, platform: Platform) -> AreaParts:
    services = SettlementServices(
        database=platform.database,
        tokens=platform.tokens,
        cursors=platform.cursors,
        printer=DocumentPrinter(platform.database),
        documents_years=settings.documents_years,
        letterhead=Letterhead(
            house=house_of(settings), bank=bank_of(settings), currency=settings.currency, calendar=calendar_of(settings)
        ),
        payer=payer_of(settings),
        places=decimals(settings.currency),
    )

    async def begin() -> Mapping[str, Task]:
        return {"retention": partial(retention.run, platform.database, settings.documents_years)}

    return AreaParts(
        pages=area_pages(services), rows=(Rows(services, api.ENDPOINTS),), begin=begin, close=services.printer.close
    )


SETTLEMENT: Area[SettlementSettings] = Area(
    tables=TABLES,
    endpoints=api.ENDPOINTS,
    vocabulary=VOCABULARY,
    operations={},
    open=_open,
    mails=(*MAILS, *REMINDERS, *OFFERS),
)
