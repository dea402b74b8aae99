"""Pick-up over HTTP and on the page of the door: paid lots are handed out, each once."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.bidding.api.answers import refusal
from tests.bidding.web.conftest import leave  # noqa: F401  # closes the visitors
from tests.fixtures_house import House, User
from tests.settlement.api.test_correcting import correct
from tests.settlement.api.test_desk import Settling
from tests.site.visitor import Visitor


@pytest.fixture
def settling(house: House) -> Settling:
    """A sale of two lots to settle."""
    return Settling(house, 2)


def hand_out(settling: Settling, label: str, by: User | None = None, **said: Any) -> Any:
    """Hand a lot out, and return the answer."""
    headers = said.pop("headers", {})
    path = f"/sales/{settling.gid}/lots/{label}/pickup"
    return (by or settling.cashier).post(path, json=said, headers=headers)


def at_the_door(settling: Settling) -> list[tuple[str, bool, bool]]:
    """Return for each sold lot whether it is paid, and whether it is out."""
    found = settling.cashier.json("GET", f"/sales/{settling.gid}/pickups")
    assert found["toHandOut"] == sum(one["handedOutAt"] is None for one in found["pickups"])
    return [(one["label"], one["isPaid"], one["handedOutAt"] is not None) for one in found["pickups"]]


def test_paid_lots_are_handed_out(settling: Settling) -> None:
    """A part payment pays for one of two lots; sent twice is once; undone, it can be handed out again."""
    paddle = settling.bidder()
    settling.sell(paddle)
    settling.sell(paddle)
    assert [("1", False, False), ("2", False, False)] == at_the_door(settling)
    assert (409, "not_paid") == refusal(hand_out(settling, "1"))
    settling.pay(paddle, ("cash", "14.88"))
    assert [("1", True, False), ("2", True, False)] == at_the_door(settling)
    key = {"Idempotency-Key": "one-lot-at-the-door"}
    done = hand_out(settling, "2", to="Grace", headers=key)
    assert done.json() == hand_out(settling, "2", to="Grace", headers=key).json()
    [one] = [one for one in done.json()["pickups"] if one["label"] == "2"]
    assert ("Grace", settling.cashier.name, None) == (one["handedOutTo"], one["handedOutBy"], one["unpaidReason"])
    assert [("1", False, False), ("2", True, True)] == at_the_door(settling)
    assert (409, "handed_out") == refusal(hand_out(settling, "2"))
    assert (409, "not_paid") == refusal(hand_out(settling, "1"))
    undo = f"/sales/{settling.gid}/lots/2/pickup/undo"
    assert settling.cashier.post(undo).is_success
    assert (409, "not_handed_out") == refusal(settling.cashier.post(undo))
    assert hand_out(settling, "1").is_success
    assert [("1", True, True), ("2", False, False)] == at_the_door(settling)


@pytest.mark.databases("sqlite")
def test_an_unpaid_lot_needs_a_manager(settling: Settling) -> None:
    """A cashier cannot hand it out, not even with a reason; a manager can, and the reason stands beside it."""
    settling.sell(settling.bidder())
    why = "A museum, which pays by invoice."
    assert (403, "missing_right") == refusal(hand_out(settling, "1", reason=why))
    assert (409, "not_paid") == refusal(hand_out(settling, "1", settling.manager))
    done = hand_out(settling, "1", settling.manager, reason=why)
    assert [why] == [one["unpaidReason"] for one in done.json()["pickups"]]
    assert (409, "lot_not_sold") == refusal(hand_out(settling, "2"))
    assert (404, "unknown_lot") == refusal(hand_out(settling, "77"))
    assert (403, "missing_right") == refusal(hand_out(settling, "1", settling.house.newcomer()))


@pytest.mark.databases("sqlite")
def test_a_corrected_lot_is_not_in_the_hands_of_its_new_buyer(settling: Settling) -> None:
    """The door sees that it must be fetched."""
    first, second = settling.bidder(), settling.bidder()
    settling.sell(first)
    settling.pay(first, ("cash", "14.88"))
    assert hand_out(settling, "1").is_success
    assert correct(settling, paddle=second, method="cash").is_success
    assert [("1", False, False)] == at_the_door(settling)


def test_a_lot_is_handed_out_once(settling: Settling) -> None:
    """Eight at a time: one does it, the others are told."""
    paddle = settling.bidder()
    settling.sell(paddle)
    settling.pay(paddle, ("cash", "14.88"))
    with ThreadPoolExecutor(8) as pool:
        answers = [*pool.map(lambda _: hand_out(settling, "1").status_code, range(8))]
    assert [200, *[409] * 7] == sorted(answers)


@pytest.mark.databases("sqlite")
def test_the_page_of_the_door(house: House) -> None:
    """Without scripts: the lots of a paddle, one is handed out to somebody, and taken back."""
    settling = Settling(house, 1)
    paddle = settling.bidder()
    settling.sell(paddle)
    path = f"/admin/desk/{settling.gid}/pickup"
    visitor, manager = Visitor(house, settling.cashier), Visitor(house, settling.manager)
    assert f"{path}?buyer={paddle}" in visitor.page(f"/admin/desk/{settling.gid}?buyer={paddle}").links
    assert "not paid" in visitor.page(path).main and "Hand it out" not in visitor.page(path).main
    page = manager.page(path)
    refused = manager.sent(page, f"{path}/out", reason="")
    assert "This lot is not paid" in refused.main
    settling.pay(paddle, ("cash", "14.88"))
    page = visitor.page(f"{path}?buyer=%23{paddle}")
    done = visitor.sent(page, f"{path}/out", to="Grace")
    assert "Done: lot 1." in done.main and "It was taken by: Grace" in done.main
    assert "0 sold lots are still in the house." in done.main
    assert "Hand it out" in visitor.sent(done, f"{path}/undo").main
