"""Fund-a-need over HTTP: made, changed, called, pledged, and all its refusals."""

from typing import Any

import pytest

from saleroom.accounts.domain.rights import Role
from tests.bidding.api.answers import faults, refusal
from tests.fixtures_house import House, User
from tests.sales.api.evening import with_lots
from tests.sales.api.test_block import act
from tests.site.visitor import Visitor

ROOF = {"name": "A new roof", "levels": ["5000", 1000, "500.00", "100"], "goal": "20000", "description": "It leaks."}


@pytest.fixture
def house(sqlite_house: House) -> House:
    """A house on SQLite: the statements that differ between the databases are tested in the service."""
    return sqlite_house


@pytest.fixture
def staff(house: House) -> User:
    """An auctioneer."""
    return house.staff(Role.AUCTIONEER)


def gala(staff: User, **terms: Any) -> str:
    """A published live sale of one lot and a fund-a-need, with the paddles 12 and 20; the fund-a-need is on the block."""
    gid = with_lots(staff, 1, kind="live", registration="open", **terms)
    staff.json("POST", f"/sales/{gid}/lots", json=ROOF)
    assert 200 == staff.post(f"/sales/{gid}/publish").status_code
    for paddle in (12, 20):
        said = {"personName": f"Guest {paddle}", "bidsBy": "floor", "paddle": paddle}
        staff.json("POST", f"/sales/{gid}/participants", json=said)
    act(staff, gid, "call", label="2")
    return gid


def pledged(staff: User, gid: str, paddle: int, amount: str = "5000", **said: Any) -> Any:
    """Send a pledge as the clerk."""
    return staff.post(f"/sales/{gid}/block", json={"act": "pledge", "paddle": paddle, "amount": amount, **said})


def test_it_stands_in_the_catalogue_and_is_no_auction(house: House, staff: User) -> None:
    """It has a number, its levels and its goal among the lots; `/auctions` shows the auctions alone."""
    gid = with_lots(staff, 1, kind="live")
    made = staff.post(f"/sales/{gid}/lots", json=ROOF)
    assert (201, f"/sales/{gid}/lots/2") == (made.status_code, made.headers["location"])
    assert 200 == staff.post(f"/sales/{gid}/publish").status_code
    lots = house.anyone.json("GET", f"/sales/{gid}/lots")["lots"]
    assert [("1", False), ("2", True)] == [(one["label"], one["auction"] is None) for one in lots]
    need = lots[1]["need"]
    assert (["5000.000", "1000.000", "500.000", "100.000"], "20000.000") == (need["levels"], need["goal"])
    assert ("waiting", None, "0.000", 0) == (need["stage"], need["level"], need["total"], need["pledges"])
    assert ("100.000", "It leaks.") == (lots[1]["startingPrice"], lots[1]["description"])
    listed = house.anyone.json("GET", f"/auctions?author={staff.name}")["auctions"]
    assert [lots[0]["gid"]] == [one["gid"] for one in listed if one["gid"] in {lot["gid"] for lot in lots}]
    assert 404 == house.anyone.get(f"/auctions/{lots[1]['gid']}").status_code


def test_one_that_was_withdrawn_in_the_draft_is_not_offered(house: House, staff: User) -> None:
    """As any lot that was withdrawn before the publication, it is there for staff alone; one withdrawn later is seen."""
    gid = with_lots(staff, 1, kind="live")
    for _ in range(2):
        staff.json("POST", f"/sales/{gid}/lots", json=ROOF)
    withdrawal = {"reason": "It is repaired."}
    shown = staff.json("POST", f"/sales/{gid}/lots/2/withdraw", json=withdrawal)
    assert "never_offered" == shown["need"]["stage"]
    assert 200 == staff.post(f"/sales/{gid}/publish").status_code
    staff.json("POST", f"/sales/{gid}/lots/3/withdraw", json=withdrawal)
    assert ["1", "3"] == [one["label"] for one in house.anyone.json("GET", f"/sales/{gid}/lots")["lots"]]
    for address in ("", "?q=roof"):
        page = Visitor(house).http.get(f"/catalogues/{gid}{address}").text
        assert (False, True) == ('id="lot-2"' in page, 'id="lot-3"' in page)
    assert "no lot with this number" in Visitor(house).http.get(f"/catalogues/{gid}?number=2").text
    assert ["1", "2", "3"] == [one["label"] for one in staff.json("GET", f"/sales/{gid}/lots")["lots"]]


