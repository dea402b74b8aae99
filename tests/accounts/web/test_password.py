"""The form to change the password."""

from __future__ import annotations

import httpx
import pytest

from tests.bidding.web.seller import Come
from tests.fixtures_house import PASSWORD, House, User, without_delay
from tests.rows import each_of
from tests.site.markup import Page
from tests.site.visitor import Visitor

NEW = "another battery staple"
PATH = "/mine/password"


@pytest.fixture
def house(sqlite_house: House) -> House:
    """A house on SQLite: differences between the databases are tested below the pages."""
    return sqlite_house


def change(visitor: Visitor, current: str = PASSWORD, new: str = NEW) -> httpx.Response:
    """Open the form, fill it in and send it."""
    return visitor.send(visitor.page(PATH), PATH, currentPassword=current, newPassword=new)


def test_another_password(come: Come, house: House, seller: User) -> None:
    """The page reports the change: the other devices are logged out, this one is not, and the new password works."""
    visitor, other = come(), come(house.log_in(seller.name))
    assert PATH in visitor.page("/mine/sessions").links
    changed = change(visitor)
    shown = Page(changed)
    assert (200, "Your password has been changed") == (changed.status_code, shown.one("h2").text)
    assert "All other devices were logged out" in shown.one("p", class_="card").text
    assert "/mine/sessions" in shown.links
    assert 1 == len(seller.json("GET", "/me/sessions")["sessions"])
    assert 303 == other.http.get("/mine").status_code
    for password, status in ((PASSWORD, 422), (NEW, 200)):
        answer = house.anyone.post("/login", json={"username": seller.name, "password": password})
        assert status == answer.status_code


def test_password_managers_understand_it(come: Come, seller: User) -> None:
    """Each field states its purpose, the form its user, and the new password its minimum length. None has a maximum."""
    form = come().page(PATH)
    fields = [(e["name"], e["autocomplete"]) for e in form.all("input") if "autocomplete" in e.attributes]
    assert [
        ("username", "username"),
        ("currentPassword", "current-password"),
        ("newPassword", "new-password"),
    ] == fields
    assert seller.name == form.one("input", name="username")["value"]
    assert "8" == form.one("input", id="newPassword")["minlength"]
    assert [] == [e for e in form.all("input") if "maxlength" in e.attributes]


@each_of(
    {
        "current": "wrong password",
        "new": NEW,
        "status": 403,
        "messages": {"currentPassword": "This is not your current password. Nothing was changed."},
    },
    {
        "current": PASSWORD,
        "new": "short",
        "status": 400,
        "messages": {"newPassword": "The password must have 8 to 256 characters."},
    },
    {
        "current": PASSWORD,
        "new": PASSWORD,
        "status": 400,
        "messages": {"newPassword": "That is your password already. Choose another one."},
    },
    {
        "current": "",
        "new": "",
        "status": 400,
        "messages": {
            "currentPassword": "Please fill this in.",
            "newPassword": "The password must have 8 to 256 characters.",
        },
    },
)
def test_faults_are_told_at_their_field(
    come: Come, house: House, current: str, new: str, status: int, messages: dict[str, str]
) -> None:
    """All faults come at once, the focus is at a faulty field, and no password comes back."""
    user = house.newcomer()
    answer = change(come(user), current, new)
    form = Page(answer)
    assert status == answer.status_code
    wrong = form.all("input", **{"aria-invalid": "true"})
    assert messages == {e["name"]: form.one("small", id=e["aria-describedby"]).text for e in wrong}
    assert all("autofocus" in e.attributes for e in wrong)
    assert "Please check the marked fields." in form.one("p", role="alert").text
    assert ["", ""] == [e["value"] for e in form.all("input", type="password")]
    assert 200 == house.anyone.post("/login", json={"username": user.name, "password": PASSWORD}).status_code


def test_too_many_tries_wait(come: Come) -> None:
    """After five failures the form says how long to wait, with 429 and Retry-After."""
    visitor = come()
    assert [403] * 5 == [change(visitor, "wrong password").status_code for _ in range(5)]
    answer = without_delay(lambda: change(visitor, "wrong password"))
    assert 429 == answer.status_code
    assert f"Try again in {answer.headers['retry-after']} second" in Page(answer).one("p", role="alert").text


def test_it_speaks_german(come: Come) -> None:
    """The form, its faults and its success are in the reader's language."""
    visitor = come(**{"Accept-Language": "de"})
    assert "nicht Ihr aktuelles Passwort" in Page(change(visitor, "verkehrt")).one("small", class_="fault").text
    assert "Ihr Passwort wurde geändert" == Page(change(visitor)).one("h2").text


def test_the_form_needs_a_login(come: Come, house: House) -> None:
    """A stranger is led to the login and back. So is a user who is logged out while the form is open."""
    to_form = (303, f"/login?next={PATH}")
    answer = come(None).http.get(PATH)
    assert to_form == (answer.status_code, answer.headers["location"])
    user = house.newcomer()
    visitor = come(user)
    form = visitor.page(PATH)
    user.delete("/me/sessions")
    for new in (NEW, "short"):
        answer = visitor.send(form, PATH, currentPassword=PASSWORD, newPassword=new)
        assert to_form == (answer.status_code, answer.headers["location"])


def test_it_cannot_be_forged(house: House, seller: User) -> None:
    """Without the form's token nothing happens, even with the user's own cookies."""
    cookies = {"saleroom_session": seller.token}
    sent = {"currentPassword": PASSWORD, "newPassword": NEW}
    assert 403 == httpx.post(f"{house.base}{PATH}", data=sent, cookies=cookies).status_code
    assert 200 == house.anyone.post("/login", json={"username": seller.name, "password": PASSWORD}).status_code


def test_password_managers_find_the_form(come: Come) -> None:
    """The standard address for changing a password leads to the form."""
    answer = come().http.get("/.well-known/change-password")
    assert (303, PATH) == (answer.status_code, answer.headers["location"])
