"""Choices over HTTP: what a user gets by mail, and when."""

from typing import Any

import pytest

from saleroom.accounts.storage import accounts, mail_addresses
from saleroom.notices.domain.kinds import KINDS
from saleroom.storage.database import Transaction
from tests.bidding.api.answers import faults
from tests.fixtures_house import PASSWORD, House, User

UNCHOSEN = dict.fromkeys(KINDS, True) | {"called": False}
QUIET = {"begins": "22:00", "ends": "07:30", "zone": "Europe/Berlin"}


@pytest.fixture
def house(sqlite_house: House) -> House:
    """A house on SQLite: differences between the databases are tested in the service."""
    return sqlite_house


def give_address(house: House, user: User) -> None:
    """Give a user a verified address."""

    def give(tx: Transaction) -> None:
        login = accounts.find_login(tx, user.name)
        assert login is not None
        mail_addresses.give(tx, login.account.id, "ada@example.org", "de", tx.now())
        mail_addresses.verify(tx, login.account.id, "ada@example.org", tx.now())

    house.write(give)


def test_choices_are_shown_and_changed(house: House) -> None:
    """At first a user gets words of all kinds and has no quiet hours; what a change leaves out stays; null ends quiet hours."""
    user = house.newcomer()
    everything: dict[str, Any] = {
        "mailAddress": None,
        "verifiedAt": None,
        "language": None,
        "mail": UNCHOSEN,
        "push": dict.fromkeys(KINDS, True),
        "quietHours": None,
    }
    assert everything == user.json("GET", "/me/notices")
    give_address(house, user)
    found = user.json("PATCH", "/me/notices", json={"mail": {"outbid": False}, "quietHours": QUIET, "language": "en"})
    assert ("ada@example.org", "en", QUIET) == (found["mailAddress"], found["language"], found["quietHours"])
    assert found["verifiedAt"] is not None
    assert {"called", "outbid"} == {kind for kind, wanted in found["mail"].items() if not wanted}
    assert found == user.json("PATCH", "/me/notices", json={})
    again = user.json("PATCH", "/me/notices", json={"mail": {"won": False, "outbid": True}, "quietHours": None})
    assert {"called", "won"} == {kind for kind, wanted in again["mail"].items() if not wanted}
    assert again["quietHours"] is None


def test_a_program_does_not_read_the_address(house: House) -> None:
    """An access token reads what is chosen, but the address no more than by `GET /me/mail-address`: a token may leak."""
    user = house.newcomer()
    give_address(house, user)
    asked = {"password": PASSWORD, "label": "bot", "scopes": ["read", "bid", "sell", "staff"], "days": 1}
    token = user.json("POST", "/me/access-tokens", json=asked)["accessToken"]
    program = {"Authorization": f"Bearer {token}"}
    own = user.json("GET", "/me/notices")
    assert own | {"mailAddress": None} == house.anyone.get("/me/notices", headers=program).json()
    assert "ada@example.org" == own["mailAddress"]


@pytest.mark.parametrize(
    ("sent", "field", "code"),
    [
        ({"mail": {"spam": True}}, "mail", "not_an_object"),
        ({"mail": {"won": "yes"}}, "mail", "not_an_object"),
        ({"mail": []}, "mail", "not_an_object"),
        ({"language": "xx"}, "language", "not_a_choice"),
        ({"language": "../de"}, "language", "not_a_choice"),
        ({"quietHours": {"begins": "22:00"}}, "quietHours", "required"),
        ({"quietHours": {**QUIET, "ends": QUIET["begins"]}}, "quietHours", "no_hours"),
        ({"quietHours": QUIET | {"ends": "24:00"}}, "quietHours", "time_format"),
        ({"quietHours": QUIET | {"zone": "Mars/Olympus"}}, "quietHours", "time_zone"),
        ({"quietHours": QUIET | {"zone": "../../etc/passwd"}}, "quietHours", "time_zone"),
        ({"quietHours": QUIET | {"more": 1}}, "quietHours", "unknown"),
        ({"quietHours": "22:00"}, "quietHours", "not_an_object"),
    ],
)
def test_wrong_choices_are_refused(house: House, sent: dict[str, Any], field: str, code: str) -> None:
    """A kind, a language, a time or a zone that does not exist is named, and nothing is changed."""
    user = house.newcomer()
    answer = user.request("PATCH", "/me/notices", json={"mail": {"won": False}} | sent)
    assert 400 == answer.status_code
    assert code in {fault["code"] for fault in answer.json()["message"][field]}
    assert UNCHOSEN == user.json("GET", "/me/notices")["mail"]


def test_choices_need_a_token(house: House) -> None:
    """Nobody sees or changes the choices of others."""
    assert 401 == house.anyone.get("/me/notices").status_code
    assert 401 == house.anyone.request("PATCH", "/me/notices", json={}).status_code


def test_the_mail_about_an_overdue_invoice_cannot_be_switched_off(house: House) -> None:
    """A refusal names the kind, and changes nothing; messages to browsers can be switched off."""
    user = house.newcomer()
    answer = user.request("PATCH", "/me/notices", json={"mail": {"won": False, "overdue": False}})
    assert {"mail": ["must_be_mailed"]} == faults(answer)
    assert "overdue" in answer.text
    assert all(user.json("GET", "/me/notices")["mail"][kind] for kind in ("won", "overdue"))
    found = user.json("PATCH", "/me/notices", json={"mail": {"overdue": True}, "push": {"overdue": False}})
    assert (True, False) == (found["mail"]["overdue"], found["push"]["overdue"])
