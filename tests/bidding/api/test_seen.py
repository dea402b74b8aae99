"""Preconditions over HTTP: If-Match, `seenVersion` and `price`; and the changes that a refusal tells."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from saleroom.accounts.domain.rights import Role
from tests.bidding.api.answers import faults, refusal
from tests.bidding.api.records import records
from tests.bidding.api.test_photos import arrange, sent
from tests.fixtures_house import House, User
from tests.sales.live_sale import LiveSale

pytestmark = pytest.mark.databases("sqlite")


def changed(answer: httpx.Response) -> dict[str, tuple[str | None, str | None]]:
    """The changes that a refusal tells: by member, the former and the present value."""
    return {each["member"]: (each["was"], each["now"]) for each in answer.json()["changes"]}


def tag_of(house: House, gid: str) -> str:
    """The ETag of an auction, as anyone sees it."""
    return str(house.anyone.get(f"/auctions/{gid}").headers["etag"])


def test_a_price_that_nobody_saw_is_not_paid(house: House) -> None:
    """If the seller amends the price between look and purchase, the purchase is 409 or 412, with both prices."""
    ada, bob = house.user("ada"), house.user("bob")
    gid = ada.auction(buyNowPrice="50", startingPrice="10")
    tag = tag_of(house, gid)
    assert 200 == ada.patch(f"/auctions/{gid}", json={"buyNowPrice": "99999"}).status_code
    prices = {"buyNowPrice": ("50.000", "99999.000")}
    for status, code, body, headers in (
        (409, "terms_changed", {"price": "50"}, {}),
        (409, "terms_changed", {"seenVersion": 1}, {}),
        (409, "terms_changed", {"seenVersion": 1, "price": "50.00"}, {}),
        (412, "precondition_failed", {}, {"If-Match": tag}),
        (412, "precondition_failed", {"price": "50"}, {"If-Match": tag}),
    ):
        answer = bob.post(f"/auctions/{gid}/buy", json=body, headers=headers)
        assert ((status, code), 2, prices) == (refusal(answer), answer.json()["version"], changed(answer))
    assert "open" == ada.json("GET", f"/auctions/{gid}")["status"]
    good = {"price": "99999.000", "seenVersion": 2}
    assert 201 == bob.post(f"/auctions/{gid}/buy", json=good, headers={"If-Match": tag_of(house, gid)}).status_code


def test_requests_that_say_nothing_work_as_ever(house: House) -> None:
    """A purchase without a body, and a bid of only an amount, have no preconditions."""
    ada, bob = house.user("ada"), house.user("bob")
    gid = ada.auction(buyNowPrice="50", startingPrice="10")
    ada.patch(f"/auctions/{gid}", json={"buyNowPrice": "60"})
    assert 201 == bob.post(f"/auctions/{gid}/buy").status_code
    other = ada.auction(startingPrice="10")
    ada.patch(f"/auctions/{other}", json={"name": "Other"})
    assert 201 == bob.bid(other, "10").status_code


def test_a_bid_on_another_lot_than_was_seen(house: House) -> None:
    """A bid is refused with the new name, start and photos if they have changed; another user's bid is no reason to refuse."""
    ada, bob, cyd = house.user("ada"), house.user("bob"), house.user("cyd")
    gid, [photo] = ada.auction(startingPrice="10"), sent(ada, 1)
    ada.patch(
        f"/auctions/{gid}", json={"name": "Box", "startingPrice": "500", "description": "Empty", "reservePrice": "900"}
    )
    assert 200 == arrange(ada, gid, [photo]).status_code
    answer = bob.post(f"/auctions/{gid}/bids", json={"maximum": "1000", "seenVersion": 1})
    assert ((409, "terms_changed"), 3) == (refusal(answer), answer.json()["version"])
    assert {
        "name": ("Longcase clock", "Box"),
        "startingPrice": ("10.000", "500.000"),
        **dict.fromkeys(("description", "reservePrice", "photos"), (None, None)),
    } == changed(answer)
    answer = bob.post(f"/auctions/{gid}/bids", json={"maximum": "1000", "seenVersion": 2})
    assert {"photos": (None, None)} == changed(answer)
    assert 201 == bob.post(f"/auctions/{gid}/bids", json={"maximum": "1000", "seenVersion": 3}).status_code
    assert 201 == cyd.post(f"/auctions/{gid}/bids", json={"amount": "1100", "seenVersion": 3}).status_code
    strict = {"If-Match": tag_of(house, gid)}
    assert 201 == bob.bid(gid, "1200").status_code
    answer = bob.post(f"/auctions/{gid}/bids", json={"amount": "2000"}, headers=strict)
    assert ((412, "precondition_failed"), {}) == (refusal(answer), changed(answer))


