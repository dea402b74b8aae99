"""Sales over HTTP: made, published, cancelled, and followed."""

from typing import Any

import msgspec
import pytest

from saleroom.accounts.domain.rights import Role
from tests.bidding.api.answers import faults, refusal
from tests.fixtures_house import House, User
from tests.sales.api.evening import LATER, made, with_lots


@pytest.fixture
def house(sqlite_house: House) -> House:
    """A house on SQLite: the statements that differ between the databases are tested in the service."""
    return sqlite_house


@pytest.fixture
def staff(house: House) -> User:
    """An auctioneer."""
    return house.staff(Role.AUCTIONEER)


def test_a_draft_is_for_staff_alone(house: House, staff: User) -> None:
    """POST /sales makes a draft: staff see it and its limit, and nobody else finds it, its lots or its events."""
    gid = made(staff, limitDefault="500")
    assert {"status": "draft", "limitDefault": "500.000", "version": 0}.items() <= staff.json(
        "GET", f"/sales/{gid}"
    ).items()
    assert gid in [sale["gid"] for sale in staff.json("GET", "/sales")["sales"]]
    assert gid not in [sale["gid"] for sale in house.anyone.json("GET", "/sales")["sales"]]
    for path in (f"/sales/{gid}", f"/sales/{gid}/lots", f"/sales/{gid}/lots/1", f"/sales/{gid}/events"):
        assert (404, "unknown_sale") == refusal(house.anyone.get(path))


def test_publication_makes_auctions_of_all_lots(house: House, staff: User) -> None:
    """POST /sales/{gid}/publish: each lot is an auction of its gid, with an end by its place; anyone sees the sale."""
    gid = with_lots(staff, 3, spacing=90)
    drafted = staff.json("GET", f"/sales/{gid}/lots")["lots"]
    assert [404] * 3 == [house.anyone.get(f"/auctions/{lot['gid']}").status_code for lot in drafted]
    sale = staff.json("POST", f"/sales/{gid}/publish")
    assert ("running", 2) == (sale["status"], sale["version"]), "its lots are open"
    lots = house.anyone.json("GET", f"/sales/{gid}/lots")["lots"]
    assert [lot["gid"] for lot in drafted] == [lot["gid"] for lot in lots]
    assert ["12:00:00", "12:01:30", "12:03:00"] == [lot["auction"]["endsAt"][11:19] for lot in lots]
    assert lots[0]["auction"] == house.anyone.json("GET", f"/auctions/{lots[0]['gid']}")
    assert not {"consignor", "reservePrice"} & lots[0].keys()
    assert 201 == house.user("bob").bid(lots[0]["gid"], amount=200).status_code
    assert (409, "sale_published") == refusal(staff.post(f"/sales/{gid}/publish"))


def test_a_second_request_with_the_key_gets_the_first_answer(staff: User) -> None:
    """An Idempotency-Key holds for making, publishing, and for each lot by itself."""
    sent: dict[str, Any] = {"json": {"title": "Once", "kind": "live"}, "headers": {"Idempotency-Key": "once"}}
    assert staff.post("/sales", **sent).json() == staff.post("/sales", **sent).json()
    gid = with_lots(staff, 2)
    key = {"Idempotency-Key": "publish"}
    first = staff.post(f"/sales/{gid}/publish", headers=key)
    assert (200, first.json()) == (200, staff.post(f"/sales/{gid}/publish", headers=key).json())
    why: dict[str, Any] = {"json": {"reason": "Broken."}, "headers": {"Idempotency-Key": "withdraw"}}
    assert 200 == staff.post(f"/sales/{gid}/lots/1/withdraw", **why).status_code
    assert (422, "idempotency_mismatch") == refusal(staff.post(f"/sales/{gid}/lots/2/withdraw", **why))


