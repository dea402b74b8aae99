"""Auctions over HTTP: creating, showing, amending, cancelling and closing them, and the permission for each."""

import re
from typing import Any

import pytest

from saleroom.accounts.domain.rights import Role
from saleroom.bidding.service import changes
from tests.bidding.api.answers import after, faults, instant, refusal
from tests.bidding.api.records import records
from tests.bidding.domain.examples import NEW_AUCTION
from tests.fixtures_database import FakeClock
from tests.fixtures_house import House, ServeHouse, User
from tests.rows import each_of
from tests.sales.api.evening import with_lots

pytestmark = pytest.mark.databases("sqlite")

DRAFT = {"name": "Longcase clock", "startingPrice": "100"}
FAR = "2099-01-01T00:00:00.000000Z"


def shown(user: User, gid: str) -> Any:
    """Return an auction as `user` sees it."""
    return user.json("GET", f"/auctions/{gid}")


def test_create(house: House) -> None:
    """POST /auctions is 201 with Location and the auction, as docs/api.md shows it; GET gives the same."""
    ada = house.user("ada")
    answer = ada.post("/auctions", json=DRAFT)
    body = answer.json()
    assert (201, f"/auctions/{body['gid']}") == (answer.status_code, answer.headers["location"])
    own = {name: body[name] for name in ("gid", "createdAt", "head")}
    assert list((NEW_AUCTION | own).items()) == list(body.items())
    instant(body["createdAt"])
    assert body == house.anyone.json("GET", answer.headers["location"])


def test_gids_are_short_and_cannot_be_guessed(house: House) -> None:
    """A gid has 72 random bits, is safe in an address, and is new each time."""
    ada = house.user("ada")
    gids = {ada.auction() for _ in range(10)}
    assert 10 == len(gids)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{12}", gid) for gid in gids)


def test_every_term_is_kept(house: House) -> None:
    """All terms of an auction are shown, but the reserve only to the author."""
    terms = {
        **DRAFT,
        "description": "Walnut, 1740",
        "startsAt": "2098-12-31T23:00:00Z",
        "endsAt": "2099-01-01T01:00:00+01:00",
        "reservePrice": 150,
        "buyNowPrice": "300.5",
        "increment": "5",
        "softClose": {"window": 60, "extension": 90, "cap": "2099-01-02T00:00:00Z"},
    }
    ada = house.user("ada")
    body = ada.json("POST", "/auctions", json=terms)
    expected: dict[str, Any] = {"status": "scheduled", "startsAt": "2098-12-31T23:00:00.000000Z", "endsAt": FAR}
    expected |= {"buyNowPrice": "300.500", "reserveMet": False, "description": "Walnut, 1740"}
    assert expected.items() <= body.items()
    stored = records(house, body["gid"]).auction
    assert ("5.000", 60, 90) == (
        str(stored.ladder.tiers[0].step),
        stored.soft_close and stored.soft_close.window,
        stored.soft_close and stored.soft_close.extension,
    )


@pytest.mark.parametrize(
    "increment", ["5.000", [{"from": "0.000", "step": "1.000"}, {"from": "50.000", "step": "2.500"}]]
)
def test_terms_are_shown_as_they_are_taken(increment: Any, house: House) -> None:
    """Increment and soft close come back as they were sent, in every answer, and can be sent again for another auction."""
    ada, bob = house.newcomer(), house.user("bob")
    terms = {"increment": increment, "softClose": {"window": 60, "extension": 30, "cap": FAR}}
    gid = ada.auction(**terms)
    [listed] = bob.json("GET", f"/auctions?author={ada.name}")["auctions"]
    for seen in (shown(bob, gid), listed, bob.bid(gid, "100").json()["auction"]):
        assert terms == {name: seen[name] for name in terms}
        assert terms == {name: ada.json("POST", "/auctions", json={**DRAFT, **terms})[name] for name in terms}


