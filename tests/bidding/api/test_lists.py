"""Lists by page: auctions, bids and the user's own, in order and without gaps while everything changes."""

import base64
import re
from collections.abc import Iterator
from typing import Any

import pytest

from saleroom.accounts.domain.rights import Role
from saleroom.bidding.api.lists import AUCTIONS, BID_ON, BIDS
from saleroom.bidding.web.home import LOTS_PER_PAGE
from tests.bidding.api.answers import after, faults
from tests.fixtures_house import CheckedClient, House
from tests.sealing import cursors_of, plain, sealed

pytestmark = pytest.mark.databases("sqlite")

NEXT = re.compile(r'<([^>]+)>; rel="next"')
FORGED: list[Any] = [
    *(2**64 - 1, -1, 2**63, 2**63 - 1, 2**31, 1.5, True, None, "1", "x", {}, []),
    *(["1", 2**64 - 1, "1"], ["9999999999999999999", 1, "1"], ["1", -1, "1"], ["1", "1", "1"], ["1"], ["", 1, ""]),
    *(["1", 1, "5:3:"], ["1", 1, "0:0:"], ["1", 1, "3:5:9"], ["1", 1, "3:9:8,4"], ["1", 1, "3:9:,"], ["1", 1, ":::"]),
    *(
        ["1", 1, "03:5:"],
        ["1", 1, "3:5:4,4"],
        ["NaN", 1, "1"],
        ["1e3", 1, "1"],
        ["1.000", 1, "1"],
        ["x" * 5000, 1, "1"],
    ),
]
"""Contents of forged cursors, for either list."""


def pages(client: CheckedClient, path: str) -> Iterator[list[dict[str, Any]]]:
    """Yield page after page by `Link`, and check that it agrees with `next`."""
    while path:
        answer = client.get(path)
        assert 200 == answer.status_code, answer.text
        rows, after_it = answer.json().values()
        yield rows
        link = NEXT.fullmatch(answer.headers.get("link", ""))
        assert (after_it is not None) == (link is not None)
        path = link[1] if link is not None else ""
        assert after_it is None or f"cursor={after_it}" in path


def gids(client: CheckedClient, path: str) -> list[str]:
    """Return the gids of a list of auctions, from all its pages."""
    return [row["gid"] for rows in pages(client, path) for row in rows]


def test_a_list_by_page(house: House) -> None:
    """A page has `limit` rows, or 50; `Link` leads on with the same filters until `next` is null."""
    ada = house.newcomer()
    made = [ada.auction() for _ in range(51)]
    path = f"/auctions?author={ada.name}&sort=newest"
    assert [50, 1] == [len(rows) for rows in pages(ada, path)]
    assert [20, 20, 11] == [len(rows) for rows in pages(house.anyone, f"{path}&limit=20")]
    assert made[::-1] == gids(house.anyone, f"{path}&limit=7")
    assert [1] * 51 == [len(rows) for rows in pages(house.anyone, f"{path}&limit=1")]
    assert [51] == [len(rows) for rows in pages(house.anyone, f"{path}&limit=100")]


def test_an_empty_list(house: House) -> None:
    """An empty list is one page without rows and without a next one."""
    for path in ("/me/auctions", "/me/bids", f"/auctions?author={house.newcomer().name}"):
        answer = house.newcomer().get(path)
        assert ([], None) == tuple(answer.json().values())
        assert "link" not in answer.headers


@pytest.mark.databases("sqlite", "postgresql")
def test_the_orders(house: House) -> None:
    """A list is by end (soonest first, then those without, then those over), by price (lowest first), or newest first."""
    ada, bob = house.newcomer(), house.user("bob")
    late = ada.auction(endsAt="2099-01-02T00:00:00Z", startingPrice=30)
    never = ada.auction(startingPrice="99999999999999999.999")
    over = ada.auction(startingPrice="0.001")
    soon = ada.auction(endsAt="2099-01-01T00:00:00Z", startingPrice=4)
    bob.bid(soon, 200)
    ada.delete(f"/auctions/{over}")
    path = f"/auctions?author={ada.name}"
    assert [soon, late, never, over] == gids(bob, path) == gids(bob, f"{path}&sort=ending&limit=1")
    assert [over, late, soon, never] == gids(bob, f"{path}&sort=price") == gids(bob, f"{path}&sort=price&limit=1")
    assert [soon, over, never, late] == gids(bob, f"{path}&sort=newest")