def test_terms_change_in_a_draft_and_words_until_the_end(house: House, staff: User) -> None:
    """PATCH /sales/{gid}: a draft takes any term; a published sale its words, and tells of them."""
    gid = with_lots(staff, 1)
    changed = staff.json("PATCH", f"/sales/{gid}", json={"spacing": 30, "softClose": None, "increment": "5"})
    assert (30, None, "5.000") == (changed["spacing"], changed["softClose"], changed["increment"])
    staff.json("POST", f"/sales/{gid}/publish")
    assert (409, "sale_published") == refusal(staff.patch(f"/sales/{gid}", json={"spacing": 60}))
    staff.json("PATCH", f"/sales/{gid}", json={"title": "Another evening", "limitDefault": "7"})
    shown = house.anyone.json("GET", f"/sales/{gid}")
    assert ("Another evening", 3) == (shown["title"], shown["version"])


def test_all_faults_of_a_sale_come_at_once(staff: User) -> None:
    """What cannot be read is named by its field, and so are terms that contradict each other."""
    wrong = {"title": "", "kind": "silent", "spacing": 0, "softClose": {"window": 1, "extension": 1, "cap": LATER}}
    assert {"title", "kind", "spacing", "softClose"} == faults(staff.post("/sales", json=wrong)).keys()
    torn = {"title": "Torn", "kind": "timed", "opensAt": LATER, "startsAt": LATER}
    assert {"opensAt"} == faults(staff.post("/sales", json=torn)).keys()
    gid = with_lots(staff, 1, startsAt=None)
    assert {"startsAt"} == faults(staff.post(f"/sales/{gid}/publish")).keys()
    assert (409, "no_lots") == refusal(staff.post(f"/sales/{made(staff)}/publish"))


def test_a_sale_is_cancelled_with_its_lots(house: House, staff: User) -> None:
    """POST /sales/{gid}/cancel: all lots get the reason; a sale that runs is not cancelled, and a draft stays unseen."""
    gid = with_lots(staff, 2, opensAt="2099-05-01T11:00:00Z")
    assert "published" == staff.json("POST", f"/sales/{gid}/publish")["status"]
    assert "cancelled" == staff.json("POST", f"/sales/{gid}/cancel", json={"reason": "Flood."})["status"]
    lots = house.anyone.json("GET", f"/sales/{gid}/lots")["lots"]
    assert [("cancelled", "Flood.")] * 2 == [(lot["auction"]["status"], lot["auction"]["cancelledFor"]) for lot in lots]
    assert (409, "sale_over") == refusal(staff.post(f"/sales/{gid}/cancel", json={"reason": "Again."}))
    assert 204 == house.plain.get(f"/sales/{gid}/events?after={gid}/2").status_code, "nothing follows"
    running = with_lots(staff, 1)
    staff.json("POST", f"/sales/{running}/publish")
    assert (409, "sale_running") == refusal(staff.post(f"/sales/{running}/cancel", json={"reason": "Late."}))
    draft = with_lots(staff, 1)
    staff.json("POST", f"/sales/{draft}/cancel", json={"reason": "Never mind."})
    assert (404, "unknown_sale") == refusal(house.anyone.get(f"/sales/{draft}"))


def test_a_sale_is_paused_and_goes_on(house: House, staff: User) -> None:
    """POST /sales/{gid}/pause stops the clocks of its lots, and resume gives them the time back; a repeat changes nothing."""
    gid = with_lots(staff, 2)
    assert (409, "sale_not_running") == refusal(staff.post(f"/sales/{gid}/pause"))
    staff.json("POST", f"/sales/{gid}/publish")
    assert (409, "sale_not_paused") == refusal(staff.post(f"/sales/{gid}/resume"))
    key = {"Idempotency-Key": "a-pause"}
    first = staff.post(f"/sales/{gid}/pause", headers=key)
    assert (200, first.json()) == (200, staff.post(f"/sales/{gid}/pause", headers=key).json())
    assert "paused" == house.anyone.json("GET", f"/sales/{gid}")["status"]
    lots = house.anyone.json("GET", f"/sales/{gid}/lots")["lots"]
    assert all(lot["auction"]["pausedAt"] for lot in lots)
    bidder = house.newcomer()
    assert (409, "auction_paused") == refusal(bidder.bid(lots[0]["gid"], 20))
    assert (409, "sale_paused") == refusal(
        staff.post(f"/sales/{gid}/lots", json={"name": "Late", "startingPrice": "1"})
    )
    assert "running" == staff.json("POST", f"/sales/{gid}/resume")["status"]
    assert 201 == bidder.bid(lots[0]["gid"], 20).status_code
    after = house.anyone.json("GET", f"/sales/{gid}/lots")["lots"]
    assert not any("pausedAt" in lot["auction"] for lot in after)
    assert all(one["auction"]["endsAt"] < other["auction"]["endsAt"] for one, other in zip(lots, after, strict=True))
    assert (403, "missing_right") == refusal(bidder.post(f"/sales/{gid}/pause"))