def test_an_auction_shows_since_when_it_is_over(clocked_house: House, clock: FakeClock) -> None:
    """`closedAt` is null until the auction is bought, closed or cancelled, and then that instant, whatever its `endsAt`."""
    ada, bob = clocked_house.user("ada"), clocked_house.user("bob")
    began = ada.json("GET", "/me")["createdAt"]
    bought, cancelled = (ada.auction(endsAt=after(began, hours=2), buyNowPrice="300") for _ in range(2))
    closed = ada.auction()
    assert [None] * 3 == [shown(bob, gid)["closedAt"] for gid in (bought, cancelled, closed)]
    clock.advance(3600)
    bob.post(f"/auctions/{bought}/buy", json={})
    ada.delete(f"/auctions/{cancelled}")
    ada.post(f"/auctions/{closed}/close", json={})
    then = after(began, hours=1)
    clock.advance(7200)
    assert [then] * 3 == [shown(bob, gid)["closedAt"] for gid in (bought, cancelled, closed)]
    refused = bob.bid(bought, "400").json()
    assert (then, after(began, hours=2)) == (refused["closedAt"], refused["endsAt"])


def test_soft_close_is_on_unless_it_is_turned_off(house: House) -> None:
    """The soft close is 120 and 120 seconds by default; null turns it off."""
    ada = house.user("ada")
    default = records(house, ada.auction(endsAt=FAR)).auction.soft_close
    assert default is not None
    assert (120, 120, None) == (default.window, default.extension, default.cap)
    assert records(house, ada.auction(endsAt=FAR, softClose=None)).auction.soft_close is None


def test_the_reserve_is_its_authors_secret(house: House) -> None:
    """`reservePrice` is shown to the author alone, in every answer; others learn whether it is met."""
    ada, bob = house.newcomer(), house.user("bob")
    gid = ada.auction(reservePrice="77.777")
    bid = bob.bid(gid, "10")
    assert bid.json()["auction"]["reserveMet"] is False
    listed = f"/auctions?author={ada.name}"
    for answer in (bid, bob.get(listed), bob.get(f"/auctions/{gid}"), house.anyone.get(listed), bob.get("/me/bids")):
        assert "77.777" not in answer.text and "reservePrice" not in answer.text
    for path in (f"/auctions/{gid}", listed, "/me/auctions"):
        assert '"reservePrice":"77.777"' in ada.get(path).text


def test_an_auction_without_an_author_cannot_be_made(house: House) -> None:
    """The author is always the token's user, whatever the body says."""
    assert {"authorId": ["unknown"]} == faults(house.user("ada").post("/auctions", json={**DRAFT, "authorId": 1}))
    assert 401 == house.anyone.post("/auctions", json=DRAFT).status_code


def test_etags(house: House) -> None:
    """GET answers 304 without a body if a tag of If-None-Match is current, however it is written, and 200 after a bid."""
    ada, bob = house.user("ada"), house.user("bob")
    gid = ada.auction()
    path = f"/auctions/{gid}"
    tag = bob.get(path).headers["etag"]
    assert f'"1-{bob.get(path).json()["head"][:16]}"' == tag
    for known in (tag, f"W/{tag}", f'"0", {tag}', f'"x",W/{tag}', "*"):
        answer = bob.get(path, headers={"If-None-Match": known})
        assert (304, b"", tag) == (answer.status_code, answer.content, answer.headers["etag"])
    for unknown in ('"0"', "1", '"11"', "", '"'):
        assert 200 == bob.get(path, headers={"If-None-Match": unknown}).status_code
    assert 304 == bob.get(path, headers=[("If-None-Match", '"1-x"'), ("If-None-Match", tag)]).status_code
    bob.bid(gid, 10)
    answer = bob.get(path, headers={"If-None-Match": tag})
    assert (200, f'"2-{answer.json()["head"][:16]}"') == (answer.status_code, answer.headers["etag"])


