"""One-time codes on the pages: the second step of a login, setting up, recovery codes."""

from __future__ import annotations

import pytest

from tests.accounts.api.test_security import set_up, shown
from tests.bidding.web.seller import Come
from tests.fixtures_house import PASSWORD, House, User
from tests.site.markup import Page
from tests.site.visitor import Visitor

PATH = "/mine/security"


@pytest.fixture
def house(sqlite_house: House) -> House:
    """A house on SQLite: differences between the databases are tested below the pages."""
    return sqlite_house


def first_step(visitor: Visitor, user: User) -> Page:
    """Send name and password, and return the page that asks for the code."""
    form = visitor.page("/login?next=/mine/selling")
    answer = visitor.send(form, "/session", username=user.name, password=PASSWORD)
    assert (200, "no-store") == (answer.status_code, answer.headers["cache-control"])
    assert "saleroom_session" not in visitor.http.cookies and PASSWORD not in answer.text
    return Page(answer)


def test_a_login_in_two_steps(house: House, seller: User) -> None:
    """After name and password the page asks for the code. There is no session until it is right, then the way goes on."""
    secret, _ = set_up(seller)
    visitor = Visitor(house)
    asks = first_step(visitor, seller)
    assert "Enter your code" == asks.heading
    assert "one-time-code" == asks.one("input", name="code")["autocomplete"]
    again = visitor.send(asks, "/session/code", code="12345")
    assert 422 == again.status_code and "wrong" in Page(again).one("small", id="code-help").text
    assert "saleroom_session" not in visitor.http.cookies
    empty = visitor.send(Page(again), "/session/code", code="")
    assert 400 == empty.status_code
    done = visitor.send(Page(empty), "/session/code", code=shown(secret))
    assert (303, "/mine/selling") == (done.status_code, done.headers["location"])
    assert 200 == visitor.http.get("/mine/selling").status_code


@pytest.mark.parametrize("ticket", ["", "%", "AAAA", "A" * 400])
def test_a_ticket_of_somebody_else(house: House, seller: User, ticket: str) -> None:
    """A ticket that the house has not made leads back to the form of name and password, which says so."""
    secret, _ = set_up(seller)
    visitor = Visitor(house)
    answer = visitor.send(first_step(visitor, seller), "/session/code", code=shown(secret), ticket=ticket)
    shows = Page(answer)
    assert (422, "Log in") == (answer.status_code, shows.heading)
    assert "Too much time has passed" in shows.one("p", class_="alert").text
    assert "saleroom_session" not in visitor.http.cookies


def test_setting_up(come: Come, seller: User) -> None:
    """The page shows the secret as a picture and as text, then asks for a code, and at last shows the recovery codes once."""
    visitor = come()
    overview = visitor.page(PATH)
    wrong = visitor.send(overview, f"{PATH}/codes", password="wrong horse")
    assert 403 == wrong.status_code and "Nothing was changed" in Page(wrong).one("small", id="password-help").text
    answer = visitor.send(overview, f"{PATH}/codes", password=PASSWORD)
    assert (200, "no-store") == (answer.status_code, answer.headers["cache-control"])
    page = Page(answer)
    assert "<svg" in answer.text and "QR code for the app" in answer.text
    secret = page.one("code", class_="secret").text.replace(" ", "")
    assert any(f"secret={secret}" in link for link in page.links)
    again = visitor.send(page, f"{PATH}/codes/confirmation", code="12345")
    assert 422 == again.status_code and secret == Page(again).one("code", class_="secret").text.replace(" ", "")
    done = visitor.send(Page(again), f"{PATH}/codes/confirmation", code=shown(secret))
    codes = [code.text for code in Page(done).all("code")]
    assert (200, "no-store", 10) == (done.status_code, done.headers["cache-control"], len(codes))
    assert "On since" in visitor.page(PATH).main and "10 recovery codes are left" in visitor.page(PATH).main
    assert not any(code in visitor.http.get(PATH).text for code in codes)
    assert (
        200 == visitor.send(visitor.page(PATH), f"{PATH}/codes/recovery", password=PASSWORD, code=codes[0]).status_code
    )


def test_switching_off(come: Come, seller: User) -> None:
    """The forms that weaken an account need both factors; a fault opens its own form and stands beside its field."""
    _, codes = set_up(seller)
    visitor = come()
    for action in ("recovery", "end"):
        answer = visitor.send(visitor.page(PATH), f"{PATH}/codes/{action}", password="wrong horse", code=codes[0])
        name = "renew" if action == "recovery" else "end"
        assert (
            403 == answer.status_code
            and "Nothing was changed" in Page(answer).one("small", id=f"{name}-password-help").text
        )
        answer = visitor.send(visitor.page(PATH), f"{PATH}/codes/{action}", password=PASSWORD, code="")
        assert 400 == answer.status_code
    done = visitor.send(visitor.page(PATH), f"{PATH}/codes/end", password=PASSWORD, code=codes[0])
    assert 200 == done.status_code and "One-time codes are off" in Page(done).main


@pytest.mark.parametrize("action", ["codes", "codes/confirmation", "codes/recovery", "codes/end"])
def test_a_session_that_has_ended(come: Come, seller: User, action: str) -> None:
    """Anyone who is no longer logged in is sent to the form, which leads back."""
    set_up(seller) if action in ("codes/recovery", "codes/end") else None
    visitor = come()
    page = visitor.page(PATH)
    if action == "codes/confirmation":
        page = Page(visitor.send(page, f"{PATH}/codes", password=PASSWORD))
    seller.delete("/logout")
    answer = visitor.send(page, f"{PATH}/{action}", password=PASSWORD, code="123456")
    assert (303, f"/login?next={PATH}") == (answer.status_code, answer.headers["location"])
    assert 303 == visitor.http.get(PATH).status_code