@pytest.mark.databases("sqlite", "postgresql")
def test_filters(house: House) -> None:
    """Filters by status, author in any case, and text in name or description in any case narrow the list together."""
    ada, bob = house.newcomer(), house.user("bob")
    clock = ada.auction(name="Longcase CLOCK", description="Walnut")
    vase = ada.auction(name="Vase 100%", description="Not a clock_face")
    later = ada.auction(name="Later", startsAt="2099-01-01T00:00:00Z")
    gone, sold = ada.auction(name="Gone"), ada.auction(name="Sold", buyNowPrice=20)
    ada.delete(f"/auctions/{gone}")
    bob.post(f"/auctions/{sold}/buy")
    path = f"/auctions?author={ada.name.upper()}&sort=newest"
    assert [vase, clock] == gids(bob, f"{path}&status=open")
    assert [later] == gids(bob, f"{path}&status=scheduled")
    assert [gone] == gids(bob, f"{path}&status=cancelled")
    assert [sold] == gids(bob, f"{path}&status=closed")
    assert [vase, clock] == gids(bob, f"{path}&q=cLoCk")
    assert [clock] == gids(bob, f"{path}&q=walnut&status=open")
    assert [vase] == gids(bob, f"{path}&q=100%25") == gids(bob, f"{path}&q=_")
    assert [] == gids(bob, f"{path}&q=%25%25") == gids(bob, f"{path}&q=%5C") == gids(bob, f"{path}&q=nothing%20such")
    assert [] == gids(bob, "/auctions?author=nobody.at.all")


@pytest.mark.databases("sqlite", "postgresql")
@pytest.mark.parametrize("sort", ["ending", "price", "newest"])
def test_pages_neither_skip_nor_repeat(house: House, sort: str) -> None:
    """While prices, ends and auctions change between two pages, each earlier auction is listed exactly once."""
    ada, bob, cy = house.newcomer(), house.user("bob"), house.user("cy.")
    now = ada.json("GET", "/me")["createdAt"]
    made = [ada.auction(endsAt=after(now, hours=n), startingPrice=10 * n) for n in range(1, 7)]
    seen: list[str] = []
    reading = pages(house.anyone, f"/auctions?author={ada.name}&sort={sort}&limit=2")
    for round_, rows in enumerate(reading):
        seen += [row["gid"] for row in rows]
        bob.bid(made[round_], 500)
        cy.bid(made[-1 - round_], maximum=5)
        ada.patch(f"/auctions/{made[5 - round_]}", json={"endsAt": after(now, hours=90), "startingPrice": 1})
        ada.delete(f"/auctions/{made[3]}")
        ada.auction(startingPrice=1, endsAt=after(now, minutes=90))
    assert sorted(made) == sorted(seen)


def test_the_history_by_page(house: House) -> None:
    """Bids come newest first; a bid in between does not shift the pages."""
    ada, bob, cy = house.user("ada"), house.user("bob"), house.user("cy.")
    gid = ada.auction()
    for n in range(10, 17):
        (bob if n % 2 else cy).bid(gid, n)
    found = []
    for rows in pages(ada, f"/auctions/{gid}/bids?limit=3"):
        found += [row["amount"] for row in rows]
        bob.bid(gid, 100 + len(found))
    assert [f"{n}.000" for n in range(16, 9, -1)] == found


def test_my_auctions(house: House) -> None:
    """GET /me/auctions lists the user's own auctions, newest first, in any state, and nobody else's."""
    ada, bob = house.newcomer(), house.newcomer()
    mine = [ada.auction() for _ in range(3)]
    bob.auction()
    ada.delete(f"/auctions/{mine[0]}")
    ada.post(f"/auctions/{mine[1]}/close", json={})
    assert mine[::-1] == gids(ada, "/me/auctions?limit=2")


def test_my_bids(house: House) -> None:
    """GET /me/bids lists each auction on which the user has bid once: leading or outbid, later won or lost."""
    ada, bob, cy = house.user("ada"), house.newcomer(), house.user("cy.")
    leading, outbid, won, lost, unsold = (ada.auction(reservePrice=reserve) for reserve in (None, None, 10, None, 99))
    for gid in (leading, outbid, won, lost, unsold):
        assert 201 == bob.bid(gid, 10).status_code
    bob.bid(leading, maximum=20)
    cy.bid(leading, 11)
    for gid in (outbid, lost):
        cy.bid(gid, 11)
    for gid in (won, lost, unsold):
        ada.post(f"/auctions/{gid}/close", json={})
    expected = [(unsold, "lost"), (lost, "lost"), (won, "won"), (outbid, "outbid"), (leading, "leading")]
    assert expected == [
        (row["auction"]["gid"], row["standing"]) for rows in pages(bob, "/me/bids?limit=2") for row in rows
    ]


@pytest.mark.parametrize("value", FORGED, ids=lambda value: repr(value)[:30])
def test_forged_cursors_are_refused_or_harmless(house: House, value: Any) -> None:
    """A cursor sealed by another house or not at all is 400; one made with the house's key is 400 too, or harmless."""
    ada, own = house.user("ada"), cursors_of(house)
    lists = {"/auctions": AUCTIONS, "/auctions?sort=price": AUCTIONS, "/auctions?sort=newest": AUCTIONS}
    more = {"/me/auctions": AUCTIONS, "/me/bids": BID_ON, "/": AUCTIONS, f"/auctions/{ada.gid()}/bids": BIDS}
    for path, of in (lists | more).items():
        name = "after" if path == "/" else "cursor"
        query = dict(part.split("=") for part in path.split("?")[1:])
        for made in (plain(value), sealed(of, value)):
            assert 400 == ada.get(path, params={**query, name: made}).status_code
        answer = ada.get(path, params={**query, name: own.write(of.within(query), value)})
        assert answer.status_code in (200, 400), answer.text