def test_the_authors_view_has_a_tag_of_its_own(house: House) -> None:
    """The author's and the public view of one version have different tags, so that no cache shows a reserve to others."""
    ada, bob = house.user("ada"), house.user("bob")
    path = f"/auctions/{ada.auction(reservePrice=20)}"
    tag = ada.get(path).headers["etag"]
    assert tag != bob.get(path).headers["etag"]
    assert 200 == bob.get(path, headers={"If-None-Match": tag}).status_code
    assert "Authorization" == bob.get(path).headers["vary"]


def test_amend(house: House) -> None:
    """Before the first bid the author changes any terms but the increment, and the version rises by one."""
    ada = house.user("ada")
    gid = ada.auction(reservePrice=20, description="old")
    changes = {"name": "Wall clock", "startingPrice": 5, "reservePrice": None, "buyNowPrice": "50", "endsAt": FAR}
    body = ada.json("PATCH", f"/auctions/{gid}", json=changes)
    expected: dict[str, Any] = {
        "name": "Wall clock",
        "startingPrice": "5.000",
        "minimumBid": "5.000",
        "reserveMet": None,
    }
    expected |= {"buyNowPrice": "50.000", "endsAt": FAR, "description": "old", "version": 2}
    assert expected.items() <= body.items()
    assert body == shown(ada, gid)
    assert ["auction.created", "auction.amended"] == records(house, gid).types
    assert {"increment": ["unknown"]} == faults(ada.patch(f"/auctions/{gid}", json={"increment": 5}))


@pytest.mark.parametrize("changes", [{}, {"name": "Longcase clock"}, {"startingPrice": 10.0, "endsAt": None}])
def test_amending_nothing_changes_nothing(house: House, changes: dict[str, Any]) -> None:
    """Terms that stay the same are no change, no event and no new version."""
    ada = house.user("ada")
    gid = ada.auction()
    before = records(house, gid)
    assert 1 == ada.json("PATCH", f"/auctions/{gid}", json=changes)["version"]
    assert before == records(house, gid)


def test_amending_is_refused(house: House) -> None:
    """Amending is 403 for another user, 400 if terms contradict the remaining ones, and 409 `has_bids` after the first bid."""
    ada, bob = house.user("ada"), house.user("bob")
    gid = ada.auction(reservePrice=20)
    before = records(house, gid)
    path = f"/auctions/{gid}"
    assert (403, "not_author") == refusal(bob.patch(path, json={"name": "Mine"}))
    assert {"reservePrice": ["below_starting_price"]} == faults(ada.patch(path, json={"startingPrice": 30}))
    assert {"endsAt": ["not_in_future"]} == faults(ada.patch(path, json={"endsAt": "2001-01-01T00:00:00Z"}))
    assert before == records(house, gid)
    bob.bid(gid, 10)
    before = records(house, gid)
    assert (409, "has_bids") == refusal(ada.patch(path, json={"name": "Too late"}))
    assert before == records(house, gid)


def test_a_start_that_has_passed_cannot_be_moved(clocked_house: House) -> None:
    """Before its start an auction can be postponed; afterwards that is 409 `auction_started` with the start."""
    ada = clocked_house.user("ada")
    now = ada.json("GET", "/me")["createdAt"]
    gid = ada.auction(startsAt=after(now, seconds=60))
    later = after(now, seconds=120)
    assert later == ada.json("PATCH", f"/auctions/{gid}", json={"startsAt": later})["startsAt"]
    clocked_house.advance(120)
    answer = ada.patch(f"/auctions/{gid}", json={"startsAt": after(now, seconds=180)})
    assert (409, "auction_started") == refusal(answer)
    assert later == answer.json()["startsAt"]


