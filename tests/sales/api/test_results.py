"""Results of lots that were sold by outcry, over HTTP and through the page's own address."""

from __future__ import annotations

from typing import Any

import httpx
import msgspec
import pytest

from saleroom.accounts.domain.rights import Role
from tests.bidding.api.answers import faults, refusal
from tests.fixtures_house import House, User
from tests.sales.api.evening import with_lots
from tests.sales.api.test_block import act
from tests.sales.api.test_participants import published
from tests.tools.verify.ledgers import verified


@pytest.fixture
def house(sqlite_house: House) -> House:
    """A house on SQLite: the statements that differ between the databases are tested in the service."""
    return sqlite_house


@pytest.fixture
def staff(house: House) -> User:
    """An auctioneer."""
    return house.staff(Role.AUCTIONEER)


def live(staff: User, count: int = 3, **terms: Any) -> str:
    """A live sale with the paddle 57, whose lots start at 10 and have a reserve of 15."""
    gid, _ = published(staff, count, kind="live", names="paddles", **terms)
    staff.json("POST", f"/sales/{gid}/participants", json={"personName": "Ada", "paddle": 57})
    return gid


def test_a_clerk_enters_results(house: House, staff: User) -> None:
    """A line with its key is done once; another result is refused with the one that stands; what was sold is public."""
    gid, clerk = live(staff), house.staff(Role.CLERK)
    sent: dict[str, Any] = {
        "json": {"labels": ["1", "002"], "price": "34.5", "paddle": 57},
        "headers": {"Idempotency-Key": "one"},
    }
    first = clerk.post(f"/sales/{gid}/results", **sent)
    assert (200, first.json()) == (200, clerk.post(f"/sales/{gid}/results", **sent).json())
    assert ("running", 1) == (first.json()["status"], first.json()["lotsLeft"])
    assert [("1", "sold", "34.500", "#57"), ("2", "sold", "34.500", "#57")] == [
        (lot["label"], lot["state"], lot["price"], lot["bidder"]) for lot in first.json()["lots"]
    ]
    other = clerk.post(f"/sales/{gid}/results", json={"labels": ["1"]})
    assert (409, "already_decided") == refusal(other)
    assert ("1", "sold", "34.500", "#57") == tuple(other.json()[one] for one in ("label", "outcome", "price", "bidder"))
    back = {"labels": ["2"], "seen": [first.json()["lots"][1]["tag"]]}
    assert "open" == clerk.json("POST", f"/sales/{gid}/results/undo", json=back)["lots"][0]["state"]
    assert (409, "result_changed") == refusal(clerk.post(f"/sales/{gid}/results/undo", json=back))
    clerk.json("POST", f"/sales/{gid}/results", json={"name": "Honey", "price": "25", "paddle": 57})
    public = house.anyone.json("GET", f"/sales/{gid}/lots")["lots"]
    assert ["sold", None, None, "sold"] == [lot["auction"]["outcome"] for lot in public]
    types = [one["act"] for one in house.staff(Role.OWNER).json("GET", "/staff/audit")["entries"]]
    assert {"result.entered", "result.taken_back"} <= set(types)


def test_a_result_is_taken_back_after_its_buyer_was_merged(house: House, staff: User) -> None:
    """The device that has entered it has the tag of before: that a guest became an account is no other result."""
    gid, clerk, ada = live(staff), house.staff(Role.CLERK), house.newcomer()
    [lot] = clerk.json("POST", f"/sales/{gid}/results", json={"labels": ["1"], "price": "34", "paddle": 57})["lots"]
    into = ada.json("PUT", f"/sales/{gid}/registration")["participant"]
    [guest] = [one for one in staff.json("GET", f"/sales/{gid}/participants")["participants"] if one["paddle"] == 57]
    staff.json("POST", f"/sales/{gid}/participants/{guest['participant']}/merger", json={"into": into})
    other = {"labels": ["1"], "seen": [lot["tag"][:-1]]}
    assert (409, "result_changed") == refusal(clerk.post(f"/sales/{gid}/results/undo", json=other))
    back = {"labels": ["1"], "seen": [lot["tag"]]}
    assert "open" == clerk.json("POST", f"/sales/{gid}/results/undo", json=back)["lots"][0]["state"]