def test_a_withdrawn_one_stays_off_the_block(staff: User) -> None:
    """No undo and no reopening brings it back."""
    gid = gala(staff)
    act(staff, gid, "skip")
    staff.json("POST", f"/sales/{gid}/lots/2/withdraw", json={"reason": "It is repaired."})
    undo = {"act": "undo", "seen": staff.json("GET", f"/sales/{gid}/block")["tag"]}
    assert (409, "lot_withdrawn") == refusal(staff.post(f"/sales/{gid}/block", json=undo))
    reopen = {"act": "reopen", "label": "2", "reason": "Why not?"}
    assert (409, "lot_withdrawn") == refusal(staff.post(f"/sales/{gid}/block", json=reopen))


def test_what_is_no_fund_a_need_is_refused(staff: User) -> None:
    """Levels go down, and are in a live sale; an auction has none, and a fund-a-need has no prices."""
    gid, timed = with_lots(staff, 1, kind="live"), with_lots(staff, 0, kind="timed")
    for sent, field, code in (
        ({"levels": []}, "levels", "levels_count"),
        ({"levels": ["1"] * 21}, "levels", "levels_count"),
        ({"levels": ["1", "2"]}, "levels", "levels_descending"),
        ({"levels": ["2", "0"]}, "levels", "levels_positive"),
        ({"levels": "5000"}, "levels", "not_a_list_of_amounts"),
        ({"levels": ["a"]}, "levels", "money_format"),
        ({"levels": ["5"], "goal": "0"}, "goal", "goal_positive"),
        ({"levels": ["5"], "startingPrice": "5"}, "startingPrice", "of_auctions"),
        ({"levels": ["5"], "reservePrice": "5"}, "reservePrice", "of_auctions"),
        ({"startingPrice": "5", "goal": "5"}, "goal", "of_needs"),
        ({}, "startingPrice", "required"),
    ):
        assert code in faults(staff.post(f"/sales/{gid}/lots", json={"name": "A roof", **sent}))[field], sent
    assert "needs_live" in faults(staff.post(f"/sales/{timed}/lots", json=ROOF))["levels"]
    assert (409, "of_needs") == refusal(staff.patch(f"/sales/{gid}/lots/1", json={"goal": "5"}))
    staff.json("POST", f"/sales/{gid}/lots", json=ROOF)
    assert "of_auctions" in faults(staff.patch(f"/sales/{gid}/lots/2", json={"startingPrice": "5"}))["startingPrice"]
    staff.json("PATCH", f"/sales/{gid}", json={"kind": "timed"})
    assert "needs_live" in faults(staff.post(f"/sales/{gid}/publish"))["kind"]


def test_pledges_and_their_refusals(house: House, staff: User) -> None:
    """Clerk and bidder pledge at the present level; each refusal says why, and notes nothing."""
    gid = gala(staff)
    assert 200 == pledged(staff, gid, 12).status_code
    again = pledged(staff, gid, 12)
    assert (409, "pledged_already", "5000.000") == (*refusal(again), again.json()["amount"])
    assert 200 == pledged(staff, gid, 12, again=True).status_code
    assert (409, "unknown_paddle") == refusal(pledged(staff, gid, 13))
    other = pledged(staff, gid, 20, "1000")
    assert (409, "level_changed", "5000.000") == (*refusal(other), other.json()["level"])
    assert {"amount", "paddle"} == set(faults(staff.post(f"/sales/{gid}/block", json={"act": "pledge"})))
    bob = house.user("bob")
    assert (403, "not_registered") == refusal(bob.post(f"/sales/{gid}/pledges", json={"amount": "5000"}))
    bob.json("PUT", f"/sales/{gid}/registration")
    sent: dict[str, Any] = {"json": {"amount": "5000"}, "headers": {"Idempotency-Key": "one"}}
    first = bob.post(f"/sales/{gid}/pledges", **sent)
    assert (201, "online", 3) == (first.status_code, first.json()["channel"], first.json()["pledge"])
    assert first.json() == bob.post(f"/sales/{gid}/pledges", **sent).json()
    assert (409, "pledged_already") == refusal(bob.post(f"/sales/{gid}/pledges", json={"amount": "5000"}))
    assert 401 == house.anyone.post(f"/sales/{gid}/pledges", json={"amount": "5000"}).status_code
    for number, status, code in ((3, 200, ""), (3, 409, "pledge_undone"), (9, 404, "unknown_pledge")):
        undone = staff.post(f"/sales/{gid}/block", json={"act": "undo_pledge", "pledge": number})
        assert status == undone.status_code
        assert not code or code == undone.json()["code"]
    need = house.anyone.json("GET", f"/sales/{gid}/block")["onBlock"]["need"]
    assert ("10000.000", 2) == (need["total"], need["pledges"])
    for what, code in (("warn", "of_auctions"), ("pass", "of_auctions")):
        assert (409, code) == refusal(
            staff.post(
                f"/sales/{gid}/block", json={"act": what, "seen": staff.json("GET", f"/sales/{gid}/block")["tag"]}
            )
        )
    assert (409, "pledges_stand") == refusal(staff.patch(f"/sales/{gid}/lots/2", json={"levels": ["5"]}))
    withdrawal = {"reason": "It is repaired."}
    assert (409, "on_the_block") == refusal(staff.post(f"/sales/{gid}/lots/2/withdraw", json=withdrawal))
    for _ in range(3):
        act(staff, gid, "level")
    low = {"act": "level", "seen": staff.json("GET", f"/sales/{gid}/block")["tag"]}
    assert (409, "no_level_left") == refusal(staff.post(f"/sales/{gid}/block", json=low))
    act(staff, gid, "sell")
    assert (409, "pledges_stand") == refusal(staff.post(f"/sales/{gid}/lots/2/withdraw", json=withdrawal))
    assert (409, "not_on_the_block") == refusal(pledged(staff, gid, 20, "100"))
    assert (409, "need_closed") == refusal(staff.post(f"/sales/{gid}/block", json={"act": "undo_pledge", "pledge": 1}))
    assert (409, "need_closed") == refusal(staff.patch(f"/sales/{gid}/lots/2", json={"goal": "5"}))


