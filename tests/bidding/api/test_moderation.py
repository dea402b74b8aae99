"""Moderation over HTTP: staff void a bid, and all others see what stands."""

from typing import Any

import httpx
import msgspec
import pytest

from saleroom.accounts.domain.rights import Role
from tests.bidding.api.answers import faults, refusal
from tests.fixtures_house import House, User

SLIP = "A slip of the hand."


@pytest.fixture
def house(sqlite_house: House) -> House:
    """A house on SQLite: differences between the databases are tested in the service."""
    return sqlite_house


@pytest.fixture
def staff(house: House) -> User:
    """An auctioneer."""
    return house.staff(Role.AUCTIONEER)


def _put(user: User, path: str, **sent: Any) -> httpx.Response:
    return user.request("PUT", path, **sent)


def test_void(house: House, staff: User) -> None:
    """POST /auctions/{gid}/voids is 201 with the auction as it stands, and the history marks the bid with the reason."""
    ada, bob, cyd = house.user("ada"), house.user("bob"), house.user("cyd")
    gid = ada.auction()
    bob.bid(gid, maximum=20)
    receipt = cyd.bid(gid, amount=9000).json()["receipt"]
    answer = staff.post(f"/auctions/{gid}/voids", json={"bid": 4, "reason": SLIP})
    body = answer.json()
    assert (201, "10.000", "bob", "11.000", 3) == (
        answer.status_code, body["currentBid"], body["currentBidder"], body["minimumBid"], body["bidCount"],
    )  # fmt: skip
    assert body == house.anyone.json("GET", f"/auctions/{gid}")
    history = house.anyone.json("GET", f"/auctions/{gid}/bids")["bids"]
    assert [SLIP, SLIP, None] == [row.get("voided") for row in history]
    [own] = cyd.json("GET", "/me/bids")["bids"][:1]
    assert (gid, "voided") == (own["auction"]["gid"], own["standing"])
    lines = house.plain.get(f"/auctions/{gid}/ledger").content.splitlines()
    event = msgspec.json.decode(lines[-1])["event"]
    told = [event["data"][name] for name in ("voided", "reason", "bidder", "amount", "currentBid", "currentBidder")]
    assert ["bid.voided", 4, SLIP, "cyd", "9000.000", "10.000", "bob"] == [event["type"], *told]
    assert {"maximum", "leaderId"}.isdisjoint(event["data"])
    assert receipt
    assert 201 == cyd.bid(gid, amount=11).status_code


def test_each_bid_of_the_history_has_the_sequence_of_its_event(house: House, staff: User) -> None:
    """On every page and in the answer to the bid, `sequence` is that of its event; staff void the bid by it."""
    ada, bob, cyd = house.user("ada"), house.user("bob"), house.user("cyd")
    gid = ada.auction()
    answered = [bob.bid(gid, maximum=20), cyd.bid(gid, maximum=30), cyd.bid(gid, maximum=40), bob.bid(gid, maximum=35)]
    page = house.anyone.json("GET", f"/auctions/{gid}/bids?limit=2")
    history = page["bids"]
    while page["next"] is not None:
        page = house.anyone.json("GET", f"/auctions/{gid}/bids?limit=2&cursor={page['next']}")
        history += page["bids"]
    lines = [msgspec.json.decode(line) for line in house.plain.get(f"/auctions/{gid}/ledger").content.splitlines()]
    told = [line["event"] for line in lines if line.get("event", {}).get("type") == "bid.placed"]
    assert [(event["sequence"], event["data"]["amount"], event["data"]["bidder"]) for event in reversed(told)] == [
        (bid["sequence"], bid["amount"], bid["bidder"]) for bid in history
    ]
    shown = [answer.json()["bid"] for answer in answered]
    known = {bid["sequence"]: bid for bid in history}
    assert [None if bid is None else known[bid["sequence"]]["placedAt"] for bid in shown] == [
        None if bid is None else bid["placedAt"] for bid in shown
    ]
    own = next(bid for bid in history if not bid["automatic"])
    voided = staff.post(f"/auctions/{gid}/voids", json={"bid": own["sequence"], "reason": SLIP})
    assert 201 == voided.status_code, voided.text
    marked = house.anyone.json("GET", f"/auctions/{gid}/bids")["bids"]
    assert own["sequence"] in [bid["sequence"] for bid in marked if "voided" in bid]


