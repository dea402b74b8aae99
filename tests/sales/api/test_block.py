"""The block of a live sale over HTTP."""

from typing import Any

import msgspec
import pytest

from saleroom.accounts.domain.rights import Role
from tests.bidding.api.answers import faults, refusal
from tests.fixtures_house import House, User
from tests.sales.api.evening import with_lots
from tests.tools.verify.ledgers import verified


@pytest.fixture
def house(sqlite_house: House) -> House:
    """A house on SQLite: the statements that differ between the databases are tested in the service."""
    return sqlite_house


@pytest.fixture
def staff(house: House) -> User:
    """An auctioneer."""
    return house.staff(Role.AUCTIONEER)


def act(staff: User, gid: str, what: str, **said: Any) -> Any:
    """Act on the block as somebody who has just looked at it."""
    tag = staff.json("GET", f"/sales/{gid}/block")["tag"]
    return staff.json("POST", f"/sales/{gid}/block", json={"act": what, "seen": tag, **said})


def test_a_clerk_sells_a_lot(house: House, staff: User) -> None:
    """Anyone sees the block without reserves; the clerk acts on it; a repeated act with its key is done once."""
    gid = with_lots(staff, 2, kind="live", registration="open")
    clerk = house.staff(Role.CLERK)
    assert 200 == staff.post(f"/sales/{gid}/publish").status_code
    clerk.json("POST", f"/sales/{gid}/participants", json={"personName": "Ada", "bidsBy": "floor", "paddle": 12})
    shown = act(clerk, gid, "call")
    assert ("1", "15.000", "called") == (
        shown["onBlock"]["label"],
        shown["onBlock"]["reservePrice"],
        shown["onBlock"]["auction"]["stage"],
    )
    public = house.anyone.json("GET", f"/sales/{gid}/block")
    assert "reservePrice" not in public["onBlock"]
    assert (shown["tag"], 1) == (public["tag"], public["lotsLeft"])
    sent: dict[str, Any] = {
        "json": {"act": "bid", "amount": "10", "channel": "phone"},
        "headers": {"Idempotency-Key": "one"},
    }
    first = clerk.post(f"/sales/{gid}/block", **sent)
    assert (200, first.json()) == (200, clerk.post(f"/sales/{gid}/block", **sent).json())
    assert 1 == first.json()["onBlock"]["auction"]["bidCount"]
    lot = public["onBlock"]["gid"]
    bob = house.user("bob")
    bob.json("PUT", f"/sales/{gid}/registration")
    refused = bob.bid(lot, amount=12)
    assert (409, "ask_changed", "11.000") == (*refusal(refused), refused.json()["minimumBid"])
    assert 201 == bob.bid(lot, amount=11).status_code
    act(clerk, gid, "ask", amount="20")
    act(clerk, gid, "bid", amount="20")
    act(clerk, gid, "warn")
    act(clerk, gid, "name", paddle=12)
    shown = act(clerk, gid, "sell")
    assert ("sold", "#12", "20.000") == tuple(
        shown["lastLot"]["auction"][name] for name in ("outcome", "currentBidder", "currentBid")
    )
    late = bob.bid(lot, amount=30)
    assert (409, "auction_closed") == refusal(late)
    assert late.json()["closedAt"] <= late.json()["receivedAt"] <= late.json()["decidedAt"]


