"""Members over HTTP: marked by staff, they pay and bear the rates of members from then on, and each paper says so."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import select, update

from saleroom.accounts.domain.rights import Role
from saleroom.settlement.service.members import faults as member_faults
from saleroom.settlement.storage.member_tables import memberships
from saleroom.storage.database import Transaction
from tests.bidding.api.answers import faults, refusal
from tests.fixtures_house import House, User
from tests.settlement.api.test_desk import Settling
from tests.settlement.api.test_merging import Guest, issue

OF_MEMBERS = {"memberPremium": {"tiers": [{"above": "0", "percent": "10"}]}, "memberCommission": {"tiers": []}}


class Clubhouse(Settling):
    """A sale to settle, by a rate card with rates of members: 10 % instead of 25 %, and no commission."""

    def __init__(self, house: House) -> None:
        super().__init__(house)
        [card] = [one for one in self.manager.json("GET", "/rate-cards")["rateCards"] if one["cardName"] == self.gid]
        names = ("premium", "commission", "surcharges", "entryFee", "country", "taxScheme", "goods")
        terms = {name: card[name] for name in names} | OF_MEMBERS
        self.manager.json("PUT", f"/rate-cards/{card['card']}", json=terms)

    def mark(self, who: str, by: User | None = None, **said: Any) -> Any:
        """Mark somebody as a member, or as none."""
        path = who if who.startswith("/") else f"/members/{who}"
        return (by or self.manager).request("PUT", path, json={"isMember": True, **said})

    def premium(self, paddle: int) -> list[tuple[str, bool]]:
        """Return the premium of each lot of a paddle, and whether it is that of members."""
        lines = [line for lot in self.desk(paddle)["settledLots"] for line in lot["bill"]["buyerLines"]]
        return [(line["lineAmount"], line["memberRate"]) for line in lines if line["item"] == "premium"]

    def marks(self) -> list[str]:
        """Return what the check of the house says of the marks."""
        return self.house.write(lambda tx: [*member_faults(tx)])


@pytest.fixture
def club(house: House) -> Clubhouse:
    """A sale with rates of members."""
    return Clubhouse(house)


@pytest.mark.databases("sqlite")
def test_a_member_pays_the_rates_of_members_from_then_on(club: Clubhouse) -> None:
    """A guest with a paddle is marked before the hammer of the second lot: the first one stays as it is, on paper too."""
    guest = Guest(club)
    club.sell(guest.paddle)
    assert [("2.500", False)] == club.premium(guest.paddle)
    marked = club.mark(guest.username).json()
    assert (True, None) == (marked["isMember"], marked["memberUntil"])
    assert marked == club.mark(guest.username).json() == club.manager.json("GET", f"/members/{guest.username}")
    club.sell(guest.paddle)
    assert [("2.500", False), ("1.000", True)] == club.premium(guest.paddle)
    assert club.desk(guest.paddle)["membership"] == marked
    lines = club.cashier.json("GET", f"/documents/{issue(club, guest.paddle)}")["documentLines"]
    assert ["Buyer's premium", "Buyer's premium for members"] == [
        one["lineText"] for one in lines if "premium" in one["lineText"]
    ]
    none = {"isMember": False, "memberSince": None, "memberUntil": None}
    assert none == club.mark(guest.username, isMember=False).json()
    rows = club.cashier.json("GET", f"/sales/{club.gid}/report")["reportLots"]
    assert [False, True, False] == [one["memberRate"] for one in rows]
    assert ([], []) == (club.faults(), club.marks())


@pytest.mark.databases("sqlite")
def test_a_consignor_who_is_a_member_bears_their_commission(club: Clubhouse) -> None:
    """The mark of the consignor counts for what is sold for them, and that of the buyer does not."""
    club.sell(club.bidder())
    path = f"/consignors/{club.code}/membership"
    assert club.mark(path, until="2099-12-31T23:00:00Z").json() == club.manager.json("GET", path)
    club.sell(club.bidder())
    found = club.cashier.json("GET", f"/sales/{club.gid}/statements/{club.code}")["settledLots"]
    assert [["hammer", "commission", "entry"], ["hammer", "entry"]] == [
        [line["item"] for line in lot["bill"]["consignorLines"]] for lot in found
    ]
    [mine] = [one for one in club.manager.json("GET", "/members")["members"] if one["consignor"] == club.code]
    assert ("Erben", "2099-12-31T23:00:00.000000Z", None) == (mine["personName"], mine["memberUntil"], mine["username"])


@pytest.mark.databases("sqlite")
def test_a_lot_of_the_wrong_paddle_has_the_rates_of_the_right_one(club: Clubhouse) -> None:
    """A member's lot goes to somebody who is none, and back: the journal takes each back and puts it right."""
    member, other = Guest(club), Guest(club, 13)
    club.mark(member.username)
    club.sell(member.paddle)
    issue(club, member.paddle)
    for paddle, due in ((other.paddle, "14.880"), (member.paddle, "13.090")):
        body = {"paddle": paddle, "reason": "The wrong paddle."}
        path = f"/sales/{club.gid}/lots/1/correction"
        assert club.cashier.post(path, json=body).is_success
        assert due == club.desk(paddle)["owed"]
    assert "0.000" == club.desk(other.paddle)["owed"]
    assert [("1.000", True)] == club.premium(member.paddle)
    assert [] == club.faults()