def test_a_sale_is_followed_from_its_beginning(house: House, staff: User) -> None:
    """GET /sales/{gid}/events gives numbered events after any of them, and ends with the sale."""
    gid = with_lots(staff, 2, opensAt="2099-05-01T11:00:00Z")
    staff.json("POST", f"/sales/{gid}/publish")
    staff.json("POST", f"/sales/{gid}/lots", json={"name": "A late one", "startingPrice": "1"})
    staff.json("PUT", f"/sales/{gid}/order", json={"labels": ["3", "1", "2"], "renumberFrom": 1})
    staff.json("PATCH", f"/sales/{gid}/lots/1", json={"estimateFrom": "5"})
    staff.json("POST", "/consignors", json={"code": "FOLLOWED", "name": "Erben"})
    staff.json("PATCH", f"/sales/{gid}/lots/1", json={"consignor": "FOLLOWED"})  # not public: no event
    staff.json("POST", f"/sales/{gid}/lots/2/withdraw", json={"reason": "Broken."})
    staff.json("POST", f"/sales/{gid}/cancel", json={"reason": "Flood."})
    events = followed(house, f"/sales/{gid}/events?after=0")
    assert ["sale.published", "lot.added", "order.set", "lot.amended", "lot.withdrawn", "sale.cancelled"] == [
        event["type"] for event in events
    ]
    assert [(f"{gid}/{number}", number) for number in range(1, 7)] == [
        (event["id"], event["sequence"]) for event in events
    ]
    assert {"labels": ["1", "2", "3"], "renumbered": True} == events[2]["data"]
    assert events[3:] == followed(house, f"/sales/{gid}/events?after={gid}/3")
    assert (400, "unknown_event") == refusal(house.plain.get(f"/sales/{gid}/events?after={gid}/7"))


def followed(house: House, path: str) -> list[Any]:
    """The events of a stream that ends."""
    with house.plain.stream("GET", path) as stream:
        assert "text/event-stream" == stream.headers["content-type"]
        return [msgspec.json.decode(line[6:]) for line in stream.iter_lines() if line.startswith("data: ")]


def test_who_has_no_right_changes_nothing(house: House, staff: User) -> None:
    """A cataloguer edits lots and publishes nothing; a member does neither and sees no consignor."""
    gid = with_lots(staff, 1)
    cataloguer, member = house.staff(Role.CATALOGUER), house.user("bob")
    lot = {"name": "A chair", "startingPrice": "1"}
    assert 201 == cataloguer.post(f"/sales/{gid}/lots", json=lot).status_code
    assert (403, "missing_right") == refusal(cataloguer.post(f"/sales/{gid}/publish"))
    for answer in (
        member.post("/sales", json={"title": "Mine", "kind": "live"}),
        member.post(f"/sales/{gid}/lots", json=lot),
        member.post(f"/sales/{gid}/publish"),
        member.get("/consignors"),
    ):
        assert (403, "missing_right") == refusal(answer)
    assert (404, "unknown_sale") == refusal(member.get(f"/sales/{gid}"))