def test_who_gives_what_is_for_those_who_run_the_sale(house: House, staff: User) -> None:
    """The list of givers and its sheet need `run_sale`; the public block shows paddles where the sale does, and no names."""
    for names, bidders in (("usernames", [None]), ("paddles", ["#12"])):
        gid = gala(staff, names=names)
        pledged(staff, gid, 12)
        public = house.anyone.get(f"/sales/{gid}/block")
        assert bidders == [one["bidder"] for one in public.json()["onBlock"]["need"]["lastPledges"]]
        assert "Guest" not in public.text
        given = staff.json("GET", f"/sales/{gid}/lots/2/pledges")["given"]
        assert [("#12", "Guest 12")] == [(one["pledge"]["bidder"], one["personName"]) for one in given]
        sheet = staff.get(f"/sales/{gid}/pledges.csv").text
        assert "#12,Guest 12,5000" in sheet.replace("'", ""), sheet
        cataloguer = house.staff(Role.CATALOGUER)
        assert 403 == cataloguer.get(f"/sales/{gid}/lots/2/pledges").status_code
        assert 403 == cataloguer.get(f"/sales/{gid}/pledges.csv").status_code
        assert (409, "of_needs") == refusal(staff.get(f"/sales/{gid}/lots/1/pledges"))


def test_an_export_is_imported_again(staff: User) -> None:
    """The catalogue with a fund-a-need is exported readably, and its import changes nothing; a new row adds one."""
    gid = with_lots(staff, 1, kind="live")
    staff.json("POST", f"/sales/{gid}/lots", json=ROOF)
    for language, levels in (
        ("en", "5000.00 / 1000.00 / 500.00 / 100.00"),
        ("de", "5000,00 / 1000,00 / 500,00 / 100,00"),
    ):
        for kind in ("csv", "xlsx"):
            sheet = staff.get(f"/sales/{gid}/catalogue.{kind}?language={language}").content
            assert kind == "xlsx" or levels in sheet.decode("utf-8-sig")
            found = staff.json("POST", f"/sales/{gid}/import", files={"catalogue": ("c", sheet)})
            assert [] == found["rows"], "all are unchanged"
    new = "Lot,Title,Starting price,Levels,Goal\n3,A bus,,900 / 90,5000\n2,A new roof,,4000 / 400,\n"
    found = staff.json("POST", f"/sales/{gid}/import", files={"catalogue": ("c", new.encode())})
    assert ["new", "changed"] == [one["effect"] for one in found["rows"]]
    needs = [one["need"] for one in staff.json("GET", f"/sales/{gid}/lots")["lots"]]
    assert [None, (["4000.000", "400.000"], None), (["900.000", "90.000"], "5000.000")] == [
        one and (one["levels"], one["goal"]) for one in needs
    ]
    for row, code in (
        ("1,Lot 1,10,5 / 1,", "of_auctions"),
        ("2,A new roof,10,,", "kind_stays"),
        ("4,A bus,,1 / 5,", "levels_descending"),
        ("4,A bus,5,,7", "of_needs"),
    ):
        sheet = f"Lot,Title,Starting price,Levels,Goal\n{row}\n".encode()
        assert code in str(staff.post(f"/sales/{gid}/import", files={"catalogue": ("c", sheet)}).json()), row
