"""The area of settlement: its tables, endpoints, pages and services."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from saleroom.area import Area, AreaParts, Platform, Task
from saleroom.confined.confinement import Confinement
from saleroom.http.endpoints import Rows
from saleroom.settlement import api
from saleroom.settlement.api.vocabulary import VOCABULARY
from saleroom.settlement.domain.documents.content import Letterhead
from saleroom.settlement.domain.reminders.reminding import Automatic
from saleroom.settlement.service import retention
from saleroom.settlement.service.documents.document_printing import DocumentPrinter
from saleroom.settlement.service.documents.receipts import Paper
from saleroom.settlement.service.money_mails import MAILS
from saleroom.settlement.service.online.card_provider import CardProvider
from saleroom.settlement.service.online.online_looking import OnlineCards
from saleroom.settlement.service.reminders import automatic_reminding
from saleroom.settlement.service.reminders.reminding import MAILS as REMINDERS
from saleroom.settlement.service.unsold.offering import MAILS as OFFERS
from saleroom.settlement.services import SettlementServices
from saleroom.settlement.settings import SettlementSettings, bank_of, calendar_of, house_of, payer_of
from saleroom.settlement.storage.area_tables import TABLES
from saleroom.settlement.web.pages import area_pages


def card_provider(settings: SettlementSettings, origin: str) -> CardProvider | None:
    """Return the provider of payments by card online, None without one. A house without one never loads its library.

    `origin` is the address of the house.
    """
    key, secret = settings.stripe_key, settings.stripe_webhook_secret
    if key is None or secret is None:
        return None
    from saleroom.settlement.service.online.stripe_provider import StripeProvider

    return StripeProvider(
        key=key.get_secret_value(),
        webhook_secret=secret.get_secret_value(),
        url=settings.stripe_url,
        origin=settings.stripe_checkout_url,
        house=origin,
    )


def _open(settings: SettlementSettings, platform: Platform) -> AreaParts:
    letterhead = Letterhead(
        house=house_of(settings), bank=bank_of(settings), currency=settings.currency, calendar=calendar_of(settings)
    )
    provider = card_provider(settings, platform.origin)
    cards = (
        None
        if provider is None
        else OnlineCards(
            platform.database,
            platform.tokens,
            provider,
            lambda language: Paper(head=letterhead, language=language),
            settings.currency,
        )
    )
    services = SettlementServices(
        database=platform.database,
        tokens=platform.tokens,
        cursors=platform.cursors,
        printer=DocumentPrinter(platform.database),
        bank_files=Confinement("bank files"),
        documents_years=settings.documents_years,
        letterhead=letterhead,
        payer=payer_of(settings),
        cards=cards,
    )

    async def begin() -> Mapping[str, Task]:
        tasks: dict[str, Task] = {"retention": partial(retention.run, platform.database, settings.documents_years)}
        calendar = letterhead.calendar
        if calendar.automatic is not Automatic.OFF:
            tasks["reminders"] = partial(automatic_reminding.run, platform.database, calendar, letterhead.places)
        if cards is not None:
            tasks["payments online"] = partial(cards.run, cards.duty())
        return tasks

    def close() -> None:
        services.bank_files.close()
        services.printer.close()

    return AreaParts(
        pages=area_pages(services),
        rows=(Rows(services, api.ENDPOINTS),),
        begin=begin,
        close=close,
        figures=tuple if cards is None else cards.figures,
    )


SETTLEMENT: Area[SettlementSettings] = Area(
    tables=TABLES,
    endpoints=api.ENDPOINTS,
    vocabulary=VOCABULARY,
    operations={},
    open=_open,
    mails=(*MAILS, *REMINDERS, *OFFERS),
)