def test_the_ledgers_of_entered_lots_verify(house: House, staff: User) -> None:
    """Sold over an absentee maximum and against one, taken back, passed: a verifier decides every event again."""
    gid = live(staff, registration="open")
    lots = [lot["gid"] for lot in staff.json("GET", f"/sales/{gid}/lots")["lots"]]
    bob = house.newcomer()
    bob.json("PUT", f"/sales/{gid}/registration")
    for lot in lots[:2]:
        assert 201 == bob.bid(lot, maximum=50).status_code
    path = f"/sales/{gid}/results"
    tag = staff.json("POST", path, json={"labels": ["1"], "price": "60", "paddle": 57})["lots"][0]["tag"]
    staff.json("POST", f"{path}/undo", json={"labels": ["1"], "seen": [tag]})
    staff.json("POST", path, json={"labels": ["1"], "price": "20", "paddle": 57, "against": "50"})
    staff.json("POST", path, json={"labels": ["2"], "price": "30", "paddle": 100})
    staff.json("POST", path, json={"labels": ["3"]})
    act(staff, gid, "end")
    for lot in lots:
        verified(house.anyone.get(f"/auctions/{lot}/ledger").content)


def test_every_refusal_says_what_to_do(house: House, staff: User) -> None:
    """Each doubt has its facts, and nothing is done until it is answered."""
    gid = live(staff, registration="open")
    path = f"/sales/{gid}/results"
    lot = staff.json("GET", f"/sales/{gid}/lots")["lots"][0]["gid"]
    bob = house.newcomer()
    bob.json("PUT", f"/sales/{gid}/registration")
    assert 201 == bob.bid(lot, maximum=50).status_code
    cases: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
        ("unknown_paddle", {"paddle": 99}, {"paddle": 99}),
        ("unusual_price", {"price": "100"}, {"label": "1", "limit": "100.000"}),
        ("absentee_bid_stands", {}, {"label": "1", "bidder": "#100", "currentBid": "15.000", "maximum": "50.000"}),
        ("price_below_reserve", {"labels": ["2"], "price": "14"}, {"label": "2", "reservePrice": "15.000"}),
    ]
    for code, said, facts in cases:
        answer = staff.post(path, json={"labels": ["1"], "price": "20", "paddle": 57, **said})
        assert (409, code) == refusal(answer)
        assert facts.items() <= answer.json().items()
    assert (404, "unknown_lot") == refusal(staff.post(path, json={"labels": ["1", "9"]}))
    assert "9" in staff.post(path, json={"labels": ["1", "9"]}).json()["message"]
    assert (403, "missing_right") == refusal(house.newcomer().post(path, json={"labels": ["1"]}))
    assert (404, "unknown_sale") == refusal(staff.post("/sales/AAAAAAAAAAAA/results", json={"labels": ["1"]}))
    act(staff, gid, "call")
    assert (409, "lot_on_block") == refusal(staff.post(path, json={"labels": ["2"]}))
    assert [None] * 3 == [one["auction"]["outcome"] for one in staff.json("GET", f"/sales/{gid}/lots")["lots"]]


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ({}, {"labels"}),
        ({"labels": []}, {"labels"}),
        ({"labels": ["1", "01"]}, {"labels"}),
        ({"labels": ["x"]}, {"labels"}),
        ({"labels": "1"}, {"labels"}),
        ({"labels": [str(one) for one in range(1, 102)]}, {"labels"}),
        ({"labels": ["1"], "name": "Both", "price": "1", "paddle": 57}, {"labels"}),
        ({"labels": ["1"], "price": "20"}, {"paddle"}),
        ({"labels": ["1"], "paddle": 57}, {"price"}),
        ({"labels": ["1"], "price": "0", "paddle": 57}, {"price"}),
        ({"labels": ["1"], "price": "1e3", "paddle": 57}, {"price"}),
        ({"labels": ["1"], "price": "20", "paddle": 100_000}, {"paddle"}),
        ({"name": "Passed"}, {"price"}),
        ({"name": "\u0000", "price": "20", "paddle": 57}, {"name"}),
        ({"labels": ["1"], "below": "later"}, {"below"}),
        ({"labels": ["1"], "isSure": "yes"}, {"isSure"}),
        ({"labels": ["1"], "seen": []}, {"seen"}),
        ({"labels": ["1"], "seen": [1]}, {"seen"}),
        ({"labels": ["1"], "seen": ["x" * 101]}, {"seen"}),
        ({"labels": ["1"], "reason": "x" * 201}, {"reason"}),
    ],
)
def test_what_no_line_can_be(staff: User, said: dict[str, Any], wrong: set[str]) -> None:
    """Every fault is named by its field."""
    gid, _ = published(staff, 1, kind="live")
    assert wrong == faults(staff.post(f"/sales/{gid}/results", json=said)).keys()


def test_taking_back_needs_lots_tags_and_a_reason(staff: User) -> None:
    """The reason is needed unless the lot was called last."""
    gid = live(staff)
    path = f"/sales/{gid}/results"
    tag = staff.json("POST", path, json={"labels": ["1"], "price": "20", "paddle": 57})["lots"][0]["tag"]
    staff.json("POST", path, json={"labels": ["2"]})
    assert {"labels", "seen"} == faults(staff.post(f"{path}/undo", json={})).keys()
    assert {"seen"} == faults(staff.post(f"{path}/undo", json={"labels": ["1"], "seen": [tag, tag]})).keys()
    assert {"reason"} == faults(staff.post(f"{path}/undo", json={"labels": ["1"], "seen": [tag]})).keys()
    staff.json("POST", f"{path}/undo", json={"labels": ["1"], "seen": [tag], "reason": "Misheard."})


