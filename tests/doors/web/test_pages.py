"""The page of a lot, and what an error looks like below people's paths."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import timedelta
from typing import Any

import httpx
import pytest

from tests.doors.web.markup import Page
from tests.fixtures_database import FakeClock
from tests.fixtures_house import House
from tests.needs import need

HOSTILE = """</title><script>alert(1)</script><img src=x onerror="alert(1)">'"{{ 7*7 }}&amp;"""
PAGES = ("/", "/login", "/register", "/docs", "/lots/none")


def page(house: House, path: str, **headers: str) -> Page:
    """Return a page as a person without a session sees it."""
    return Page(house.stranger.get(path, headers=headers))


def at(clock: FakeClock, **later: float) -> str:
    """Return an instant of the wire, this much later than now."""
    return (clock.now + timedelta(**later)).isoformat()


def shell(command: str, token: str = "") -> Any:
    """Run a command of a page in a shell, with TOKEN set, and return the JSON that it prints."""
    shown = subprocess.run(
        [need("bash"), "-c", command],
        env={"PATH": os.environ["PATH"], "TOKEN": token},
        capture_output=True,
        check=True,
        timeout=20,
    )
    return json.loads(shown.stdout)


@pytest.mark.parametrize("gid", ["none", "%00", "..%2fsecret", "a" * 300, "%F0%9F%92%A9", "%0a", "a%0a", "';--", "%ff"])
def test_an_unknown_lot_is_a_page_of_its_own(house: House, gid: str) -> None:
    """No lot of this address: 404, as a page that leads home."""
    missing = Page(httpx.get(f"{house.base}/lots/{gid}"))
    assert 404 == missing.status
    assert "/" in missing.links


def test_what_people_write_is_text(clocked_house: House) -> None:
    """Markup in a name or a description is shown as it was written and makes no element, on home and on the lot."""
    gid = clocked_house.user("ada").auction(name=HOSTILE, description=HOSTILE)
    lot, home = page(clocked_house, f"/lots/{gid}"), page(clocked_house, "/")
    assert (HOSTILE, HOSTILE) == (lot.heading, lot.one("p", class_="description").raw)
    assert HOSTILE == home.one("h2").text
    for shown in (lot, home):
        assert [] == [e for e in shown.all("script") if not e["src"].startswith("/assets/")]
        assert {"/assets/"} == {image["src"][:8] for image in shown.all("img")}


@pytest.mark.parametrize("path", PAGES)
def test_no_page_has_inline_script_or_style(house: House, path: str) -> None:
    """Each page keeps to the strict policy: no inline script, style or handler, nothing from another host."""
    shown = page(house, path)
    assert [] == shown.all("style")
    for element in shown.elements:
        assert not [name for name in element.attributes if name == "style" or name.startswith("on")]
        assert element.tag != "script" or ("" == element.text and element["src"])
        for name in ("src", "href", "action"):
            assert element.attributes.get(name, "/")[:1] in "/#" and element.attributes.get(name, "/")[:2] != "//"


@pytest.mark.parametrize("path", PAGES)
def test_every_asset_of_a_page_is_there_for_good(house: House, path: str) -> None:
    """Pages link their assets by hashed names, and each is there and may be kept forever."""
    shown = page(house, path)
    linked = [e.attributes.get("src") or e["href"] for e in shown.elements if e.tag in ("script", "img", "link")]
    assert linked
    for url in linked:
        response = house.stranger.get(url)
        assert (200, "public, max-age=31536000, immutable") == (response.status_code, response.headers["cache-control"])


@pytest.mark.parametrize("path", PAGES)
def test_a_page_has_its_landmarks(house: House, path: str) -> None:
    """Each page says its language, has a title, one main part that the skip link leads to, and says that times are UTC."""
    shown = page(house, path)
    assert "en-GB" == shown.one("html")["lang"]
    assert shown.one("title").text.endswith(" · Saleroom")
    assert "#main" == shown.all("a")[0]["href"]
    assert ["div" if path == "/docs" else "main"] == [e.tag for e in shown.elements if e.attributes.get("id") == "main"]
    assert "All times are in UTC." in shown.one("footer").text


def test_pages_are_for_one_pair_of_eyes(house: House) -> None:
    """A page shows who is logged in, so no shared cache may keep it."""
    response = house.stranger.get("/")
    assert ("private, no-cache", "Cookie, Accept-Language") == (response.headers["cache-control"], response.headers["vary"])


def test_head_is_get_without_the_body(house: House) -> None:
    """HEAD on a page has GET's status and type."""
    head = house.stranger.head("/")
    assert (200, "text/html; charset=utf-8", b"") == (head.status_code, head.headers["content-type"], head.content)


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("POST", "/", "GET, HEAD"),
        ("DELETE", "/lots/none", "GET, HEAD"),
        ("GET", "/session", "POST"),
        ("GET", "/session/end", "POST"),
        ("PUT", "/register", "GET, HEAD, POST"),
        ("POST", "/docs", "GET, HEAD"),
    ],
)
def test_other_methods_get_a_page(house: House, method: str, path: str, allow: str) -> None:
    """Below people's paths, 405 is a page and says which methods there are."""
    response = house.anyone.request(method, path)
    assert (405, allow) == (response.status_code, response.headers["allow"])
    assert "This is not the way in" == Page(response).heading


def test_the_login_of_the_api_stays_the_apis(house: House) -> None:
    """GET /login is the form; every other method there speaks JSON."""
    assert 200 == page(house, "/login").status
    response = house.anyone.post("/login", json={})
    assert (400, "application/json") == (response.status_code, response.headers["content-type"])
    assert "application/json" == house.anyone.request("PUT", "/login").headers["content-type"]