def test_a_page_far_back_counts_no_sequences(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """To read a long history to its end does not count the log anew for each page."""
    monkeypatch.setattr("saleroom.bidding.service.reading.SEQUENCES_BACK", 2)
    ada, bob, cyd = house.user("ada"), house.user("bob"), house.user("cyd")
    gid = ada.auction()
    for amount, user in ((10, bob), (11, cyd), (12, bob), (13, cyd)):
        user.bid(gid, amount=amount)
    page = house.anyone.json("GET", f"/auctions/{gid}/bids?limit=1")
    told = ["sequence" in page["bids"][0]]
    while page["next"] is not None:
        page = house.anyone.json("GET", f"/auctions/{gid}/bids?limit=1&cursor={page['next']}")
        told.append("sequence" in page["bids"][0])
    assert [True, True, False, False] == told


def test_voiding_is_refused(house: House, staff: User) -> None:
    """Each refusal has its code: the right, the bid, a second void, the end."""
    ada, bob = house.user("ada"), house.user("bob")
    gid = ada.auction()
    bob.bid(gid, amount=10)
    said = {"bid": 2, "reason": SLIP}
    assert (403, "missing_right") == refusal(ada.post(f"/auctions/{gid}/voids", json=said))
    assert 401 == house.anyone.post(f"/auctions/{gid}/voids", json=said).status_code
    assert (404, "unknown_auction") == refusal(staff.post("/auctions/nosuchlot000/voids", json=said))
    assert (404, "unknown_bid") == refusal(staff.post(f"/auctions/{gid}/voids", json={**said, "bid": 1}))
    assert {"reason", "bid"} == faults(staff.post(f"/auctions/{gid}/voids", json={"bid": 0, "reason": " "})).keys()
    assert {"reason"} == faults(staff.post(f"/auctions/{gid}/voids", json={"bid": 2, "reason": "x" * 501})).keys()
    assert 201 == staff.post(f"/auctions/{gid}/voids", json=said).status_code
    assert (409, "already_voided") == refusal(staff.post(f"/auctions/{gid}/voids", json=said))
    ada.post(f"/auctions/{gid}/close")
    assert (409, "auction_closed") == refusal(staff.post(f"/auctions/{gid}/voids", json=said))


def test_staff_void_no_bid_where_they_bid(house: House, staff: User) -> None:
    """Staff who have bid on a lot cannot void a rival's bid, nor their own: others of the staff do."""
    ada, bob = house.user("ada"), house.user("bob")
    gid = ada.auction()
    staff.bid(gid, amount=10)
    bob.bid(gid, amount=50)
    for version in (2, 3):
        said = {"bid": version, "reason": SLIP}
        assert (403, "bids_there") == refusal(staff.post(f"/auctions/{gid}/voids", json=said))
    assert "bob" == house.anyone.json("GET", f"/auctions/{gid}")["currentBidder"]


def test_hide_and_show(house: House, staff: User) -> None:
    """A hidden auction is in no list and 410 for others; its author sees it with the reason; shown again, it is as before."""
    ada, bob = house.newcomer(), house.user("bob")
    gid = ada.auction(name="Purloined watch")
    before = house.anyone.json("GET", f"/auctions/{gid}")
    hidden = _put(staff, f"/auctions/{gid}/hiding", json={"reason": "It may be stolen."})
    assert (200, True, "It may be stolen.") == (hidden.status_code, hidden.json()["hidden"], hidden.json()["hiddenFor"])
    for address in ("", "/bids", "/photos", "/remarks", "/questions"):
        assert (410, "taken_down") == refusal(bob.get(f"/auctions/{gid}{address}"))
    assert (410, "taken_down") == refusal(bob.bid(gid, amount=10))
    assert (410, "taken_down") == refusal(bob.post(f"/auctions/{gid}/questions", json={"text": "Where is it from?"}))
    assert (410, "taken_down") == refusal(ada.post(f"/auctions/{gid}/close"))
    for query in ("q=purloined", f"author={ada.name}"):
        assert [] == house.anyone.json("GET", f"/auctions?{query}")["auctions"]
    own = ada.json("GET", f"/auctions/{gid}")
    assert ("Purloined watch", "It may be stolen.") == (own["name"], own["hiddenFor"])
    assert [own] == ada.json("GET", "/me/auctions")["auctions"]
    assert "Purloined watch" == staff.json("GET", f"/auctions/{gid}")["name"]
    assert (409, "already_hidden") == refusal(_put(staff, f"/auctions/{gid}/hiding", json={"reason": "Again."}))
    assert (403, "missing_right") == refusal(ada.delete(f"/auctions/{gid}/hiding"))
    shown = staff.delete(f"/auctions/{gid}/hiding")
    assert shown.json() == house.anyone.json("GET", f"/auctions/{gid}")
    told = {name: value for name, value in shown.json().items() if name not in ("version", "head")}
    assert told == {name: value for name, value in before.items() if name not in ("version", "head")}
    assert (409, "not_hidden") == refusal(staff.delete(f"/auctions/{gid}/hiding"))
    assert 201 == bob.bid(gid, amount=10).status_code


def test_cancel(house: House, staff: User) -> None:
    """Staff cancel an auction with bids; the auction, its event and its ledger say why, and it is final."""
    ada, bob = house.user("ada"), house.user("bob")
    gid = ada.auction()
    bob.bid(gid, amount=10)
    said = {"reason": "The seller has withdrawn it."}
    assert (403, "missing_right") == refusal(bob.post(f"/auctions/{gid}/cancellation", json=said))
    answer = staff.post(f"/auctions/{gid}/cancellation", json=said)
    assert (201, "cancelled", said["reason"]) == (
        answer.status_code, answer.json()["status"], answer.json()["cancelledFor"],
    )  # fmt: skip
    last = msgspec.json.decode(house.plain.get(f"/auctions/{gid}/ledger").content.splitlines()[-1])["event"]
    assert ("auction.cancelled", said) == (last["type"], last["data"])
    assert (409, "auction_closed") == refusal(staff.post(f"/auctions/{gid}/cancellation", json=said))
    assert 200 == _put(staff, f"/auctions/{gid}/hiding", json=said).status_code, "its name can still be taken down"
