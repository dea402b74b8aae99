"""Forms of readers who are no longer logged in: the way to the form to log in, and back."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from starlette.routing import Route

from saleroom.site.site import SEGMENTS_MAX, Site
from tests.fixtures_house import House
from tests.page_forms import FORMS, WITH_FILES
from tests.page_routes import methods, page_routes
from tests.site.markup import Page
from tests.site.visitor import Visitor, picture

pytestmark = pytest.mark.databases("sqlite")

NAMES = {"draft": "AAAAAAAAAAAA", "username": "nobody", "code": "K1", "label": "1"}
FOR_ANYBODY = {
    "/address/confirm",
    "/join",
    "/lots/{gid}/receipts",
    "/notices/unsubscribe",
    "/password/forgotten",
    "/password/new",
    "/register",
    "/session",
    "/session/code",
    "/session/end",
    "/session/passkey",
}
"""The forms that need nobody who is logged in."""
BY_SCRIPTS = {"/mine/notices/browsers", "/sales/{gid}/console", "/sales/{gid}/entry"}
"""Scripts send these: they take the bare refusal, and keep what they sent."""


def ended(house: House) -> Visitor:
    """Return a visitor whose session has ended while a page was open."""
    user = house.newcomer()
    visitor = Visitor(house, user)
    user.delete("/logout")
    return visitor


def opens(path: str) -> bool:
    """Whether a browser can open a page at a path."""
    found: list[Route] = [route for route in page_routes() if route.path_regex.match(path)]
    return bool(found) and "GET" in methods(found[0])


@pytest.mark.parametrize(
    "path", [one.path for one in page_routes() if "POST" in methods(one) and one.path not in FOR_ANYBODY | BY_SCRIPTS]
)
def test_the_way_back_from_the_login_opens_a_page(sqlite_house: House, path: str) -> None:
    """A form of a session that has ended leads to the form to log in, and from there to a page, not to a bare refusal."""
    visitor = ended(sqlite_house)
    token = visitor.page("/login").one("input", name="csrfToken")["value"]
    row = f"POST {path}"
    form = {"csrfToken": token, **FORMS.get(row, {})}
    names = {**NAMES, "gid": sqlite_house.user("ada").gid()}
    files = [("files", ("a.jpg", picture(), "image/jpeg"))] if row in WITH_FILES else None
    answer = visitor.http.post(re.sub(r"{(\w+)}", lambda one: names.get(one[1], "1"), path), data=form, files=files)
    # The form of a lot is shown again with a link, as it has much in it. All others lead to the form to log in.
    login = answer.headers.get("location") or next(one for one in Page(answer).links if one.startswith("/login?"))
    assert answer.status_code in ((303, 401) if path.startswith("/sell") else (303,))
    back = urlsplit(parse_qs(urlsplit(login).query)["next"][0])
    assert login.startswith("/login?")
    assert opens(back.path), back.path


@pytest.mark.parametrize(
    ("came_from", "back"),
    [
        ("/admin/desk/{gid}?buyer=12", "/admin/desk/{gid}?buyer=12"),
        ("/admin/desk/{gid}/payments", "/admin/desk/{gid}"),
        ("", "/admin/desk/{gid}"),
    ],
)
def test_the_login_leads_back_to_the_page_of_the_form(sqlite_house: House, came_from: str, back: str) -> None:
    """The way back has the query of the page the form was on. After a refusal that page stood at the form's own address."""
    gid = sqlite_house.user("ada").gid()
    visitor, path = ended(sqlite_house), f"/admin/desk/{gid}/payments"
    token = visitor.page("/login").one("input", name="csrfToken")["value"]
    referer = {"Referer": sqlite_house.base + came_from.format(gid=gid)} if came_from else {}
    answer = visitor.http.post(path, data={"csrfToken": token, "buyer": "12", "cash": "10"}, headers=referer)
    assert 303 == answer.status_code
    assert [back.format(gid=gid)] == parse_qs(urlsplit(answer.headers["location"]).query)["next"]


def test_the_language_of_a_refused_form_is_chosen(sqlite_house: House) -> None:
    """On a refused form, another language leads to the page of the form, although the form has an address of its own."""
    user = sqlite_house.newcomer()
    visitor = Visitor(sqlite_house, user, Referer=f"{sqlite_house.base}/mine/sessions/end-all")
    refused = visitor.sent(visitor.page("/mine/sessions"), "/mine/sessions/end-all", password="")
    assert 400 == refused.status
    assert "/language/de?next=/mine/sessions" in refused.links


def test_a_long_way_back_costs_few_looks(sqlite_house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """A header with thousands of segments is not compared with all routes at each of them."""
    looks: list[str] = []
    opens_there = Site._opens

    def counted(site: Site, path: str) -> bool:
        looks.append(path)
        return opens_there(site, path)

    monkeypatch.setattr(Site, "_opens", counted)
    visitor = ended(sqlite_house)
    token = visitor.page("/login").one("input", name="csrfToken")["value"]
    referer = {"Referer": f"{sqlite_house.base}/mine{'/a' * 3_000}"}
    answer = visitor.http.post("/mine/sessions/end-all", data={"csrfToken": token}, headers=referer)
    assert "/login?next=/mine" == answer.headers["location"]
    assert len(looks) <= SEGMENTS_MAX + 1
