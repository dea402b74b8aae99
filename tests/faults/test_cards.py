"""Kills between the card provider's answer and the house's commit lose no payment and post none twice."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import aiohttp
import pytest

from saleroom.accounts.service import accounts
from saleroom.sales.storage import participants
from saleroom.settlement.domain.journal import Book
from saleroom.settlement.storage import journal
from saleroom.storage.database import Database, Transaction
from tests.faults.bidding import headers
from tests.faults.conftest import OpenPlace
from tests.faults.house import SupervisedHouse
from tests.faults.judging import tracebacks
from tests.faults.mortal import CARD_POINTS
from tests.patience import SECONDS_MAX, pause_after
from tests.settlement.money_checks import faults_of
from tests.settlement.sold_sales import PADDLES, SettledSale, sold
from tests.settlement.stripe_server import KEY, SECRET, Stripe, signed

SHEET_MADE, *POINTS = CARD_POINTS


class Buyers:
    """Buyers and a cashier who do not give up, and the provider, which repeats its callbacks until the house has heard."""

    def __init__(self, http: aiohttp.ClientSession, stripe: Stripe, sale: SettledSale, tokens: dict[int, str]) -> None:
        self._http, self._stripe, self._sale, self._tokens = http, stripe, sale, tokens

    async def asks(self, method: str, path: str, token: str, body: Any = None) -> tuple[int, Any]:
        """Ask again until the house answers."""
        waited = 0.0
        while True:
            try:
                async with self._http.request(method, path, json=body, headers=headers(token, None)) as answer:
                    if answer.status != 503:
                        return answer.status, await answer.json()
            except (aiohttp.ClientError, OSError, TimeoutError):
                pass  # the house is away
            assert waited < SECONDS_MAX, "the house does not answer"
            await asyncio.sleep(pause_after(waited))
            waited += pause_after(waited)

    async def owing(self) -> dict[int, str]:
        """Issue an invoice to each buyer who owes something, and return the invoices by paddle."""
        found = {}
        for paddle in range(1, PADDLES + 1):
            _, desk = await self.asks("GET", f"/sales/{self._sale.gid}/desk/{paddle}", self._sale.token)
            order = {"documentKind": "invoice", "paddle": paddle}
            if not Decimal(0) < Decimal(desk["owed"]) < Decimal(900_000):
                continue
            status, made = await self.asks("POST", f"/sales/{self._sale.gid}/documents", self._sale.token, order)
            if status == 201:
                found[paddle] = made["document"]
        return found

    async def begins(self, paddle: int, invoice: str) -> str:
        """Begin to pay, and return the provider's name of the page."""
        status, found = await self.asks("POST", f"/documents/{invoice}/online-payments", self._tokens[paddle])
        assert status == 200, found
        return str(found["payAt"].rsplit("/", 1)[1].partition("#")[0])

    async def tells_until(self, session: str, holds: Callable[[Any], bool]) -> None:
        """Repeat the callback, as the provider does, until the list of the house says so."""
        waited = 0.0
        while True:
            body = self._stripe.event("checkout.session.completed", self._stripe.sessions[session])
            try:
                async with self._http.post("/online-payments/callbacks", data=body, headers=signed(body)):
                    pass
            except (aiohttp.ClientError, OSError, TimeoutError):
                pass  # the house is away; the provider tells it again
            _, found = await self.asks("GET", "/online-payments", self._sale.token)
            of_it = [one for one in found["onlinePayments"] if one["providerName"] in (session, f"pi_{session}")]
            if of_it and holds(of_it[0]):
                return
            assert waited < SECONDS_MAX, f"the house does not say so: {of_it}"
            await asyncio.sleep(0.1)
            waited += 0.1

    async def pays_twice_and_gets_it_back(self, paddle: int, session: str) -> None:
        """Pay the page, and then all of it in cash as well; have it paid back to the card."""
        paid = Decimal(self._stripe.pay(session)["amount_total"]) / 100
        await self.tells_until(session, lambda one: one["paymentState"] == "paid")
        desk = f"/sales/{self._sale.gid}/desk/{paddle}"
        _, found = await self.asks("GET", desk, self._sale.token)
        owed = -Decimal(found["toPayBack"])
        assert owed <= 0
        change = {"reason": "A trial."}
        lot = found["settledLots"][0]["label"]
        status, _ = await self.asks("POST", f"/sales/{self._sale.gid}/lots/{lot}/correction", self._sale.token, change)
        assert status == 200
        _, found = await self.asks("GET", desk, self._sale.token)
        amount = min(Decimal(found["toPayBack"]), paid)
        if amount <= 0:
            return
        body = {"method": "online", "amount": f"{amount:.2f}"}
        status, said = await self.asks("POST", f"{desk}/refunds", self._sale.token, body)
        assert status == 200, said
        await self.tells_until(session, lambda one: [each["refundState"] for each in one["refunds"]] == ["done"])


