"""Mail addresses and forgotten passwords over the API."""

import httpx
import pytest

from tests.accounts.service.mailed import answer_requests, sent_by
from tests.bidding.api.answers import refusal
from tests.fixtures_house import PASSWORD, House, ServeHouse, User
from tests.rows import each_of

NEW = "another battery staple"


@pytest.fixture(scope="module")
def house(mail_house: House) -> House:
    """A house that sends mails; nobody fetches them here."""
    return mail_house


def gives(user: User, address: str | None, password: str = PASSWORD) -> httpx.Response:
    """Give a mail address with the password."""
    return user.http.put("/me/mail-address", json={"mailAddress": address, "password": password})


def verified(house: House) -> User:
    """A user with a verified mail address, whose name is in it."""
    user = house.newcomer()
    assert 200 == gives(user, f"{user.name}@example.org").status_code
    code = sent_by(house)[-1]["code"]
    assert 200 == house.anyone.post("/mail-address-confirmations", json={"code": code}).status_code
    return user


def asks(house: House, account: str) -> httpx.Response:
    """Ask for a link, and have the house look who that is."""
    answer = house.anyone.post("/password-requests", json={"account": account})
    answer_requests(house)
    return answer


def test_an_address_is_given_and_verified(house: House) -> None:
    """The address waits until its code is sent, by anybody who has the mail; then it is the user's."""
    user = house.newcomer()
    none = {"mailAddress": None, "verifiedAt": None, "unverifiedAddress": None, "linkExpiresAt": None}
    assert none == user.json("GET", "/me/mail-address")
    given = gives(user, f" {user.name}@BÜCHER.example ").json()
    address = f"{user.name}@xn--bcher-kva.example"
    assert (None, address) == (given["mailAddress"], given["unverifiedAddress"])
    code = sent_by(house)[-1]["code"]
    answer = house.anyone.post("/mail-address-confirmations", json={"code": code})
    assert {"username": user.name, "mailAddress": address} == answer.json()
    shown = user.json("GET", "/me/mail-address")
    assert (address, None) == (shown["mailAddress"], shown["unverifiedAddress"])
    again = house.anyone.post("/mail-address-confirmations", json={"code": code})
    assert (422, "invalid_link") == refusal(again)
    assert none == gives(user, None).json()


@each_of(
    {"body": {"mailAddress": "ada", "password": PASSWORD}, "status": 400, "code": "validation"},
    {
        "body": {"mailAddress": "a@b.example\r\nBcc: x@y.example", "password": PASSWORD},
        "status": 400,
        "code": "validation",
    },
    {"body": {"mailAddress": 1, "password": PASSWORD}, "status": 400, "code": "validation"},
    {"body": {"password": PASSWORD}, "status": 400, "code": "validation"},
    {"body": {"mailAddress": "ada@example.org"}, "status": 400, "code": "validation"},
    {"body": {"mailAddress": "ada@example.org", "password": "wrong password"}, "status": 403, "code": "wrong_password"},
)
def test_an_address_needs_its_form_and_the_password(
    house: House, body: dict[str, object], status: int, code: str
) -> None:
    """An address in a wrong form and a wrong password are refused, and no mail is posted."""
    user, before = house.newcomer(), len(sent_by(house))
    assert (status, code) == refusal(user.http.put("/me/mail-address", json=body))
    assert before == len(sent_by(house))


def test_a_forgotten_password(house: House) -> None:
    """By the code of the mail the new password counts, the old one and every token are dead, and the user is told."""
    user = verified(house)
    assert 202 == asks(house, user.name).status_code
    mail = sent_by(house)[-1]
    assert ("reset", f"{user.name}@example.org", user.name) == (mail["kind"], mail["to"], mail["username"])
    body = {"code": mail["code"], "newPassword": NEW}
    assert 400 == house.anyone.post("/password-resets", json={**body, "newPassword": "short"}).status_code
    assert 204 == house.anyone.post("/password-resets", json=body).status_code
    assert 401 == user.get("/me").status_code
    for password, status in ((PASSWORD, 422), (NEW, 200)):
        answer = house.anyone.post("/login", json={"username": user.name, "password": password})
        assert status == answer.status_code
    # The login came from a device that was not logged in before.
    assert ["password_changed", "new_login"] == [mail["kind"] for mail in sent_by(house)[-2:]]
    assert (422, "invalid_link") == refusal(house.anyone.post("/password-resets", json=body))


def test_a_login_of_a_known_device_is_not_told(house: House) -> None:
    """A second login from a device of the same name causes no mail."""
    user = verified(house)
    body, browser = {"username": user.name, "password": PASSWORD}, {"User-Agent": "Mozilla/5.0 (Android) Firefox/140.0"}
    before = len(sent_by(house))
    for _ in range(3):
        assert 200 == house.anyone.post("/login", json=body, headers=browser).status_code
    [told] = sent_by(house)[before:]
    assert ("new_login", "Firefox on Android") == (told["kind"], told["agent"])


def test_every_request_has_the_same_answer(house: House) -> None:
    """A name, an address, and what is neither get the same answer to the byte, whether or not there is such a user."""
    known, unknown = verified(house), house.newcomer()
    typed = [
        known.name,
        f"{known.name}@example.org",
        unknown.name,
        "nobody",
        "nobody@example.org",
        "@",
        "x" * 5000,
        "\u0000",
    ]
    answers = [asks(house, one) for one in typed]
    assert {(202, b"")} == {(answer.status_code, answer.content) for answer in answers}
    names = {frozenset(answer.headers) for answer in answers}
    assert 1 == len(names)


def test_a_house_without_mail(sqlite_house: House) -> None:
    """A house that sends no mail says so, for an address and for a forgotten password."""
    user = sqlite_house.newcomer()
    assert (403, "mail_off") == refusal(gives(user, "ada@example.org"))
    assert (403, "mail_off") == refusal(sqlite_house.anyone.post("/password-requests", json={"account": user.name}))
    assert 200 == gives(user, None).status_code


def test_a_network_causes_few_mails(serve_house: ServeHouse) -> None:
    """A network that has asked as often as the setting says has to wait, whatever it asks for."""
    served = serve_house(smtp_url="smtp://localhost:9", mail_sender="house@example.org", account_mails_per_hour=2)
    for account in ("ada", "nobody"):
        assert 202 == served.anyone.post("/password-requests", json={"account": account}).status_code
    refused = served.anyone.post("/password-requests", json={"account": "ada"})
    assert (429, "too_many_requests") == refusal(refused)
    assert 3590 <= int(refused.headers["retry-after"]) <= 3600
    assert (429, "too_many_requests") == refusal(gives(served.user("ada"), "ada@example.org"))