def test_the_ledger_is_opened_with_the_end_of_the_sale(house: House, staff: User) -> None:
    """Until then nobody reads a maximum of a lot whose hammer may be undone; both ledgers are verified."""
    gid = with_lots(staff, 1, kind="live")
    assert 200 == staff.post(f"/sales/{gid}/publish").status_code
    bob = house.user("bob")
    lot = staff.json("GET", f"/sales/{gid}/lots")["lots"][0]["gid"]
    assert 201 == bob.bid(lot, maximum=500).status_code
    act(staff, gid, "call")
    act(staff, gid, "sell")
    closed = house.anyone.get(f"/auctions/{lot}/ledger").content
    assert b"500.000" not in closed
    act(staff, gid, "undo")
    act(staff, gid, "sell")
    closed = house.anyone.get(f"/auctions/{lot}/ledger").content
    assert [False] * closed.count(b"\n") == ["opened" in msgspec.json.decode(line) for line in closed.splitlines()]
    verified(closed)
    act(staff, gid, "end")
    opened = house.anyone.get(f"/auctions/{lot}/ledger").content
    assert b'"maximum":"500.000"' in opened
    verified(opened)


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ({}, {"act"}),
        ({"act": "dance"}, {"act"}),
        ({"act": "call"}, {"seen"}),
        ({"act": "bid"}, {"amount"}),
        ({"act": "bid", "amount": "-1"}, {"amount"}),
        ({"act": "bid", "amount": "10", "channel": "online"}, {"channel"}),
        ({"act": "ask", "seen": "0"}, {"amount"}),
        ({"act": "name", "seen": "0", "paddle": 0}, {"paddle"}),
        ({"act": "reopen", "reason": "Why."}, {"label"}),
        ({"act": "reopen", "label": "1", "reason": ""}, {"reason"}),
        ({"act": "decide", "label": "1", "accepted": "yes"}, {"accepted"}),
        ({"act": "call", "seen": "x" * 101}, {"seen"}),
    ],
)
def test_faults_of_an_act_are_named(staff: User, said: dict[str, Any], wrong: set[str]) -> None:
    """Members that an act needs, and those that cannot be read."""
    gid = with_lots(staff, 1, kind="live")
    assert wrong == faults(staff.post(f"/sales/{gid}/block", json=said)).keys()


def test_a_sale_in_another_state_is_not_called(house: House, staff: User) -> None:
    """A draft, a timed sale, a paused one and one that is over; and who is no staff."""
    call: dict[str, Any] = {"json": {"act": "call", "seen": "0"}}
    timed = with_lots(staff, 1)
    assert (409, "not_live") == refusal(staff.post(f"/sales/{timed}/block", **call))
    gid = with_lots(staff, 1, kind="live")
    assert (409, "not_published") == refusal(staff.post(f"/sales/{gid}/block", **call))
    assert (404, "unknown_sale") == refusal(house.anyone.get(f"/sales/{gid}/block"))
    staff.json("POST", f"/sales/{gid}/publish")
    ended = staff.post(f"/sales/{gid}/block", json={"act": "end", "seen": "0"})
    assert (409, "sale_not_running") == refusal(ended)
    assert "ended" in ended.json()["message"], "it says what was asked"
    assert (409, "no_lot_on_block") == refusal(staff.post(f"/sales/{gid}/block", json={"act": "sell", "seen": "0"}))
    assert (403, "missing_right") == refusal(house.user("bob").post(f"/sales/{gid}/block", **call))
    assert (401, "unauthenticated") == refusal(house.anyone.post(f"/sales/{gid}/block", **call))
    act(staff, gid, "call")
    staff.json("POST", f"/sales/{gid}/pause")
    assert (409, "sale_paused") == refusal(staff.post(f"/sales/{gid}/block", **call))
    staff.json("POST", f"/sales/{gid}/resume")
    act(staff, gid, "pass")
    act(staff, gid, "end")
    assert (409, "sale_over") == refusal(staff.post(f"/sales/{gid}/block", **call))


def test_a_bid_is_for_the_lot_that_it_names(staff: User) -> None:
    """A bid with the label of the lot before is not taken for the next one, though its ask is the same."""
    gid = with_lots(staff, 2, kind="live")
    staff.post(f"/sales/{gid}/publish")
    for what in ("call", "pass", "call"):
        act(staff, gid, what)
    bid = {"act": "bid", "amount": "10"}
    late = staff.post(f"/sales/{gid}/block", json={**bid, "label": "1"})
    assert (409, "block_changed") == refusal(late)
    assert (404, "unknown_lot") == refusal(staff.post(f"/sales/{gid}/block", json={**bid, "label": "9"}))
    on_it = staff.json("POST", f"/sales/{gid}/block", json={**bid, "label": "002"})
    assert 1 == on_it["onBlock"]["auction"]["bidCount"]


