"""The trial of the money: 32 cashiers settle one sale at once, and the house is killed within their acts."""

from __future__ import annotations

import asyncio
import random
import secrets
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import aiohttp
from sqlalchemy import func, select

from saleroom.settlement.domain.documents.content import DocumentKind
from saleroom.settlement.storage import documents, payouts
from saleroom.settlement.storage.bank_tables import bank_payments
from saleroom.storage.database import Database, Transaction
from tests.faults.bidding import headers
from tests.faults.house import SupervisedHouse
from tests.faults.judging import tracebacks
from tests.faults.kills import KillTrial, People, work_through_kills
from tests.faults.places import TrialDatabase
from tests.faults.trial import ON_SQLITE, ON_TWO
from tests.settlement.camt import IBAN, credit, statement
from tests.settlement.money_checks import faults_of
from tests.settlement.sold_sales import PADDLES, SettledSale, sold

POINTS = ("entry written", "number taken", "money decided", "money committed")
"""Where the house dies in turn, beside any other place."""
CASHIERS = 32
LOTS = 60
ACTS_BETWEEN = 10
TWICE = 0.1
"""How many acts are sent twice at once."""
METHODS = ("cash", "card", "bank", "other")


class MoneyTrial(KillTrial):
    """The trial of the money."""


FULL = MoneyTrial("money: 100 kills", 100)
SHORT = (MoneyTrial("money: 5 kills", 5, on=ON_SQLITE), MoneyTrial("money: 5 kills", 5, on=ON_TWO))


@dataclass
class MoneyOutcome:
    """What came of a trial; `faults` is empty if every promise was kept."""

    deaths: int
    done: Counter[str]
    refused: Counter[str]
    repeats: int
    documents: int
    faults: list[str]

    def __str__(self) -> str:
        acts = ", ".join(f"{name}: {number}" for name, number in sorted(self.done.items()))
        told = f"refused: {sum(self.refused.values())}, documents: {self.documents}, sent again: {self.repeats}"
        return f"deaths: {self.deaths}, {acts}, {told}"


@dataclass(kw_only=True)
class Cashiers(People):
    """Cashiers, all of one sale."""

    sale: SettledSale
    done: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    receipts: set[str] = field(default_factory=set)
    """The receipts that answers have named."""
    issued: set[str] = field(default_factory=set)
    """The invoices and statements that answers have named."""
    noted: set[str] = field(default_factory=set)
    """The credit notes that answers have named; a correction issues others."""
    files: list[str] = field(default_factory=list)
    """The payment files that answers have named."""
    invoices: list[str] = field(default_factory=list)
    """The numbers of the invoices."""
    sent: int = 0
    """Payments of bank files, each of which was sent twice."""

    async def run(self) -> None:
        """Settle until it is calm."""
        async with asyncio.TaskGroup() as group:
            for _ in range(CASHIERS):
                group.create_task(self._settle())

    def answered(self) -> int:
        """Return how many acts have been answered, also with a refusal."""
        return sum(self.done.values()) + sum(self.refused.values())

    async def _settle(self) -> None:
        acts = (self._pay, self._pay, self._pay, self._back, self._out, self._issue, self._credit, self._correct)
        while not self.calm.is_set():
            await random.choice((*acts, self._net, self._import, self._file, self._mark))()
            await asyncio.sleep(random.uniform(0, 0.05))

    async def _pay(self) -> None:
        some = [{"method": random.choice(METHODS), "amount": f"{random.randint(1, 900) / 100:.2f}"} for _ in range(2)]
        body = {"payments": some, "invoice": random.random() < 0.3}
        found = await self._act("pay", f"desk/{_paddle()}/payments", body)
        self._receipt(found)
        if found is not None and found["issuedInvoice"] is not None:
            self.issued.add(found["issuedInvoice"])
            numbers = {one["document"]: one["documentNumber"] for one in found["documents"]}
            self.invoices.append(numbers[found["issuedInvoice"]])

    async def _back(self) -> None:
        body = {"method": random.choice(METHODS), "amount": f"{random.randint(1, 9)}"}
        self._receipt(await self._act("refund", f"desk/{_paddle()}/refunds", body))

    async def _out(self) -> None:
        body = {"method": random.choice(METHODS), "amount": f"{random.randint(1, 90)}"}
        self._receipt(await self._act("pay out", f"statements/{random.choice(self.sale.codes)}/payouts", body))

    async def _net(self) -> None:
        await self._act("net", f"desk/{random.randint(1, 2)}/netting", None)

    async def _issue(self) -> None:
        body = {"documentKind": "invoice", "paddle": _paddle()}
        if random.random() < 0.3:
            body = {"documentKind": "statement", "consignor": random.choice(self.sale.codes)}
        found = await self._act("issue", "documents", body)
        if found is not None:
            self.issued.add(found["document"])
            if found["documentKind"] == "invoice":
                self.invoices.append(found["documentNumber"])

    async def _credit(self) -> None:
        """Credit a line or all that are left; the price alone is refused after the number was taken."""
        if self.issued:
            body = {"reason": "A trial.", "lines": [random.randint(0, 1)]}
            if random.random() < 0.2:
                del body["lines"]
            path = f"/documents/{random.choice([*self.issued])}/credit"
            found = await self._act("credit", path, body)
            if found is not None:
                self.noted.add(found["document"])

    async def _correct(self) -> None:
        paddle = random.choice((None, _paddle()))
        body = {
            "reason": "A trial.",
            "method": random.choice(METHODS),
            **({} if paddle is None else {"paddle": paddle}),
        }
        self._receipt(await self._act("correct", f"lots/{random.randint(1, LOTS)}/correction", body))

    async def _import(self) -> None:
        """Send a bank file twice at once; every payment in it is new once."""
        if not self.invoices:
            return
        named = random.choices(self.invoices, k=2)
        data = statement(*(credit("7.00", number, reference=secrets.token_hex(6)) for number in named))
        self.sent += len(named)
        answers = await asyncio.gather(*(self._settled("POST", "/bank-statements", None, None, data) for _ in range(2)))
        self.done["import"] += all(status == 200 for status, _ in answers)

    async def _file(self) -> None:
        """Make a payment file for one consignor or for two; one of them may have a payout under way, or get too little."""
        codes = random.sample(self.sale.codes, random.choice((1, 1, 2)))
        chosen = [{"sale": self.sale.gid, "consignor": code, "amount": f"{random.randint(1, 90)}"} for code in codes]
        found = await self._act("payment file", "/payment-files", {"payouts": chosen})
        if found is not None:
            self.files.append(found["paymentFile"])

    async def _mark(self) -> None:
        """Say of a late file that it was booked or failed, so that its consignors can be paid again."""
        if self.files:
            mark = random.choice(("sent", "booked", "failed"))
            body = {"mark": mark, **({"reason": "A trial."} if mark == "failed" else {})}
            await self._act("mark", f"/payment-files/{random.choice(self.files[-5:])}/marks", body)

    def _receipt(self, found: Any) -> None:
        if found is not None and found["paymentReceipt"] is not None:
            self.receipts.add(found["paymentReceipt"])

    async def _act(self, name: str, path: str, body: Any) -> Any:
        """Do an act, now and then twice at once; return its answer, None for a refusal."""
        key = f"act-{secrets.token_hex(8)}"
        path = path if path.startswith("/") else f"/sales/{self.sale.gid}/{path}"
        times = 2 if random.random() < TWICE else 1
        answers = await asyncio.gather(*(self._settled("POST", path, body, key) for _ in range(times)))
        good = [said for status, said in answers if status < 300]
        if not good:
            self.refused[f"{name}: {answers[0][1].get('code')}"] += 1
            return None
        if any(said != good[0] for said in good):
            self.faults.append(f"two answers to one act: {good}")
        self.done[name] += 1
        return good[0]

    async def _settled(
        self, method: str, path: str, body: Any, key: str | None, data: bytes | None = None
    ) -> tuple[int, Any]:
        """Ask again until an answer settles the request."""
        while True:
            form = None
            if data is not None:
                form = aiohttp.FormData()
                form.add_field("statement", data, filename="camt.xml", content_type="application/xml")
            try:
                said = headers(self.sale.token, key)
                async with self._http.request(method, path, json=body, data=form, headers=said) as answer:
                    if answer.status in {200, 201, 400, 403, 404, 409}:
                        return answer.status, await answer.json()
                    if answer.status != 503:
                        self.faults.append(f"answered {answer.status}: {await answer.text()}")
                        return answer.status, {}
            except (aiohttp.ClientError, OSError, TimeoutError):
                pass  # the house is away; a repeat with the key will show the request's result
            self.repeats += 1
            await asyncio.sleep(random.uniform(0.05, 0.25))