def send(house: House, sender: User, gid: str, line: Any, key: str = "k" * 24, **members: str) -> httpx.Response:
    """Send a line as the page does."""
    headers = {"X-Requested-With": "desk", "Idempotency-Key": key, "Accept-Language": "de"}
    headers["Cookie"] = f"saleroom_session={sender.token}"
    text = line if isinstance(line, str) else msgspec.json.encode(line).decode()
    sent = {"user": sender.name, "act": "enter", "line": text, **members}
    return house.plain.post(f"/sales/{gid}/entry", data=sent, headers=headers)


def test_the_page_sends_lines(house: House, staff: User) -> None:
    """It gets the API's answer, the same for the same key; refusals have code, facts and words of the reader's language."""
    gid = live(staff)
    said = {"labels": ["1"], "price": "20", "paddle": 57}
    first = send(house, staff, gid, said)
    assert (200, "no-store") == (first.status_code, first.headers["cache-control"])
    assert first.json() == send(house, staff, gid, said).json()
    assert 422 == send(house, staff, gid, {"labels": ["2"]}).status_code
    below = send(house, staff, gid, {"labels": ["2"], "price": "14", "paddle": 57}, "b" * 24)
    assert (409, "price_below_reserve", "15.000") == (
        below.status_code,
        below.json()["code"],
        below.json()["reservePrice"],
    )
    assert "unter dem Limit von Los 2" in below.json()["message"]
    for text in ("", "{", "[]", "null", "{}", '{"labels": ["1"], "other": 1}', '{"labels": ["\\ud800"]}'):
        assert 400 == send(house, staff, gid, text, "c" * 24).status_code, text
    assert 401 == send(house, staff, gid, said, "d" * 24, user="somebody.else").status_code
    assert 403 == send(house, house.newcomer(), gid, said, "e" * 24).status_code
    assert 404 == send(house, staff, "AAAAAAAAAAAA", said, "f" * 24).status_code
    assert 401 == house.plain.post(f"/sales/{gid}/entry", headers={"X-Requested-With": "desk"}).status_code
    back = {"labels": ["1"], "seen": [first.json()["lots"][0]["tag"]]}
    assert "open" == send(house, staff, gid, back, "g" * 24, act="undo").json()["lots"][0]["state"]


def test_only_those_who_run_the_sale_open_the_page(house: House, staff: User) -> None:
    """The sheet has reserves: a bidder gets a page that says no, a stranger the form to log in."""
    gid = live(staff)
    bob = house.newcomer()
    for path in ("entry", "entry/sheet"):
        url = f"/sales/{gid}/{path}"
        assert 403 == house.plain.get(url, headers={"Cookie": f"saleroom_session={bob.token}"}).status_code, path
        assert house.plain.get(url).status_code in (303, 401), path
        answer = house.plain.get(url, headers={"Cookie": f"saleroom_session={staff.token}"})
        assert (200, "no-store") == (answer.status_code, answer.headers["cache-control"]), path
    page = house.plain.get(f"/sales/{gid}/entry", headers={"Cookie": f"saleroom_session={staff.token}"}).text
    assert [] == [private for private in (gid, staff.name, "An evening", "15.000") if private in page]
    sheet = house.plain.get(f"/sales/{gid}/entry/sheet", headers={"Cookie": f"saleroom_session={staff.token}"}).json()
    assert ("15.000", "100.000", [[57, "approved"]]) == (
        sheet["lots"][0]["reservePrice"],
        sheet["lots"][0]["usualBelow"],
        sheet["paddles"],
    )


def test_a_fund_a_need_has_no_result(staff: User) -> None:
    """Nobody wins it, so no line is entered for it; while it is on the block, none is for another lot either."""
    gid = with_lots(staff, 2, kind="live", names="paddles")
    staff.json("POST", f"/sales/{gid}/lots", json={"name": "A new roof", "levels": ["100", "50"]})
    assert 200 == staff.post(f"/sales/{gid}/publish").status_code
    path = f"/sales/{gid}/results"
    assert (409, "of_auctions") == refusal(staff.post(path, json={"labels": ["1", "3"]}))
    act(staff, gid, "call", label="3")
    assert (409, "lot_on_block") == refusal(staff.post(path, json={"labels": ["1"]}))
    act(staff, gid, "sell")
    assert "passed" == staff.json("POST", path, json={"labels": ["1"]})["lots"][0]["state"]