def test_cancel(house: House) -> None:
    """Before the first bid the author cancels the auction: 204, no body, and the row and its history stay."""
    ada, bob = house.newcomer(), house.user("bob")
    gid = ada.auction()
    path = f"/auctions/{gid}"
    assert (403, "not_author") == refusal(bob.delete(path))
    answer = ada.delete(path)
    assert (204, b"") == (answer.status_code, answer.content)
    assert {"status": "cancelled", "outcome": None, "minimumBid": None, "version": 2}.items() <= shown(bob, gid).items()
    assert ["auction.created", "auction.cancelled"] == records(house, gid).types
    assert [gid] == [one["gid"] for one in ada.json("GET", "/me/auctions")["auctions"]]
    before = records(house, gid)
    for refused in (ada.delete(path), ada.patch(path, json={"name": "Back"}), ada.post(f"{path}/close", json={})):
        assert (409, "auction_closed") == refusal(refused)
    assert (409, "auction_closed") == refusal(bob.bid(gid, 10))
    assert before == records(house, gid)


def test_an_auction_with_bids_is_not_cancelled(house: House) -> None:
    """After the first bid cancelling is 409 `has_bids`."""
    ada, bob = house.user("ada"), house.user("bob")
    gid = ada.auction()
    bob.bid(gid, 10)
    assert (409, "has_bids") == refusal(ada.delete(f"/auctions/{gid}"))
    assert "open" == shown(ada, gid)["status"]


@each_of(
    {"terms": {}, "bid": None, "outcome": "no_bids"},
    {"terms": {}, "bid": 10, "outcome": "sold"},
    {"terms": {"reservePrice": 20}, "bid": 10, "outcome": "reserve_not_met"},
    {"terms": {"reservePrice": 20}, "bid": 20, "outcome": "sold"},
)
def test_close_now(house: House, terms: dict[str, Any], bid: int | None, outcome: str) -> None:
    """An empty object closes an auction without an end at once and for good, with the outcome that its bids give."""
    ada, bob = house.user("ada"), house.user("bob")
    gid = ada.auction(**terms)
    if bid is not None:
        assert 201 == bob.bid(gid, bid).status_code
    assert (403, "not_author") == refusal(bob.post(f"/auctions/{gid}/close", json={}))
    body = ada.json("POST", f"/auctions/{gid}/close", json={})
    assert ("closed", outcome, None) == (body["status"], body["outcome"], body["minimumBid"])
    before = records(house, gid)
    assert "auction.closed" == before.types[-1]
    assert (409, "auction_closed") == refusal(ada.post(f"/auctions/{gid}/close", json={}))
    assert (409, "auction_closed") == refusal(bob.bid(gid, 100))
    assert before == records(house, gid)


def test_announce_the_end(clocked_house: House) -> None:
    """`endsAt` announces the end of an auction without one; then it closes by itself, and in no other way."""
    ada, bob = clocked_house.user("ada"), clocked_house.user("bob")
    gid = ada.auction(softClose=None)
    bob.bid(gid, 10)
    end = after(ada.json("GET", "/me")["createdAt"], seconds=60)
    assert {"endsAt": ["not_in_future"]} == faults(
        ada.post(f"/auctions/{gid}/close", json={"endsAt": after(end, seconds=-60)})
    )
    body = ada.json("POST", f"/auctions/{gid}/close", json={"endsAt": end})
    assert ("open", end) == (body["status"], body["endsAt"])
    for asked in ({}, {"endsAt": after(end, seconds=60)}):
        answer = ada.post(f"/auctions/{gid}/close", json=asked)
        assert (409, "ends_by_itself", end) == (*refusal(answer), answer.json()["endsAt"])
    clocked_house.advance(60)
    assert ("closed", "sold", "bob") == tuple(shown(ada, gid)[name] for name in ("status", "outcome", "currentBidder"))