def test_a_version_that_is_still_to_come_was_seen_in_another_database(house: House) -> None:
    """A house restored from a backup refuses a request that rests on lost events."""
    ada, bob = house.user("ada"), house.user("bob")
    gid = ada.auction(startingPrice="10")
    answer = bob.post(f"/auctions/{gid}/bids", json={"amount": "10", "seenVersion": 2})
    assert ((409, "terms_changed"), {}, 1) == (refusal(answer), changed(answer), answer.json()["version"])


@pytest.mark.parametrize("kind", ["bids", "buy"])
def test_a_repeat_gets_its_first_answer_after_any_change(house: House, kind: str) -> None:
    """A repeat of an accepted request gets its answer even if its preconditions no longer hold; another request does not."""
    ada, bob = house.user("ada"), house.user("bob")
    gid = ada.auction(buyNowPrice="50", startingPrice="10")
    body: dict[str, Any] = {"seenVersion": 1} | ({"price": "50"} if kind == "buy" else {"amount": "10"})

    tag = tag_of(house, gid)

    def send(**more: Any) -> httpx.Response:
        headers = {"If-Match": tag, "Idempotency-Key": f"once-{gid}"}
        return bob.post(f"/auctions/{gid}/{kind}", json=body | more, headers=headers)

    first = send()
    assert 201 == first.status_code
    assert (201, first.content) == (send().status_code, send().content)
    assert (422, "idempotency_mismatch") == refusal(send(seenVersion=2))


Act = Callable[[User, str, dict[str, str]], httpx.Response]
ACTS: dict[str, Act] = {
    "amend": lambda who, gid, headers: who.patch(f"/auctions/{gid}", json={"name": "Mine"}, headers=headers),
    "cancel": lambda who, gid, headers: who.delete(f"/auctions/{gid}", headers=headers),
    "close": lambda who, gid, headers: who.post(f"/auctions/{gid}/close", json={}, headers=headers),
    "announce": lambda who, gid, headers: who.post(
        f"/auctions/{gid}/close", json={"endsAt": "2099-01-01T00:00:00Z"}, headers=headers
    ),
    "arrange": lambda who, gid, headers: who.request(
        "PUT", f"/auctions/{gid}/photos", json={"photos": []}, headers=headers
    ),
}


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_two_tabs_of_an_author(house: House, act: Act) -> None:
    """A request for a version that is gone is 412 and changes nothing; the tag of the author's view counts too."""
    ada = house.user("ada")
    gid = ada.auction(reservePrice="500", startingPrice="100")
    own, public = ada.get(f"/auctions/{gid}").headers["etag"], tag_of(house, gid)
    assert own == f'{public.removesuffix(chr(34))}-own"'
    ada.patch(f"/auctions/{gid}", json={"description": "of the other tab", "startingPrice": "120"})
    before, now = records(house, gid), tag_of(house, gid)
    known = {"startingPrice": ("100.000", "120.000"), "description": (None, None)}
    for stale, changes in (
        (own, known),
        (public, known),
        (f'"another", {own}', known),
        (f"W/{now}, {public}", known),
        (f"W/{now}", {}),
        (now.replace("2-", "3-"), {}),
        ('"2"', {}),
        ('"2-own"', {}),
        (now.replace("2-", "02-"), {}),
        ('""', {}),
    ):
        answer = act(ada, gid, {"If-Match": stale})
        assert (412, "precondition_failed") == refusal(answer), stale
        assert (2, changes) == (answer.json()["version"], changed(answer)), stale
    assert before == records(house, gid)
    own_now = ada.get(f"/auctions/{gid}").headers["etag"]
    assert act(ada, gid, {"If-Match": f"{public} ,, {own_now}"}).status_code < 300


