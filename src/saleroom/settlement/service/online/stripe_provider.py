"""Stripe behind the port, by its own library. Only a house with a key of it imports this module.

Pages are Checkout Sessions (docs.stripe.com/payments/checkout): one payment each, by card, in the currency of the invoice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Any, TypeVar

import aiohttp
import msgspec
import stripe
from stripe import RequestOptions
from stripe.params.checkout import SessionCreateParams

from saleroom.settlement.domain.errors import ForgedCallback
from saleroom.settlement.domain.online.card_payments import (
    Dispute,
    PaymentPage,
    ProviderPayment,
    RefundState,
    SeenDispute,
    SeenRefund,
    to_minor,
)
from saleroom.settlement.service.online.card_provider import (
    Callback,
    CardPage,
    PageOrder,
    ProviderAway,
    ProviderRefused,
)

ANSWER_SECONDS_MAX = 15.0
TOLERANCE_SECONDS = 300
"""How old a callback may be: the provider's own limit."""
LISTED_MAX = 100
"""How many refunds of one payment are read."""
T = TypeVar("T")
R = TypeVar("R")
_REFUNDS = {
    "succeeded": RefundState.DONE,
    "failed": RefundState.FAILED,
    "canceled": RefundState.FAILED,
}
_DISPUTES = {
    "lost": Dispute.LOST,
    "won": Dispute.WON,
    "warning_closed": Dispute.WON,
    "prevented": Dispute.WON,
}


class StripeProvider:
    """Stripe in one process. Close it at the end, in the event loop that used it."""

    def __init__(self, *, key: str, webhook_secret: str, url: str, origin: str, house: str) -> None:
        """`url` is the address of the API, `origin` that of the pages to pay on, `house` that of the house."""
        self._webhook_secret = webhook_secret
        self._origin = origin.rstrip("/")
        self._house = house
        self._live = "_live_" in key
        self._http = stripe.AIOHTTPClient(timeout=aiohttp.ClientTimeout(total=ANSWER_SECONDS_MAX))
        stripe.enable_telemetry = False  # else each request would tell how long the one before took
        # The house asks again by itself, between its other work.
        self._client = stripe.StripeClient(
            key, base_addresses={"api": url.rstrip("/")}, http_client=self._http, max_network_retries=0
        )

    @property
    def is_live(self) -> bool:
        """Whether real money moves."""
        return self._live

    @property
    def origin(self) -> str:
        """The origin of the pages to pay on."""
        return self._origin

    async def open(self, asked: PageOrder) -> CardPage:
        """Create a Checkout Session; the idempotency key gives the same one again."""
        minor = to_minor(asked.amount, asked.currency)
        assert minor is not None, "only what can be charged is asked for"
        back = f"{self._house}{asked.path}"
        names: dict[str, str] = {"payment": asked.payment}
        page: SessionCreateParams = {
            "mode": "payment",
            "allowed_payment_method_types": ["card"],
            "adaptive_pricing": {"enabled": False},  # what is paid is in the currency of the invoice
            "line_items": [
                {
                    "quantity": 1,
                    "price_data": {
                        "currency": asked.currency.lower(),
                        "unit_amount": minor,
                        "product_data": {"name": asked.title},
                    },
                }
            ],
            "client_reference_id": asked.payment,
            "metadata": names,
            "payment_intent_data": {"metadata": names, "description": asked.title},
            "success_url": f"{back}?card=done",
            "cancel_url": f"{back}?card=left",
            "expires_at": int(asked.expires_at.timestamp()),
        }
        once: RequestOptions = {"idempotency_key": f"saleroom-payment-{asked.payment}"}
        return await _answered(self._client.v1.checkout.sessions.create_async(page, once), self._sheeted)

    def _sheeted(self, found: stripe.checkout.Session) -> CardPage:
        url = found.url or ""
        if not url.startswith(f"{self._origin}/"):
            raise ProviderRefused("its page has another address than stripe_checkout_url")
        return CardPage(found.id, url)

    async def look(self, session: str) -> ProviderPayment:
        """Retrieve a session; of a paid one its refunds and disputes too."""
        found = await _answered(self._client.v1.checkout.sessions.retrieve_async(session), _seen)
        if found.intent is None or not found.paid:
            return found
        of_it = found.intent
        refunds = await _answered(
            self._client.v1.refunds.list_async({"payment_intent": of_it, "limit": LISTED_MAX}),
            lambda page: tuple(_refund(one) for one in page.data),
        )
        dispute = await _answered(
            self._client.v1.disputes.list_async({"payment_intent": of_it, "limit": 1}),
            lambda page: next((_dispute(one) for one in page.data), None),
        )
        return msgspec.structs.replace(found, refunds=refunds, dispute=dispute)

    async def close_sheet(self, session: str) -> ProviderPayment:
        """Expire a session that is open."""
        return await _answered(self._client.v1.checkout.sessions.expire_async(session), _seen)

    async def refund(self, refund: str, intent: str, amount: Decimal, currency: str) -> SeenRefund:
        """Create a refund; the idempotency key gives the same one again."""
        minor = to_minor(amount, currency)
        assert minor is not None, "only what can be paid back is asked for"
        return await _answered(
            self._client.v1.refunds.create_async(
                {"payment_intent": intent, "amount": minor, "metadata": {"refund": refund}},
                {"idempotency_key": f"saleroom-refund-{refund}"},
            ),
            _refund,
        )

    async def check(self) -> None:
        """List one session."""
        await _answered(self._client.v1.checkout.sessions.list_async({"limit": 1}), lambda _: None)

    def read(self, body: bytes, signature: str) -> Callback:
        """Verify the signature over the raw body, and read the names in it."""
        try:
            stripe.WebhookSignature.verify_header(body, signature, self._webhook_secret, TOLERANCE_SECONDS)
            event = _decode_event(body)
        except (stripe.SignatureVerificationError, UnicodeError, msgspec.MsgspecError):
            raise ForgedCallback from None  # the library's error holds the body
        about = event.data.object
        is_session = about.object == "checkout.session"
        return Callback(
            payment=(about.metadata or {}).get("payment"),
            session=about.id if is_session else None,
            intent=about.id if about.object == "payment_intent" else about.payment_intent,
            is_live=event.livemode,
        )

    async def close(self) -> None:
        """End the connections."""
        await self._http.close_async()  # type: ignore[no-untyped-call]  # it has no types


