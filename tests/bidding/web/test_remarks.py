"""Remarks on the pages: added by the seller of a lot with bids, read by everybody before they bid."""

from __future__ import annotations

import pytest

from tests.bidding.web.seller import HOSTILE, Come
from tests.fixtures_house import House, User

pytestmark = pytest.mark.databases("sqlite")


def test_a_remark_is_added_and_read(come: Come, seller: User, house: House) -> None:
    """It stands with its date below the description, as text; the form says that it cannot be changed."""
    gid = seller.auction(startingPrice="10")
    visitor = come()
    assert [] == [e for e in visitor.page(f"/sell/{gid}").all("form") if e["action"].endswith("/remark")]
    house.user("grace").bid(gid, amount="10")
    form = visitor.page(f"/sell/{gid}")
    assert "A remark cannot be changed or deleted." in form.main
    answer = visitor.send(form, f"/sell/{gid}/remark", text=f"The key is missing.\r\n{HOSTILE}")
    assert (303, f"/lots/{gid}#remarks") == (answer.status_code, answer.headers["location"])
    visitor.send(form, f"/sell/{gid}/remark", text=f"The key is missing.\r\n{HOSTILE}")
    for page in (come(None).page(f"/lots/{gid}"), visitor.page(f"/sell/{gid}")):
        assert 1 == page.main.count("The key is missing.")
        assert HOSTILE in page.main
        assert [] == [e for e in page.all("img") if "onerror" in e.attributes]
    [remark] = seller.json("GET", f"/auctions/{gid}/remarks")["remarks"]
    assert f"The key is missing.\n{HOSTILE}" == remark["text"]
    assert remark["writtenAt"] in [e.attributes.get("datetime") for e in come(None).page(f"/lots/{gid}").all("time")]


def test_a_bidder_sees_it_before_confirming(come: Come, seller: User, house: House) -> None:
    """The step before a bid brings remarks that were added since the page was opened."""
    gid = seller.auction(startingPrice="10")
    bidder = come(house.user("grace"))
    opened = bidder.page(f"/lots/{gid}")
    seller.json("POST", f"/auctions/{gid}/remarks", json={"text": "The key is missing."})
    bidder.http.headers["HX-Request"] = "true"
    assert "The key is missing." in bidder.send(opened, f"/lots/{gid}/bid", amount="10").text


def test_a_fault_of_a_form_that_is_gone_is_said_above(come: Come, seller: User, house: House) -> None:
    """The lot ends while the seller writes: the page has no field any more at which it could say what is wrong."""
    gid = seller.auction()
    house.newcomer().bid(gid, "10")
    visitor = come()
    form = visitor.page(f"/sell/{gid}")
    assert [] == visitor.sent(form, f"/sell/{gid}/remark", text="").all("p", role="alert"), "said at the field"
    assert visitor.sent(form, f"/sell/{gid}/close", "now").status == 200
    for action, sent in (("remark", {"text": ""}), ("close", {"endsAt": "soon", "do": "announce"})):
        refused = visitor.sent(form, f"/sell/{gid}/{action}", **sent)
        assert (400, True) == (refused.status, bool(refused.one("p", role="alert").text))


def test_a_remark_that_is_refused_is_not_lost(come: Come, seller: User, house: House) -> None:
    """A text that is too long or empty comes back with its fault at the field. Nobody else adds one."""
    gid = seller.auction(startingPrice="10")
    house.user("grace").bid(gid, amount="10")
    visitor = come()
    form = visitor.page(f"/sell/{gid}")
    for text in ("x" * 2001, " "):
        again = visitor.sent(form, f"/sell/{gid}/remark", text=text)
        assert (400, text) == (again.status, again.one("textarea", name="text").raw.removeprefix("\n"))
        assert again.one("small", id="remark-fault").text
    other = come(house.newcomer())
    token = other.page("/sell").all("input", name="csrfToken")[0]["value"]
    assert 403 == other.send(form, f"/sell/{gid}/remark", text="Theirs", csrfToken=token).status_code
    assert [] == seller.json("GET", f"/auctions/{gid}/remarks")["remarks"]
