"""Photos in the seller's form, sent without scripts and with them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import httpx
import pytest

from tests.bidding.web.seller import HOSTILE, Come, preview, publish
from tests.fixtures_house import ServeHouse, User
from tests.site.markup import Page
from tests.site.visitor import Visitor, picture

pytestmark = pytest.mark.databases("sqlite")


def test_photos_come_with_the_form(come: Come, seller: User) -> None:
    """Without scripts the files are sent with the form, shown in the preview, and put on the lot in order."""
    visitor = come()
    files = [("one.jpg", picture("red")), ("two.png", picture("blue", kind="PNG"))]
    shown = preview(visitor, files=files)
    ids = [e["value"] for e in shown.all("input", name="photo")]
    assert 2 == len(ids) == len(shown.all("img", class_="photo"))
    gid = publish(visitor, shown)
    assert ids == [one["id"] for one in seller.json("GET", f"/auctions/{gid}/photos")["photos"]]


def test_photos_are_moved_and_removed(come: Come) -> None:
    """The buttons at a photo move it earlier or later, or remove it; the first cannot go earlier, the last not later."""
    visitor = come()
    form = visitor.sent(visitor.page("/sell"), "/sell", "rows", files=[(f"{n}.jpg", picture()) for n in "abc"])
    a, b, c = (e["value"] for e in form.all("input", name="photo"))
    for do, expected in [
        (f"later {a}", [b, a, c]),
        (f"earlier {c}", [b, c, a]),
        (f"earlier {b}", [b, c, a]),
        (f"later {a}", [b, c, a]),
        (f"remove {c}", [b, a]),
    ]:
        form = visitor.sent(form, "/sell", do)
        assert expected == [e["value"] for e in form.all("input", name="photo")]


def test_a_bad_file_is_refused_by_name_and_the_others_stay(come: Come) -> None:
    """A file that is no picture is refused by its name; the other pictures and all fields are kept."""
    files = [("good.jpg", picture()), (f"{HOSTILE}.jpg", b"%PDF-1.4"), ("cut.jpg", picture()[:300])]
    form = preview(come(), files=files, name="Clock with photos")
    assert 400 == form.status
    refused = [e.text for e in form.all("li", class_="refused")]
    assert 2 == len(refused)
    assert "This is not a picture." in refused[0]
    assert "<script>alert(1)</script>" in refused[0]
    assert refused[1].startswith("cut.jpg: ")
    summary = form.all("a", href="#photos")
    assert ["2 photos were not added."] == [e.text for e in summary]
    assert 1 == len(form.all("input", name="photo"))
    assert "Clock with photos" == form.one("input", name="name")["value"]
    assert all("src" in e.attributes for e in form.all("script"))


def test_no_more_than_twelve_photos(come: Come) -> None:
    """The thirteenth photo is refused by its name, and twelve stay."""
    small = picture(size=(40, 30))
    form = preview(come(), files=[(f"{number}.jpg", small) for number in range(1, 14)])
    assert 12 == len(form.all("input", name="photo"))
    assert "13.jpg: A lot has at most 12 photos." == form.one("li", class_="refused").text


def test_the_token_of_a_form_with_files_is_its_first_field(come: Come, seller: User) -> None:
    """The guard reads a form with files only up to its first field, so that must be the token."""
    visitor, gid = come(), seller.auction()
    for page in (visitor.page("/sell"), visitor.page(f"/sell/{gid}"), preview(visitor)):
        named = [e for e in page.elements if e.tag == "form" or "name" in e.attributes]
        firsts = [
            field["name"]
            for form, field in pairwise(named)
            if form.tag == "form" and "multipart/form-data" == form.attributes.get("enctype")
        ]
        assert ["csrfToken"] == firsts


def test_a_photo_that_goes_up_by_itself_comes_back_as_the_form_has_it(come: Come) -> None:
    """The answer to a script's upload is the photo's row, or why it is refused; a stranger's photo is refused."""
    visitor = come()
    token = visitor.page("/sell").all("input", name="csrfToken")[0]["value"]

    def upload(data: bytes, by: Visitor = visitor) -> httpx.Response:
        parts: list[Any] = [("csrfToken", (None, token)), ("files", ("a.jpg", data, "image/jpeg"))]
        return by.http.post("/sell/photos", files=parts)

    good, bad = Page(upload(picture())), Page(upload(b"nothing"))
    assert (200, 400) == (good.status, bad.status)
    [photo] = good.all("img")
    assert 200 == visitor.http.get(photo["src"]).status_code
    assert "a.jpg: This is not a picture." in bad.one("li", class_="refused").text
    stranger = come(None)
    stranger.http.cookies = visitor.http.cookies
    stranger.http.cookies.delete("saleroom_session")
    assert 401 == upload(picture(), stranger).status_code


def test_a_stranger_sends_little(serve_house: ServeHouse) -> None:
    """The house reads no more from a stranger than the texts and one photo; it reads all five files of a seller."""
    house = serve_house(photo_bytes_max=100_000)
    files = [("files", (f"{number}.jpg", b"x" * 90_000, "image/jpeg")) for number in range(5)]
    answers = [
        Visitor(house, user).http.post("/sell", files=files, headers={"X-Requested-With": "x"})
        for user in (None, house.user("ada"))
    ]
    assert 413 == answers[0].status_code
    assert 5 == len(Page(answers[1]).all("li", class_="refused"))