def _paddle() -> int:
    return random.randint(1, PADDLES)


async def run(trial: MoneyTrial, folder: Path, where: str, place: TrialDatabase) -> MoneyOutcome:
    """Run the trial, and judge it: every act is there once with all that it is made of, or nothing of it is."""
    workers = "2" if where in ON_TWO else "1"
    house = SupervisedHouse(folder, database=place.url, workers=workers, mqtt="off", house_iban=IBAN)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(house.running())
        database = Database(place.url)
        stack.push_async_callback(database.close)
        sale = await sold(database, Random(random.getrandbits(32)), LOTS, "EUR")
        cashiers = Cashiers(url=house.url, sale=sale)
        await cashiers.begin(stack)

        async def look() -> list[str]:
            return await database.write(lambda tx: [*faults_of(tx, sale)])

        await work_through_kills(cashiers, house, trial.kills, POINTS, ACTS_BETWEEN, look)
        found = [*cashiers.faults, *await database.write(_judged, cashiers)]
        found += [f"a traceback in the house's log: … {end}" for end in tracebacks(house.log())]
        numbers = await database.read(lambda tx: len([*documents.readable(tx)]))
        return MoneyOutcome(house.deaths, cashiers.done, cashiers.refused, cashiers.repeats, numbers, found)


def _judged(tx: Transaction, cashiers: Cashiers) -> list[str]:
    """Return what does not hold at the end: of the money, and of what was acknowledged against what is there."""
    found = [*faults_of(tx, cashiers.sale)]
    kept: dict[DocumentKind, set[str]] = {kind: set() for kind in DocumentKind}
    for one in documents.readable(tx):
        kept[one.document.kind].add(one.gid)
    pairs = {
        "receipts": (cashiers.receipts, kept[DocumentKind.RECEIPT]),
        "invoices and statements": (cashiers.issued, kept[DocumentKind.INVOICE] | kept[DocumentKind.STATEMENT]),
        "credit notes": (cashiers.noted, kept[DocumentKind.CREDIT_NOTE] & cashiers.noted),
    }
    found += [f"{name}: {len(a ^ b)} were not acknowledged or are gone" for name, (a, b) in pairs.items() if a != b]
    made = [one.gid for one in payouts.newest(tx, 100_000)]
    if sorted(made) != sorted(cashiers.files):
        found.append(f"payment files: {len({*made} ^ {*cashiers.files})} were not acknowledged or are gone")
    taken = tx.execute(select(func.count()).select_from(bank_payments)).scalar_one()
    if taken != cashiers.sent:
        found.append(f"{cashiers.sent} payments of a bank were sent twice each, and {taken} are there")
    return found