def test_a_withdrawn_lot_is_not_called(staff: User) -> None:
    """The refusal says so; without a number the next lot is called."""
    gid = with_lots(staff, 2, kind="live")
    assert 200 == staff.post(f"/sales/{gid}/publish").status_code
    assert 200 == staff.post(f"/sales/{gid}/lots/1/withdraw", json={"reason": "It is broken."}).status_code
    call = {"act": "call", "seen": staff.json("GET", f"/sales/{gid}/block")["tag"]}
    assert (409, "lot_withdrawn") == refusal(staff.post(f"/sales/{gid}/block", json={**call, "label": "1"}))
    act(staff, gid, "call")
    assert "2" == staff.json("GET", f"/sales/{gid}/block")["onBlock"]["label"]


@pytest.mark.parametrize("leader", ["nobody", "online", "floor"])
def test_a_lot_that_is_hidden_on_the_block_is_skipped(house: House, staff: User, leader: str) -> None:
    """Nothing else is done with it, and the clerk reads what to do. It is called again once it is shown, and its bid stands."""
    gid, moderator = with_lots(staff, 3, kind="live", registration="open"), house.staff(Role.MANAGER)
    staff.post(f"/sales/{gid}/publish")
    lot = act(staff, gid, "call")["onBlock"]["gid"]
    if leader == "floor":
        act(staff, gid, "bid", amount="10")
    elif leader == "online":
        bob = house.newcomer()
        bob.json("PUT", f"/sales/{gid}/registration")
        assert 201 == bob.bid(lot, amount=10).status_code
    assert moderator.request("PUT", f"/auctions/{lot}/hiding", json={"reason": "A forgery, perhaps."}).is_success
    tag = staff.json("GET", f"/sales/{gid}/block")["tag"]
    for what in ("warn", "pass", "sell", "undo"):
        refused = staff.post(f"/sales/{gid}/block", json={"act": what, "seen": tag})
        assert (410, "taken_down") == refusal(refused)
        assert what == "undo" or "skip it, then call the next one" in refused.json()["message"]
    assert (409, "lot_on_block") == refusal(staff.post(f"/sales/{gid}/block", json={"act": "call", "seen": tag}))
    skipped = act(staff, gid, "skip")
    assert (None, ["2", "3"], 2) == (
        skipped["onBlock"],
        [one["label"] for one in skipped["nextLots"]],
        skipped["lotsLeft"],
    )
    for label in ("2", "3"):
        assert label == act(staff, gid, "call")["onBlock"]["label"]
        act(staff, gid, "pass")
    tag = staff.json("GET", f"/sales/{gid}/block")["tag"]
    assert (409, "no_lot_left") == refusal(staff.post(f"/sales/{gid}/block", json={"act": "call", "seen": tag}))
    if leader == "nobody":
        assert "closed" == act(staff, gid, "end")["status"]
        assert ("cancelled", True) == tuple(
            moderator.json("GET", f"/sales/{gid}/lots/1")["auction"][member] for member in ("status", "hidden")
        )
    else:
        ended = staff.post(f"/sales/{gid}/block", json={"act": "end", "seen": tag})
        assert ((409, "bids_uncalled"), "1") == (refusal(ended), ended.json()["lots"])
        assert moderator.request("DELETE", f"/auctions/{lot}/hiding").is_success
        called = act(staff, gid, "call")["onBlock"]
        assert ("1", "10.000") == (called["label"], called["auction"]["currentBid"])
        if leader == "floor":
            clerk = {"personName": "Ada", "bidsBy": "floor", "paddle": 12}
            staff.json("POST", f"/sales/{gid}/participants", json=clerk)
            act(staff, gid, "name", paddle=12)
        assert "reserve_not_met" == act(staff, gid, "pass")["lastLot"]["auction"]["outcome"]
        assert "closed" == act(staff, gid, "end")["status"]
    verified(house.staff(Role.OWNER).get(f"/auctions/{lot}/ledger").content)