class _About(msgspec.Struct):
    """The part of an event's object that the house reads."""

    object: str = ""
    id: str = ""
    payment_intent: str | None = None
    metadata: dict[str, str] | None = None


class _Data(msgspec.Struct):
    object: _About


class _Event(msgspec.Struct):
    data: _Data
    livemode: bool = False


_decode_event = msgspec.json.Decoder(_Event).decode


async def _answered(asked: Awaitable[T], read: Callable[[T], R]) -> R:
    """Return what an answer says. Raises ProviderAway or ProviderRefused, with texts that show no secret."""
    try:
        async with asyncio.timeout(ANSWER_SECONDS_MAX):
            return read(await asked)
    except (TimeoutError, stripe.APIConnectionError):
        raise ProviderAway("it did not answer") from None
    except (stripe.AuthenticationError, stripe.PermissionError):
        # A person has to correct the key; until then every question would get this answer.
        raise ProviderAway("it refuses the key", 600.0) from None
    except stripe.StripeError as error:
        status = error.http_status or 500
        if status in (409, 429) or status >= 500:
            raise ProviderAway(f"it answered {status}", _seconds(error.headers)) from None
        raise ProviderRefused(error.code or f"it answered {status}") from None
    except (ValueError, KeyError, AttributeError, TypeError):
        # An answer of another form, such as the page of a proxy, has none of the members that are read.
        raise ProviderAway("its answer cannot be read") from None


def _seconds(headers: Any) -> float:
    text = str((headers or {}).get("Retry-After", ""))
    return int(text[:6]) if text.isascii() and text.isdigit() else 0


def _seen(found: stripe.checkout.Session) -> ProviderPayment:
    intent = found.payment_intent
    return ProviderPayment(
        session=found.id,
        sheet=PaymentPage(found.status or PaymentPage.OPEN),
        paid=found.payment_status == "paid",
        amount=found.amount_total or 0,
        currency=(found.currency or "").upper(),
        intent=intent if intent is None or isinstance(intent, str) else intent.id,
    )


def _refund(found: stripe.Refund) -> SeenRefund:
    return SeenRefund(
        refund=found.id,
        own=getattr(found.metadata, "refund", None),
        amount=found.amount,
        state=_REFUNDS.get(found.status or "", RefundState.PENDING),
        reason=getattr(found, "failure_reason", None) or "",
    )


def _dispute(found: stripe.Dispute) -> SeenDispute:
    return SeenDispute(_DISPUTES.get(found.status, Dispute.OPEN), found.amount)
