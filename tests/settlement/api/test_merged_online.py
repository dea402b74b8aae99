"""A guest who is merged while money comes by card online: it is there once, for the right one, and goes back to the card."""

from collections.abc import Iterator

import pytest

from saleroom.settlement.service.verifying import faults as journal_faults
from tests.fixtures_database import FakeClock
from tests.fixtures_house import House
from tests.settlement.api.test_merging import Guest, issue
from tests.settlement.paying import Paying, provider, quickly, settings_of
from tests.settlement.stripe_server import Stripe


@pytest.fixture
def stripe(clock: FakeClock) -> Iterator[Stripe]:
    """The provider."""
    with provider(clock) as found:
        yield found


class MergedGuest(Paying):
    """A buyer with an invoice of 14.88 that is payable online, and a guest with one of 29.75, who is the same person."""

    def __init__(self, house: House, clock: FakeClock, stripe: Stripe) -> None:
        super().__init__(house, clock, stripe)
        self.guest = Guest(self, paddle=77)
        self.sell(77, "20")
        self.own, self.theirs = self.invoice, issue(self, 77)
        found = self.sale.staff.json("GET", f"/sales/{self.gid}/participants")["participants"]
        [self.account] = [one["participant"] for one in found if one["paddle"] == self.paddle]

    def merge(self) -> None:
        """Make the guest one with the buyer; both have bid, so the sale has to be over."""
        self.sale.act("end")
        answer = self.guest.merge(self.account)
        assert answer.is_success, answer.text

    def paid(self, session: str) -> None:
        """Pay on the page of the provider, and wait until the house has posted it, however often it hears of it."""
        about = self.stripe.sessions[session]
        if about["status"] == "open":
            about = self.stripe.pay(session)
        for _ in range(2):
            assert 204 == self.tell("checkout.session.completed", about).status_code
        self.until("paid")
        self.told("checkout.session.completed", about)

    def open_of(self) -> dict[str, str]:
        """Return what is open of each invoice, as the person reads it."""
        found = self.user.json("GET", "/me/documents")["documents"]
        return {one["document"]: one["stillOpen"] for one in found if one["documentKind"] == "invoice"}


@pytest.fixture
def merged(
    database_url: str, clock: FakeClock, stripe: Stripe, monkeypatch: pytest.MonkeyPatch
) -> Iterator[MergedGuest]:
    """A house that takes cards, with both."""
    quickly(monkeypatch)
    house = House(settings_of(database_url, stripe), clock)
    house.start()
    made = MergedGuest(house, clock, stripe)
    yield made
    assert [] == house.write(lambda tx: list(journal_faults(tx)))
    house.stop()


@pytest.mark.databases("sqlite")
def test_the_account_pays_the_invoice_of_the_guest(merged: MergedGuest) -> None:
    """Merged before: the account pays what the guest owes. All money of the person goes to the oldest invoice first."""
    merged.merge()
    merged.invoice = merged.theirs
    merged.paid(merged.sheet())
    assert [("online", "29.750")] == merged.money()
    assert "14.880" == merged.desk(merged.paddle)["owed"]
    assert {merged.own: "0.000", merged.theirs: "14.880"} == merged.open_of()


@pytest.mark.parametrize("when", ["while the page is open", "before the callback", "after the callback"])
def test_money_is_there_once_whenever_they_are_merged(merged: MergedGuest, when: str) -> None:
    """The account pays its own invoice meanwhile: that is paid, the guest's is open, and the refund goes back to the card."""
    session = merged.sheet()
    if when == "while the page is open":
        merged.merge()
    if when == "before the callback":
        merged.stripe.pay(session)
        merged.merge()
    merged.paid(session)
    if when == "after the callback":
        merged.merge()
    assert [("online", "14.880")] == merged.money()
    assert {merged.own: "0.000", merged.theirs: "29.750"} == merged.open_of()
    desk = f"/sales/{merged.gid}/desk/{merged.guest.username}"
    assert "29.750" == merged.cashier.json("GET", desk)["owed"], "by the name of the guest it is the same person"
    merged.cashier.json("POST", f"{desk}/payments", json={"payments": [{"method": "card", "amount": "29.75"}]})
    merged.cashier.json("POST", f"/sales/{merged.gid}/lots/1/correction", json={"reason": "A scratch."})
    merged.cashier.json("POST", f"{desk}/refunds", json={"method": "online", "amount": "14.88"})
    merged.until_refunds("done")
    assert [("online", "14.880"), ("card", "29.750"), ("online", "-14.880")] == merged.money()
    assert "0.000" == merged.desk(merged.paddle)["owed"]
    assert ("14.880", 1) == (merged.payments()[0]["received"], len(merged.payments()))
