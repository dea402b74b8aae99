"""A house that takes cards online from the provider of tests, and a buyer whose invoice of 14.88 is open."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from saleroom.settlement.service.online import online_looking
from saleroom.storage import duty
from tests.fixtures_database import FakeClock
from tests.fixtures_house import House, User, settings_for
from tests.patience import SECONDS_MAX, pause_after
from tests.settlement.api.test_desk import Settling
from tests.settlement.stripe_server import KEY, SECRET, Stripe, Thing, signed

LOOKED = "GET", "/v1/checkout/sessions/"


def cards_of(stripe: Stripe) -> dict[str, Any]:
    """Return the settings of cards online of a house that takes them from this provider."""
    return {
        "stripe_key": KEY, "stripe_webhook_secret": SECRET, "stripe_url": stripe.url, "stripe_checkout_url": stripe.url,
        "public_url": "http://house.test",
    }  # fmt: skip


def settings_of(url: str, stripe: Stripe, **more: Any) -> Any:
    """Return the settings of a house that takes cards from this provider."""
    return settings_for(url, outage_reopens=False, **{**cards_of(stripe), **more})


@contextmanager
def provider(clock: FakeClock | None = None) -> Iterator[Stripe]:
    """Serve the provider of tests, whose clock is that of the house."""
    now = time.time if clock is None else lambda: clock().timestamp()
    stripe = Stripe(clock=now)
    stripe.start()
    yield stripe
    stripe.stop()


class Paying(Settling):
    """A sale with an invoice of 14.88 that its buyer can pay by card online."""

    def __init__(self, house: House, clock: FakeClock, stripe: Stripe, amount: str = "10") -> None:
        super().__init__(house, 3)
        self.clock, self.stripe = clock, stripe
        self.user: User = self.sale.bidder()
        self.paddle = self.user.json("GET", f"/sales/{self.gid}/registration")["paddle"]
        self.sell(self.paddle, amount)
        self.invoice = self.issue()

    def issue(self) -> str:
        """Issue the invoice of what the buyer has bought since the last one."""
        order = {"documentKind": "invoice", "paddle": self.paddle}
        return str(self.cashier.json("POST", f"/sales/{self.gid}/documents", json=order)["document"])

    def begin(self) -> httpx.Response:
        """Begin to pay by card, as the buyer."""
        answer = self.user.post(f"/documents/{self.invoice}/online-payments")
        assert isinstance(answer, httpx.Response)
        return answer

    def sheet(self) -> str:
        """Begin to pay by card, and return the provider's name of the page."""
        address = self.begin().json()["payAt"]
        return str(address.rsplit("/", 1)[1].partition("#")[0])

    def tell(self, kind: str, about: Thing, **more: Any) -> httpx.Response:
        """Send a callback of the provider, and return the answer."""
        body = self.stripe.event(kind, about, **more)
        return self.send(body, signed(body))

    def send(self, body: bytes, headers: dict[str, str]) -> httpx.Response:
        """Send what may be a callback, and return the answer."""
        return self.house.plain.post("/online-payments/callbacks", content=body, headers=headers)

    def payments(self) -> Any:
        """Return the payments of the house, the newest first."""
        return self.cashier.json("GET", "/online-payments")["onlinePayments"]

    def money(self) -> list[tuple[str, str]]:
        """Return what has moved for the buyer."""
        return [(one["method"], one["moved"]) for one in self.desk(self.paddle)["money"]]

    def until(self, state: str) -> Any:
        """Wait until the newest payment has a state, and return it."""
        start = time.monotonic()
        while (found := self.payments()[0])["paymentState"] != state:
            assert time.monotonic() - start < SECONDS_MAX, f"it is {found['paymentState']} and not {state}"
            time.sleep(pause_after(time.monotonic() - start))
        return found

    def until_refunds(self, *states: str) -> Any:
        """Wait until the refunds of the newest payment have these states, and return them."""
        start = time.monotonic()
        while True:
            found = self.payments()[0]["refunds"]
            if [one["refundState"] for one in found] == [*states]:
                return found
            assert time.monotonic() - start < SECONDS_MAX, f"they are {found} and not {states}"
            time.sleep(pause_after(time.monotonic() - start))

    def looked(self) -> int:
        """Return how often the provider was asked about a page."""
        return sum(1 for method, path, _ in [*self.stripe.asked] if method == LOOKED[0] and path.startswith(LOOKED[1]))

    def look(self, **after: float) -> None:
        """Turn the clock, and wait until the provider was asked about a page because of that, and nothing is due."""
        before = self.looked()
        self.clock.advance(**after)
        self._settled(before)

    def told(self, kind: str, about: Thing, **more: Any) -> None:
        """Send a callback, and wait until the provider was asked because of it, and nothing is due."""
        before = self.looked()
        assert 204 == self.tell(kind, about, **more).status_code
        self._settled(before)

    def _settled(self, before: int) -> None:
        start = time.monotonic()
        while self.looked() == before or self.house.read(is_waiting):
            assert time.monotonic() - start < SECONDS_MAX, "the provider is not asked"
            time.sleep(pause_after(time.monotonic() - start))

    def pay_back(self, amount: str, method: str = "online") -> httpx.Response:
        """Pay the buyer back at the desk, and return the answer."""
        body = {"method": method, "amount": amount}
        answer = self.cashier.post(f"/sales/{self.gid}/desk/{self.paddle}/refunds", json=body)
        assert isinstance(answer, httpx.Response)
        return answer


def is_waiting(tx: Any) -> bool:
    """Return whether a payment is being looked at: it comes again in two minutes unless what is seen is posted."""
    from saleroom.settlement.domain.online.card_payments import RETRY
    from saleroom.settlement.storage import online

    return online.is_due(tx) or any(one.look_at == tx.now() + RETRY for one in online.newest(tx, 50))


def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the house look every tenth of a second."""
    for module, name in ((duty, "IDLE_SECONDS"), (duty, "STANDBY_SECONDS"), (online_looking, "POLL_SECONDS")):
        monkeypatch.setattr(module, name, 0.1)
    monkeypatch.setattr(online_looking, "back_off", lambda failures, wanted: 0.1)