def _posted(tx: Transaction, sale: SettledSale) -> Decimal:
    moved = journal.moved(tx, sale.on.sale.id)
    return sum((one.posting.amount for one in moved if one.posting.account.book is Book.ONLINE), Decimal(0))


async def run(folder: Path, url: str, workers: str) -> list[str]:
    """Kill the house at each point in turn, and return what does not hold."""
    stripe = Stripe()
    stripe.start()
    house = SupervisedHouse(
        folder,
        database=url,
        workers=workers,
        mqtt="off",
        public_url="http://house.test",
        stripe_key=KEY,
        stripe_webhook_secret=SECRET,
        stripe_url=stripe.url,
        stripe_checkout_url=stripe.url,
    )
    async with AsyncExitStack() as stack:
        stack.callback(stripe.stop)
        await stack.enter_async_context(house.running())
        database = Database(url)
        stack.push_async_callback(database.close)
        sale = await sold(database, Random(7), 30, "EUR")
        tokens = await database.write(_tokens, sale)
        session = aiohttp.ClientSession(house.url, headers={"X-Requested-With": "test"})
        http = await stack.enter_async_context(session)
        buyers = Buyers(http, stripe, sale, tokens)
        invoices = await buyers.owing()
        assert len(invoices) > len(POINTS), "enough buyers owe something"
        (paddle, invoice), *others = invoices.items()
        pages = dict(zip(invoices, [""] * len(invoices), strict=True))
        pages[paddle], _ = await asyncio.gather(buyers.begins(paddle, invoice), house.dies_at(SHEET_MADE))
        assert 1 == len(stripe.sessions), "the page that was made before the death is the one that is shown after it"
        for paddle, invoice in others:
            pages[paddle] = await buyers.begins(paddle, invoice)
        for (paddle, page), point in zip(pages.items(), POINTS, strict=False):
            await asyncio.gather(buyers.pays_twice_and_gets_it_back(paddle, page), house.dies_at(point))
        found = [*await database.write(lambda tx: [*faults_of(tx, sale)])]
        paid = sum(one["amount_total"] for one in stripe.sessions.values() if one["payment_status"] == "paid")
        back = sum(one["amount"] for one in stripe.refunds.values() if one["status"] == "succeeded")
        posted = await database.read(_posted, sale)
        if posted * 100 != paid - back:
            found.append(f"{posted} is posted, and the provider has {paid} - {back}")
        if house.deaths < len(POINTS) + 1:
            found.append(f"it died {house.deaths} times")
        return found + [f"a traceback in the house's log: … {end}" for end in tracebacks(house.log())]


def _tokens(tx: Transaction, sale: SettledSale) -> dict[int, str]:
    found = {}
    for paddle in range(1, PADDLES + 1):
        one = participants.with_paddle(tx, sale.on.sale.id, paddle)
        assert one is not None
        found[paddle] = accounts.issue_token(tx, one.user.id).value
    return found


@pytest.mark.parametrize("where", ["sqlite", "postgresql"])
def test_no_payment_is_lost_or_posted_twice(where: str, tmp_path: Path, open_place: OpenPlace) -> None:
    """After each death the payment is posted once, and the refund is made once: the sums of both sides agree."""
    with open_place(where) as there:
        workers = "1" if where == "sqlite" else "2"
        assert [] == asyncio.run(run(tmp_path, there.url, workers))
