"""The pages of mail addresses and forgotten passwords."""

import pytest

from tests.accounts.service.mailed import answer_requests, sent_by
from tests.bidding.web.seller import Come
from tests.fixtures_house import PASSWORD, House, User
from tests.rows import each_of
from tests.site.markup import Page
from tests.site.visitor import Visitor

NEW = "another battery staple"
ADDRESS, FORGOTTEN, RESET, CONFIRM = "/mine/mail-address", "/password/forgotten", "/password/new", "/address/confirm"


@pytest.fixture(scope="module")
def house(mail_house: House) -> House:
    """A house that sends mails; nobody fetches them here."""
    return mail_house


def has_address(visitor: Visitor, house: House, user: User) -> str:
    """Give and verify a mail address by the pages, and return it."""
    address = f"{user.name}@example.org"
    page = visitor.sent(visitor.page(ADDRESS), ADDRESS, address=address, password=PASSWORD)
    assert f"A mail is on its way to {address}" in page.one("p", role="status", class_="card").text
    code = sent_by(house)[-1]["code"]
    stranger = Visitor(house)
    page = stranger.sent(stranger.page(CONFIRM), CONFIRM, code=code)
    assert f"{address} is now the mail address of the account {user.name}." in page.main
    return address


def test_an_address_by_the_pages(come: Come, house: House, seller: User) -> None:
    """The address is given with the password, verified on the page of the link without a login, shown, and deleted."""
    visitor = come()
    assert ADDRESS in visitor.page("/mine/sessions").links
    address = has_address(visitor, house, seller)
    page = visitor.page(ADDRESS)
    assert address in page.main
    page = visitor.sent(page, ADDRESS, address="other@example.org", password=PASSWORD)
    assert "other@example.org" in page.main
    assert address in page.main
    token = page.all("input", name="csrfToken")[0]["value"]
    gone = visitor.http.post(ADDRESS, data={"csrfToken": token, "do": "remove", "password": PASSWORD})
    assert "Your mail address is deleted." in Page(gone).one("p", role="status", class_="card").text
    assert address not in visitor.page(ADDRESS).main


def test_faults_are_told_at_their_field(come: Come, house: House) -> None:
    """A wrong address and a wrong password are told at their fields, and the password does not come back."""
    visitor = come(house.newcomer())
    page = visitor.sent(visitor.page(ADDRESS), ADDRESS, address="ada", password="")
    assert ["Enter a mail address, such as ada@example.org.", "Please fill this in."] == [
        one.text for one in page.all("small", class_="fault")
    ]
    page = visitor.sent(page, ADDRESS, address="ada@example.org", password="wrong password")
    assert ["This is not your current password. Nothing was changed."] == [
        one.text for one in page.all("small", class_="fault")
    ]
    assert {""} == {one["value"] for one in page.all("input", type="password")}


def test_a_forgotten_password_by_the_pages(come: Come, house: House) -> None:
    """From the form to log in over the mail to the new password; opening the link uses nothing up."""
    user = house.newcomer()
    has_address(come(user), house, user)
    visitor = Visitor(house)
    assert FORGOTTEN in visitor.page("/login").links
    for account in (user.name, "nobody"):
        page = visitor.sent(visitor.page(FORGOTTEN), FORGOTTEN, account=account)
        assert "If there is such an account" in page.one("p", role="status", class_="card").text
    answer_requests(house)
    mail = sent_by(house)[-1]
    page = [visitor.page(RESET) for _ in range(3)][-1]
    short = visitor.sent(page, RESET, code=mail["code"], newPassword="short")
    assert ["The password must have 8 to 256 characters."] == [one.text for one in short.all("small", class_="fault")]
    assert mail["code"] == short.one("input", id="code")["value"]
    done = visitor.sent(short, RESET, code=mail["code"], newPassword=NEW)
    assert "You were logged out everywhere." in done.one("p", role="status", class_="card").text
    again = visitor.send(visitor.page(RESET), RESET, code=mail["code"], newPassword=NEW)
    assert 422 == again.status_code
    assert "This link was used, has ended or is incomplete." in Page(again).one("small", class_="fault").text
    assert 200 == house.anyone.post("/login", json={"username": user.name, "password": NEW}).status_code


@each_of(
    {"path": CONFIRM, "user": False},
    {"path": RESET, "user": False},
    {"path": "/join", "user": True},
)
def test_a_mistyped_code_stays_in_its_field(house: House, path: str, user: bool) -> None:
    """The code can be corrected: it comes back, and its field is marked and described by what is wrong."""
    visitor = Visitor(house, house.newcomer() if user else None)
    more = {"newPassword": NEW} if path == RESET else {}
    for code, said in (("7.mistyped", "incomplete"), ("", "Please fill this in.")):
        page = visitor.sent(visitor.page(path), path, code=code, **more)
        typed = page.one("input", id="code")
        assert (code, "true") == (typed["value"], typed["aria-invalid"])
        assert said in page.one("small", id=typed["aria-describedby"], class_="fault").text


def test_an_empty_form_says_what_is_missing(house: House) -> None:
    """A form without a name, and one without a code, are told what is missing."""
    visitor = Visitor(house)
    page = visitor.sent(visitor.page(FORGOTTEN), FORGOTTEN, account=" ")
    assert ["Please fill this in."] == [one.text for one in page.all("small", class_="fault")]
    page = visitor.sent(visitor.page(RESET), RESET, newPassword=NEW)
    assert ["Please fill this in."] == [one.text for one in page.all("small", class_="fault")]


def test_a_house_without_mail_says_whom_to_ask(sqlite_house: House) -> None:
    """The form to log in links nowhere, and says whom to ask; so does the page itself, which has no form."""
    visitor = Visitor(sqlite_house)
    login = visitor.page("/login")
    assert FORGOTTEN not in login.links
    assert "Password forgotten? Ask those who run the house." in login.main
    page = visitor.page(FORGOTTEN)
    assert "Ask those who run it for a new password." in page.main
    assert [] == [form for form in page.all("form") if form["action"] == FORGOTTEN]


def test_the_page_speaks_german(house: House) -> None:
    """The pages are in the reader's language, and so is the mail that they cause."""
    visitor = Visitor(house, None, **{"Accept-Language": "de"})
    assert "Passwort vergessen" == visitor.page(FORGOTTEN).heading
    assert "Neues Passwort setzen" == visitor.page(RESET).heading
    assert "Bestätigen Sie Ihre E-Mail-Adresse" == visitor.page(CONFIRM).heading