@pytest.mark.parametrize("tags", ["2", '"2', "W/2", '"2" "1"', '*, "2"', ", ,", "", "'2'", 'w/"2"'])
def test_tags_that_are_none(sqlite_house: House, tags: str) -> None:
    """A malformed header is 400 and says how to write it; so is one of 7,000 characters, at once."""
    ada = sqlite_house.user("ada")
    gid = ada.auction()
    for sent_ in (tags, tags + "," * 7000 + "x"):
        answer = ada.delete(f"/auctions/{gid}", headers={"If-Match": sent_})
        assert {"If-Match": ["entity_tag"]} == faults(answer)
    assert "open" == ada.json("GET", f"/auctions/{gid}")["status"]


def test_several_lines_are_one_list(sqlite_house: House) -> None:
    """Tags may come in several header lines (RFC 9110, 5.3); `*` is any version of an existing auction."""
    ada = sqlite_house.user("ada")
    gid = ada.auction()
    ada.patch(f"/auctions/{gid}", json={"name": "Other"})
    tag = tag_of(sqlite_house, gid)
    several = httpx.Headers([("If-Match", '"1"'), ("If-Match", tag), ("Authorization", f"Bearer {ada.token}")])
    answer = sqlite_house.anyone.patch(f"/auctions/{gid}", json={"name": "Third"}, headers=several)
    assert (200, 3) == (answer.status_code, answer.json()["version"])
    assert 200 == ada.patch(f"/auctions/{gid}", json={"name": "Fourth"}, headers={"If-Match": "*"}).status_code
    assert (404, "unknown_auction") == refusal(ada.patch("/auctions/none", json={}, headers={"If-Match": "*"}))


def test_photos_have_the_version_of_their_auction(house: House) -> None:
    """Arranging photos is an event: the ETag moves with it. The same arrangement again is not."""
    ada = house.user("ada")
    gid, ids = ada.auction(), sent(ada, 2)
    photos = f"/auctions/{gid}/photos"
    first = tag_of(house, gid)
    assert first == house.anyone.get(photos).headers["etag"]
    second = arrange(ada, gid, ids).headers["etag"]
    assert first != second
    assert (second, second) == (house.anyone.get(photos).headers["etag"], tag_of(house, gid))
    assert second == arrange(ada, gid, ids).headers["etag"]
    assert second != arrange(ada, gid, ids[::-1]).headers["etag"]
    assert ["auction.created", "photos.arranged", "photos.arranged"] == records(house, gid).types


def test_a_change_answers_with_the_tag_that_the_next_one_rests_on(house: House) -> None:
    """The tag of the answer is that of the auction as its author reads it, with and without a reserve."""
    ada = house.user("ada")
    gid = ada.auction(startingPrice="10")
    tag = ""
    for change in ({"name": "Second"}, {"reservePrice": "20"}, {"name": "Third"}):
        known = ada.get(f"/auctions/{gid}").headers["etag"]
        answer = ada.patch(f"/auctions/{gid}", json=change, headers={"If-Match": known})
        tag = answer.headers["etag"]
        assert (200, tag) == (answer.status_code, ada.get(f"/auctions/{gid}").headers["etag"])
        assert 304 == ada.get(f"/auctions/{gid}", headers={"If-None-Match": tag}).status_code
    for expected in (200, 412):
        again = ada.patch(f"/auctions/{gid}", json={"name": f"After {expected}"}, headers={"If-Match": tag})
        assert expected == again.status_code


def test_a_tag_with_a_third_part_holds(house: House) -> None:
    """A lot that was hidden once it was over, and is open again, has had changes that are no events: its tag counts them."""
    sale, moderator = LiveSale(house, 1), house.staff(Role.MANAGER)
    bidder, [gid] = sale.bidder(), sale.lots
    sale.act("call")
    sale.act("pass")
    moderator.json("PUT", f"/auctions/{gid}/hiding", json={"reason": "It may be stolen."})
    moderator.json("DELETE", f"/auctions/{gid}/hiding")
    sale.act("reopen", label="1", reason="Too fast.")
    tag = tag_of(house, gid)
    assert 2 == tag.count("-")
    assert 412 == bidder.bid(gid, "10", **{"If-Match": tag.replace(tag[-2], "9")}).status_code
    assert 201 == bidder.bid(gid, "10", **{"If-Match": tag}).status_code
