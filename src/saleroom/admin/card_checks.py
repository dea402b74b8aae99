"""The check of `saleroom doctor` on the card provider."""

from __future__ import annotations

from collections.abc import Sequence

from saleroom.admin.findings import Finding, failed, fine, off, warned
from saleroom.settings import Settings
from saleroom.settlement.area import card_provider
from saleroom.settlement.service.online.card_provider import ProviderAway, ProviderRefused


async def cards(settings: Settings, _: str | None) -> Sequence[Finding]:
    """The card provider takes the key of this house. The settings say whether they are whole."""
    provider = card_provider(settings, settings.public_url or "")
    if provider is None:
        return [off("cards", "no stripe_key: the house takes no cards online")]
    try:
        await provider.check()
    except (ProviderAway, ProviderRefused) as error:
        remedy = "correct stripe_key (it needs Checkout Sessions, Refunds and Disputes) or stripe_url, or wait until it is back"
        return [failed("cards", f"{settings.stripe_url}: {error}", remedy)]
    finally:
        await provider.close()
    if not provider.is_live:
        return [
            warned("cards", "stripe_key is a test key: no real money moves", "set a live key before the first sale")
        ]
    return [fine("cards", f"{settings.stripe_url} takes the key")]
