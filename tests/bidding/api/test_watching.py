"""The watch list over HTTP."""

import pytest

from tests.bidding.api.answers import refusal
from tests.fixtures_house import House

pytestmark = pytest.mark.databases("sqlite")


def test_watching(house: House) -> None:
    """PUT adds an auction to the watch list and DELETE removes it, 204 each time; the list shows the auction as it is now."""
    ada, bob = house.newcomer(), house.newcomer()
    gids = [ada.auction() for _ in range(3)]
    for gid in (*gids, gids[0]):
        answer = bob.request("PUT", f"/auctions/{gid}/watch")
        assert (204, b"") == (answer.status_code, answer.content)
    assert 201 == bob.bid(gids[1], 10).status_code
    for _ in range(2):
        assert 204 == bob.delete(f"/auctions/{gids[0]}/watch").status_code
    listed = bob.json("GET", "/me/watching")
    assert ([gids[2], gids[1]], None) == ([one["gid"] for one in listed["auctions"]], listed["next"])
    assert "10.000" == listed["auctions"][1]["currentBid"]
    assert [] == ada.json("GET", "/me/watching")["auctions"]


def test_a_list_has_pages(house: House) -> None:
    """The list has pages, by `next` and by `Link`."""
    ada = house.newcomer()
    gids = [ada.auction() for _ in range(5)]
    for gid in gids:
        ada.request("PUT", f"/auctions/{gid}/watch")
    found, answer = [], ada.get("/me/watching", params={"limit": 2})
    while True:
        found += [one["gid"] for one in answer.json()["auctions"]]
        if answer.json()["next"] is None:
            break
        by_link = ada.get(answer.links["next"]["url"])
        answer = ada.get("/me/watching", params={"limit": 2, "cursor": answer.json()["next"]})
        assert by_link.json()["auctions"] == answer.json()["auctions"]
    assert gids[::-1] == found


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_an_unknown_auction_is_404(house: House, method: str) -> None:
    """An unknown auction cannot be watched."""
    assert (404, "unknown_auction") == refusal(house.user("ada").request(method, "/auctions/unknown/watch"))