@pytest.mark.databases("sqlite")
def test_a_guest_who_is_merged_into_a_member_has_their_rates(club: Clubhouse) -> None:
    """What is on no invoice follows; a lot on an invoice stays as it is, until it is credited."""
    guest, other = Guest(club), Guest(club, 13)
    club.sell(guest.paddle)
    account, into = guest.account()
    club.mark(account.name)
    club.sell(guest.paddle)
    gid = issue(club, guest.paddle)
    club.sell(guest.paddle)
    assert [False] * 3 == [one for _, one in club.premium(guest.paddle)]
    assert guest.merge(into).is_success
    assert [False, False, True] == [one for _, one in club.premium(guest.paddle)], "marked before the third one"
    assert [] == club.faults()
    assert club.cashier.post(f"/documents/{gid}/credit", json={"lines": [], "reason": "Members."}).is_success
    assert [False, True, True] == [one for _, one in club.premium(guest.paddle)], "marked before the second one"
    assert other.paddle and [] == club.faults()


@pytest.mark.databases("sqlite")
def test_those_without_the_right_mark_nobody(club: Clubhouse) -> None:
    """Cashiers mark nobody, clerks no consignor and not themselves; managers mark themselves too."""
    guest, clerk = Guest(club), club.house.staff(Role.CLERK)
    for by in (club.cashier, club.house.newcomer()):
        assert (403, "missing_right") == refusal(club.mark(guest.username, by))
        assert (403, "missing_right") == refusal(by.get("/members"))
    nobody = club.house.client().request("PUT", f"/members/{guest.username}", json={"isMember": True})
    assert (401, "unauthenticated") == refusal(nobody)
    path = f"/consignors/{club.code}/membership"
    assert (403, "missing_right") == refusal(club.mark(path, clerk)) == refusal(clerk.get(path))
    assert (403, "own_membership") == refusal(club.mark(clerk.name, clerk))
    assert club.mark(guest.username, clerk).is_success
    assert club.mark(club.manager.name).is_success


@pytest.mark.databases("sqlite")
def test_what_makes_no_sense_is_refused(club: Clubhouse) -> None:
    """Ends in the past or without a membership, other words, and people and consignors that there are not."""
    guest = Guest(club)
    for said in (
        {"until": "2020-01-01T00:00:00Z"},
        {"isMember": False, "until": "2099-01-01T00:00:00Z"},
        {"until": "soon"},
    ):
        assert {"until"} == faults(club.mark(guest.username, **said)).keys()
    assert {"isMember"} == faults(club.mark(guest.username, isMember="yes")).keys()
    assert (404, "unknown_user") == refusal(club.mark("nobody-here"))
    assert (404, "unknown_consignor") == refusal(club.mark("/consignors/NONE99/membership"))
    assert not club.manager.json("GET", f"/members/{guest.username}")["isMember"]


def test_a_card_without_rates_of_members_leaves_all_as_it_is(house: House) -> None:
    """A mark is no change of what somebody owes, and posts nothing again."""
    settling = Settling(house)
    guest = Guest(settling)
    settling.sell(guest.paddle)
    owed, entries = settling.desk(guest.paddle)["owed"], settling.entries()
    settling.manager.json("PUT", f"/members/{guest.username}", json={"isMember": True})
    settling.sell(guest.paddle)
    assert 2 * float(owed) == float(settling.desk(guest.paddle)["owed"])
    assert entries + 1 == settling.entries()


def test_eight_marks_at_a_time_are_one_membership(club: Clubhouse) -> None:
    """Whatever came in between, they are a member after the last one, and the audit log has each mark."""
    guest = Guest(club)
    with ThreadPoolExecutor(8) as pool:
        answers = [*pool.map(lambda turn: club.mark(guest.username, isMember=turn % 2 == 0).status_code, range(8))]
    assert {200} == {*answers}
    assert club.mark(guest.username).json()["isMember"]
    assert 1 == sum(one["username"] == guest.username for one in club.manager.json("GET", "/members")["members"])
    assert [] == club.marks()


def test_members_are_listed_by_pages(club: Clubhouse) -> None:
    """Each is there once, without those whose membership has ended."""
    guests = [Guest(club, 20 + place) for place in range(3)]
    for one in guests:
        club.mark(one.username)
    club.mark(guests[1].username, isMember=False)
    seen, cursor = [], None
    while True:
        query = {"limit": 1} | ({} if cursor is None else {"cursor": cursor})
        page = club.manager.get("/members", params=query).json()
        seen += [one["username"] for one in page["members"]]
        cursor = page["next"]
        if cursor is None:
            break
    mine = {one.username for one in guests}
    assert [guests[2].username, guests[0].username] == [one for one in seen if one in mine]
    assert len(seen) == len({*seen})


@pytest.mark.databases("sqlite")
def test_a_mark_that_was_changed_behind_the_house_is_found(club: Clubhouse) -> None:
    """Its end, its holder, and a mark that is gone."""
    guest = Guest(club)
    club.mark(guest.username, until="2099-12-31T23:00:00Z")
    changes: list[dict[str, Any]] = [{"until": None}, {"is_member": False, "until": None}]
    for change in changes:

        def spoil(tx: Transaction, change: dict[str, Any] = change) -> list[str]:
            last = tx.execute(select(memberships).order_by(memberships.c.id.desc()).limit(1)).one()
            tx.execute(update(memberships).where(memberships.c.id == last.id).values(**change))
            found = [*member_faults(tx)]
            tx.execute(update(memberships).where(memberships.c.id == last.id).values(is_member=True, until=last.until))
            return found

        assert 1 == len(club.house.write(spoil))
    assert [] == club.marks()
