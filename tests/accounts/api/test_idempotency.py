"""Idempotency-Key: a repeated request has one effect and gets its first answer again."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.bidding.api.answers import faults, refusal
from tests.bidding.api.records import records
from tests.fixtures_database import FakeClock
from tests.fixtures_house import House

DRAFT = {"name": "Longcase clock", "startingPrice": "100"}
Send = Callable[[str], httpx.Response]


def key(value: str) -> dict[str, str]:
    """Return the header with this key."""
    return {"Idempotency-Key": value}


def requests(house: House) -> dict[str, Send]:
    """Return each request that takes a key, without its key."""
    ada, bob = house.user("ada"), house.user("bob")
    bid_on, sold, closed, announced = ada.auction(), ada.auction(buyNowPrice=50), ada.auction(), ada.auction()
    end = {"endsAt": "2099-01-01T00:00:00Z"}
    return {
        "create": lambda value: ada.post("/auctions", json=DRAFT, headers=key(value)),
        "bid": lambda value: bob.bid(bid_on, 10, **key(value)),
        "buy": lambda value: bob.post(f"/auctions/{sold}/buy", headers=key(value)),
        "close": lambda value: ada.post(f"/auctions/{closed}/close", json={}, headers=key(value)),
        "announce": lambda value: ada.post(f"/auctions/{announced}/close", json=end, headers=key(value)),
    }


@pytest.mark.parametrize("what", ["create", "bid", "buy", "close", "announce"])
def test_the_same_request_has_one_effect(house: House, what: str) -> None:
    """The same key and body get the first answer again, byte for byte, with its status and Location, and nothing happens."""
    send = requests(house)[what]
    first = send(f"same {what}")
    assert first.is_success
    gid = (first.json().get("auction") or first.json())["gid"]
    stored = records(house, gid)
    for _ in range(3):
        again = send(f"same {what}")
        assert (first.status_code, first.content) == (again.status_code, again.content)
        assert first.headers.get("location") == again.headers.get("location")
    assert stored == records(house, gid)


def test_the_first_answer_comes_again_though_the_world_went_on(house: House) -> None:
    """A late repeat gets its first answer, even if the bid would now be refused."""
    ada, bob, cy = house.user("ada"), house.user("bob"), house.user("cy.")
    gid = ada.auction()
    first = bob.bid(gid, 10, **key("went on"))
    cy.bid(gid, 11)
    ada.post(f"/auctions/{gid}/close", json={})
    assert first.content == bob.bid(gid, 10, **key("went on")).content


def test_the_same_request_may_be_written_differently(house: House) -> None:
    """Two requests are the same if they have the same meaning: order of members, spaces, and number or string do not matter."""
    bob, gid = house.user("bob"), house.user("ada").auction()
    bodies = (
        b'{"amount": "10", "maximum": "20"}',
        b'{"maximum":20.000,"amount":10.0}',
        b' {"amount":10,"maximum":"20.0"}',
    )
    headers = {**key("written differently"), "Content-Type": "application/json"}
    answers = {bob.post(f"/auctions/{gid}/bids", content=body, headers=headers).content for body in bodies}
    assert 1 == len(answers)
    assert 1 == len(records(house, gid).bids)


def test_another_request_with_the_same_key_is_refused(house: House) -> None:
    """A used key with another amount, auction or endpoint is 422 `idempotency_mismatch`, and nothing happens."""
    ada, bob = house.user("ada"), house.user("bob")
    gid, other = ada.auction(), ada.auction(buyNowPrice=20)
    assert 201 == bob.bid(gid, 10, **key("mismatch")).status_code
    stored = records(house, gid), records(house, other)
    for answer in (
        bob.bid(gid, 11, **key("mismatch")),
        bob.bid(gid, maximum=10, **key("mismatch")),
        bob.bid(other, 10, **key("mismatch")),
        bob.post(f"/auctions/{other}/buy", headers=key("mismatch")),
        bob.post("/auctions", json=DRAFT, headers=key("mismatch")),
    ):
        assert (422, "idempotency_mismatch") == refusal(answer)
    assert stored == (records(house, gid), records(house, other))


def test_a_refusal_does_not_use_up_the_key(house: House) -> None:
    """A refusal does not use up the key: it accepts a corrected bid, and the same bid once it is high enough."""
    ada, bob = house.user("ada"), house.user("bob")
    gid = ada.auction(startingPrice=100)
    assert (409, "bid_too_low") == refusal(bob.bid(gid, 50, **key("afresh")))
    ada.json("PATCH", f"/auctions/{gid}", json={"startingPrice": 50})
    assert 201 == bob.bid(gid, 50, **key("afresh")).status_code
    assert 400 == bob.post("/auctions", json={}, headers=key("corrected")).status_code
    assert 201 == bob.post("/auctions", json=DRAFT, headers=key("corrected")).status_code


def test_keys_are_scoped_to_their_user(house: House) -> None:
    """Keys belong to users: two users may use the same one, and two sessions of one user share theirs."""
    ada, bob, cy = house.user("ada"), house.newcomer(), house.user("cy.")
    gid = ada.auction()
    first = bob.bid(gid, 10, **key("scoped"))
    assert 201 == cy.bid(gid, 11, **key("scoped")).status_code
    assert first.content == house.log_in(bob.name).bid(gid, 10, **key("scoped")).content
    assert 2 == len(records(house, gid).bids)


@pytest.mark.parametrize("value", ["k", "k" * 255, "a b", "\u00fc", "'; --", "%00", "0"])
def test_keys_that_are_taken(house: House, value: str) -> None:
    """A key is any text of 1 to 255 characters."""
    bob, gid = house.newcomer(), house.user("ada").auction()
    headers = {b"Idempotency-Key": value.encode("latin-1")}
    answers = [bob.post(f"/auctions/{gid}/bids", json={"amount": 10}, headers=headers) for _ in range(2)]
    assert [201, 201] == [answer.status_code for answer in answers]
    assert answers[0].content == answers[1].content


@pytest.mark.parametrize("value", ["", "k" * 256])
def test_keys_that_are_refused(house: House, value: str) -> None:
    """An empty key or one of 256 characters is 400, and nothing happens."""
    ada, bob = house.user("ada"), house.user("bob")
    gid = ada.auction(buyNowPrice=50)
    stored = records(house, gid)
    for answer in (
        bob.bid(gid, 10, **key(value)),
        bob.post(f"/auctions/{gid}/buy", headers=key(value)),
        ada.post(f"/auctions/{gid}/close", json={}, headers=key(value)),
        ada.post("/auctions", json=DRAFT, headers=key(value)),
    ):
        assert {"Idempotency-Key": ["key_length"]} == faults(answer)
    assert stored == records(house, gid)


def test_keys_are_kept_for_a_day(clocked_house: House, clock: FakeClock) -> None:
    """24 hours later a repeat still gets its first answer."""
    bob, gid = clocked_house.user("bob"), clocked_house.user("ada").auction()
    first = bob.bid(gid, 10, **key("a day"))
    clock.advance(hours=24)
    assert first.content == bob.bid(gid, 10, **key("a day")).content


@pytest.mark.parametrize("what", ["create", "bid", "buy", "close", "announce"])
def test_duplicates_at_the_same_time_have_one_effect(house: House, what: str) -> None:
    """Eight simultaneous requests with the same key get the same answer, and have one effect."""
    send = requests(house)[what]
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(send, [f"at once {what}"] * 8))
    assert {(answers[0].status_code, answers[0].content)} == {(one.status_code, one.content) for one in answers}
    assert answers[0].is_success
    events = {"create": 1, "bid": 2, "buy": 3, "close": 2, "announce": 2}
    gid = (answers[0].json().get("auction") or answers[0].json())["gid"]
    assert events[what] == len(records(house, gid).events)


def test_a_key_says_nothing_where_it_is_not_taken(house: House) -> None:
    """Other endpoints ignore the header, however long it is."""
    ada = house.user("ada")
    assert 200 == ada.get("/me", headers=key("k" * 300)).status_code
    assert 200 == ada.patch(f"/auctions/{ada.auction()}", json={"name": "x"}, headers=key("k" * 300)).status_code
