"""The page of access tokens."""

from __future__ import annotations

import pytest

from tests.bidding.web.seller import Come
from tests.fixtures_house import PASSWORD, House, User
from tests.site.markup import Page

PATH = "/mine/access-tokens"
ROBOT = {"name": "Robot <b>", "scope-read": "yes", "scope-bid": "yes", "days": "7", "password": PASSWORD}


@pytest.fixture
def house(sqlite_house: House) -> House:
    """A house on SQLite: differences between the databases are tested below the pages."""
    return sqlite_house


def test_a_token_is_made_and_revoked(come: Come, house: House, seller: User) -> None:
    """The form makes a token and shows it once, not to be stored; the list has its name, scopes and end, and revokes it."""
    visitor = come()
    assert PATH in visitor.page("/mine/security").links
    answer = visitor.send(visitor.page(PATH), PATH, **ROBOT)
    assert (200, "no-store") == (answer.status_code, answer.headers["cache-control"])
    value = Page(answer).one("code", class_="secret").text
    assert {"read", "bid"} == {*seller.json("GET", "/me/access-tokens")["accessTokens"][0]["scopes"]}
    assert 200 == house.anyone.get("/me", headers={"Authorization": f"Bearer {value}"}).status_code
    listed = visitor.page(PATH)
    assert value not in listed.main and "Robot <b>" in listed.main and "not used yet" in listed.main
    assert 303 == visitor.send(listed, f"{PATH}/revoke").status_code
    assert 401 == house.anyone.get("/me", headers={"Authorization": f"Bearer {value}"}).status_code
    assert "Robot" not in visitor.page(PATH).main


def test_a_form_that_is_sent_twice_makes_one_token(come: Come, seller: User) -> None:
    """A double click or a reload makes no token that nobody sees; the page says what to do."""
    visitor = come()
    page = visitor.page(PATH)
    assert 200 == visitor.send(page, PATH, **ROBOT).status_code
    again = visitor.send(page, PATH, **ROBOT)
    assert 400 == again.status_code and "revoke it first" in Page(again).one("small", id="name-help").text
    assert 1 == len(seller.json("GET", "/me/access-tokens")["accessTokens"])
    api = {"label": ROBOT["name"], "scopes": ["read"], "days": 7, "password": PASSWORD}
    assert 201 == seller.post("/me/access-tokens", json=api).status_code, "a program may have two of a name"


def test_a_token_of_a_program_opens_no_page(house: House, come: Come, seller: User) -> None:
    """As the cookie of a session it counts for nothing, as if nobody were logged in."""
    visitor = come()
    value = Page(visitor.send(visitor.page(PATH), PATH, **ROBOT)).one("code", class_="secret").text
    for cookie, status in ((seller.token, 200), (value, 303)):
        headers = {"Cookie": f"saleroom_session={cookie}"}
        assert status == house.anyone.get("/mine", headers=headers, follow_redirects=False).status_code


def test_faults_stand_beside_their_fields(come: Come, seller: User) -> None:
    """All faults are shown at once, and what was chosen is kept, but never the password."""
    visitor = come()
    answer = visitor.send(visitor.page(PATH), PATH, **{**ROBOT, "name": "", "days": "9999", "password": ""})
    page = Page(answer)
    assert 400 == answer.status_code and 3 == len(page.all("small", class_="fault"))
    assert "checked" in page.one("input", name="scope-bid").attributes
    none = visitor.send(visitor.page(PATH), PATH, name="Robot", days="7", password="wrong horse")
    assert 400 == none.status_code and "scopes-help" in none.text and "wrong horse" not in none.text
    wrong = visitor.send(visitor.page(PATH), PATH, **{**ROBOT, "password": "wrong horse"})
    assert 403 == wrong.status_code and "Nothing was changed" in Page(wrong).one("small", id="password-help").text
    assert [] == seller.json("GET", "/me/access-tokens")["accessTokens"]


def test_members_are_offered_no_staff_scope(come: Come) -> None:
    """The scope of staff is offered to staff alone."""
    names = {box["name"] for box in come().page(PATH).all("input", type="checkbox")}
    assert {"scope-read", "scope-bid", "scope-sell"} == names


def test_a_session_that_has_ended(come: Come, seller: User) -> None:
    """Anyone who is no longer logged in is sent to the form, which leads back."""
    visitor = come()
    page = visitor.page(PATH)
    seller.delete("/logout")
    for action in (PATH, f"{PATH}/revoke"):
        answer = visitor.http.post(
            action, data={**ROBOT, "id": "1", "csrfToken": page.all("input", name="csrfToken")[0]["value"]}
        )
        assert (303, f"/login?next={PATH}") == (answer.status_code, answer.headers["location"])
    assert 303 == visitor.http.get(PATH).status_code