def test_an_auction_opens_and_closes_by_the_clock(clocked_house: House, clock: FakeClock) -> None:
    """An auction opens at its start and closes at its end, dated by exactly those, however late the closer comes."""
    ada = clocked_house.user("ada")
    now = ada.json("GET", "/me")["createdAt"]
    start, end = after(now, seconds=60), after(now, seconds=120)
    gid = ada.auction(startsAt=start, endsAt=end)
    answer = ada.post(f"/auctions/{gid}/close", json={})
    assert (409, "ends_by_itself") == refusal(answer)
    assert "scheduled" == shown(ada, gid)["status"]
    clocked_house.advance(60)
    assert "open" == shown(ada, gid)["status"]
    clocked_house.advance(3600)
    assert ("closed", "no_bids", end) == tuple(shown(ada, gid)[name] for name in ("status", "outcome", "endsAt"))
    dated = [(event.TYPE, event.at) for event in records(clocked_house, gid).events[1:]]
    assert [("auction.opened", instant(start)), ("auction.closed", instant(end))] == dated
    assert instant(end) < clock.now


def test_an_auction_that_has_not_started_cannot_be_closed(clocked_house: House) -> None:
    """Closing a scheduled auction without an end is 409 `auction_not_started` with its start."""
    ada = clocked_house.user("ada")
    start = after(ada.json("GET", "/me")["createdAt"], seconds=60)
    gid = ada.auction(startsAt=start)
    answer = ada.post(f"/auctions/{gid}/close", json={})
    assert (409, "auction_not_started", start) == (*refusal(answer), answer.json()["startsAt"])


def test_a_start_in_the_past_opens_at_once(house: House) -> None:
    """An auction with a `startsAt` in the past is open."""
    assert "open" == shown(house.user("ada"), house.user("ada").auction(startsAt="2001-01-01T00:00:00Z"))["status"]


def test_an_author_has_so_many_auctions(serve_house: ServeHouse) -> None:
    """An auction beyond the setting is 409 with the limit, on the page too; other users still have room."""
    house = serve_house(auctions_per_user_max=2)
    ada = house.user("ada")
    gids = [ada.auction() for _ in range(2)]
    answer = ada.post("/auctions", json={"name": "Clock", "startingPrice": "1"})
    assert ((409, "too_many_auctions"), 2) == (refusal(answer), answer.json()["limit"])
    assert 204 == ada.delete(f"/auctions/{gids[0]}").status_code
    assert (409, "too_many_auctions") == refusal(ada.post("/auctions", json={"name": "Clock", "startingPrice": "1"}))
    house.user("bob").auction()


def test_an_author_changes_lots_only_so_often(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """One change too many is 429 with how long to wait; lots of a sale are changed again and again by staff."""
    monkeypatch.setattr(changes, "CHANGES_MAX", 2)
    staff = house.staff(Role.OWNER)
    gid = staff.auction()
    for name in ("Clock", "Chair"):
        staff.json("PATCH", f"/auctions/{gid}", json={"name": name})
    answer = staff.request("PATCH", f"/auctions/{gid}", json={"name": "Rug"})
    assert (429, "too_many_changes") == refusal(answer)
    assert 0 < int(answer.headers["retry-after"]) == answer.json()["retryAfter"] <= 12 * 3600
    assert "Chair" == shown(staff, gid)["name"]
    sale = with_lots(staff, 1)
    staff.json("POST", f"/sales/{sale}/publish")
    for name in ("Clock", "Chair", "Rug", "Vase"):
        staff.json("PATCH", f"/sales/{sale}/lots/1", json={"name": name})


def test_the_lots_of_a_sale_take_no_room_for_auctions(serve_house: ServeHouse) -> None:
    """Staff who have published a large sale still put up an auction outside it; the lots are the house's, not a user's."""
    house = serve_house(auctions_per_user_max=2)
    staff = house.staff(Role.AUCTIONEER)
    staff.json("POST", f"/sales/{with_lots(staff, 3)}/publish")
    staff.auction()
    staff.auction()
    assert (409, "too_many_auctions") == refusal(staff.post("/auctions", json={"name": "Clock", "startingPrice": "1"}))
