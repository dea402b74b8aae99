"""Addresses: a lot, a consignor and a user are found by every spelling that a body takes."""

from saleroom.accounts.domain.rights import Role
from tests.fixtures_house import House
from tests.settlement.api.test_desk import Settling

NAMED = ("label", "code", "buyer", "username")
"""The parameters of paths that people type, and so type in several ways."""


def test_addresses_take_each_spelling_that_bodies_take(house: House) -> None:
    """Small and capital letters and leading zeros make no difference, at every address that can be read."""
    settling = Settling(house, 1)
    owner, gid = house.staff(Role.OWNER), settling.gid
    label = settling.sale.staff.json(
        "POST", f"/sales/{gid}/lots", json={"label": "12a", "name": "Jug", "startingPrice": "5"}
    )
    assert "12A" == label["label"]
    bidder = settling.sale.bidder()
    as_kept = {"label": "12A", "code": settling.code, "buyer": bidder.name, "username": bidder.name, "gid": gid}
    as_typed = {
        "label": "012a",
        "code": settling.code.lower(),
        "buyer": bidder.name.upper(),
        "username": bidder.name.upper(),
    }
    paths = [
        path
        for path, methods in owner.json("GET", "/openapi.json")["paths"].items()
        if "get" in methods and any(f"{{{name}}}" in path for name in NAMED)
    ]
    assert {name for name in NAMED for path in paths if f"{{{name}}}" in path} == set(NAMED)
    for path in paths:
        kept, typed = (owner.request("GET", path.format(**(as_kept | said))) for said in ({}, as_typed))
        assert (kept.status_code, kept.content) == (typed.status_code, typed.content), path
        assert "unknown_" not in typed.text or "/rates" in path, (path, typed.text)