@pytest.mark.parametrize("text", ["", "x", "%%%", "\u00fc", "=", "AAAA", "null", "a" * 5000, "..", "W10"])
def test_text_that_is_no_cursor(house: House, text: str) -> None:
    """A cursor without a place of this list is 400."""
    ada = house.user("ada")
    for path in ("/auctions", "/me/auctions", "/me/bids", f"/auctions/{ada.gid()}/bids"):
        assert {"cursor": ["cursor"]} == faults(ada.get(path, params={"cursor": text}))


def test_a_cursor_belongs_to_its_list(house: House) -> None:
    """A cursor does not work in a list of another order, nor a cursor of auctions in a list of bids."""
    ada = house.newcomer()
    ada.auction(), ada.auction()
    given = ada.json("GET", f"/auctions?author={ada.name}&sort=price&limit=1")["next"]
    for path in (
        "/auctions?sort=ending",
        "/auctions?sort=newest",
        f"/auctions/{ada.gid()}/bids?limit=1",
        "/me/bids?limit=1",
    ):
        assert {"cursor": ["cursor"]} == faults(ada.get(f"{path}&cursor={given}"))


def test_a_cursor_belongs_to_its_filter(house: House) -> None:
    """A cursor is refused with another search, author, state, category or order; a default that is sent changes nothing."""
    ada = house.newcomer()
    ada.auction(name="Longcase clock"), ada.auction(name="Longcase clock"), ada.auction(name="Longcase clock")
    asked = f"/auctions?q=longcase&author={ada.name}&limit=1"
    given = ada.json("GET", asked)["next"]
    for other in (
        f"q=chair&author={ada.name}",
        "q=longcase",
        f"author={ada.name}",
        f"q=longcase&author={ada.name}&status=open",
        f"q=longcase&author={ada.name}&category=Clocks",
        f"q=longcase&author={ada.name}&sort=newest",
        "",
    ):
        assert {"cursor": ["cursor"]} == faults(ada.get(f"/auctions?{other}&limit=1&cursor={given}".replace("?&", "?")))
    for same in (asked, f"{asked}&sort=ending", asked.replace("limit=1", "limit=2")):
        assert 200 == ada.get(f"{same}&cursor={given}").status_code


def test_cursors_of_other_lists_belong_to_their_filters(house: House) -> None:
    """So it is in the lists of users and of acts, and on the home page."""
    owner, ada, _ = house.staff(Role.OWNER), house.newcomer(), house.newcomer()
    for _ in range(2):
        owner.json("POST", f"/staff/users/{ada.name}/sanctions", json={"kind": "warning", "reason": "Be kind."})
    for path, first, other in (
        ("/staff/users?limit=1", "&role=member", "&role=clerk"),
        ("/staff/users?limit=1", "", "&q=a"),
        ("/staff/audit?limit=1", "", f"&user={owner.name}"),
    ):
        given = owner.json("GET", path + first)["next"]
        assert {"cursor": ["cursor"]} == faults(owner.get(f"{path}{other}&cursor={given}"))
        assert 200 == owner.get(f"{path}{first}&cursor={given}").status_code
    for _ in range(LOTS_PER_PAGE + 1):
        ada.auction(name="Longcase clock")
    page = house.anyone.get(f"/?q=longcase&author={ada.name}").text
    [given] = re.findall(rf'href="/\?q=longcase&amp;author={ada.name}&amp;after=([\w-]+)"', page)
    assert 200 == house.anyone.get(f"/?q=longcase&author={ada.name}&after={given}").status_code
    assert 400 == house.anyone.get(f"/?q=longcase&after={given}").status_code


def test_a_cursor_tells_nothing(house: House) -> None:
    """Two cursors of one place have only their length in common, and all cursors of the house have that length."""
    ada, bob = house.newcomer(), house.newcomer()
    gid = ada.auction()
    ada.auction()
    for amount in (10, 20):
        bob.bid(gid, amount), house.user("cy.").bid(gid, amount + 5)
    paths = (f"/auctions?author={ada.name}", "/auctions?sort=price", f"/auctions/{gid}/bids")
    given = [ada.json("GET", path, params={"limit": 1})["next"] for path in paths for _ in range(2)]
    assert 1 == len({len(one) for one in given})
    assert 6 == len({one[:12] for one in given})
    for one in given:
        raw = base64.urlsafe_b64decode(one + "=" * (-len(one) % 4))
        assert 128 < len(set(raw)), "it is encrypted"


def test_lists_tell_caches_what_they_depend_on(house: House) -> None:
    """A cache must ask before it reuses a list, and keeps one for each `Authorization`."""
    answer = house.user("ada").get("/auctions?limit=1")
    assert ("no-cache", "Authorization") == (answer.headers["cache-control"], answer.headers["vary"])
