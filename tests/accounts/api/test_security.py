"""One-time codes over HTTP: set up, needed at logins, and switched off."""

import base64
import time
from datetime import UTC, datetime

import pytest

from saleroom.accounts.domain import one_time_codes as rules
from tests.bidding.api.answers import faults, refusal
from tests.fixtures_house import PASSWORD, House, User

pytestmark = pytest.mark.databases("sqlite")


def shown(secret: str, later: float = 0) -> str:
    """Return what an app with this secret shows, now or `later` seconds from now."""
    now = datetime.fromtimestamp(time.time() + later, UTC)
    return rules.current_code(base64.b32decode(secret), now)


def set_up(user: User) -> tuple[str, list[str]]:
    """Switch a user's codes on; return the secret and the recovery codes."""
    secret = user.json("POST", "/me/one-time-codes", json={"password": PASSWORD})["secret"]
    # The code of the step before leaves this step's and the next one's to the test.
    body = {"code": shown(secret, -30)}
    return secret, user.json("POST", "/me/one-time-codes/confirmation", json=body)["recoveryCodes"]


def test_codes_are_set_up_and_needed_at_logins(house: House) -> None:
    """The way of a user: set up, confirm, log in with a code, with a recovery code, and switch it all off."""
    ada = house.newcomer()
    assert {"oneTimeCodes": False, "oneTimeCodesSince": None, "recoveryCodesLeft": 0} == ada.json("GET", "/me/security")
    made = ada.post("/me/one-time-codes", json={"password": PASSWORD})
    assert "no-store" == made.headers["cache-control"]
    secret, address = made.json()["secret"], made.json()["appAddress"]
    assert f"secret={secret}" in address and f":{ada.name}?" in address
    confirmed = ada.post("/me/one-time-codes/confirmation", json={"code": shown(secret, -30)})
    codes = confirmed.json()["recoveryCodes"]
    assert (10, "no-store") == (len(codes), confirmed.headers["cache-control"])
    after = ada.json("GET", "/me/security")
    assert (True, 10) == (after["oneTimeCodes"], after["recoveryCodesLeft"])
    account = {"username": ada.name, "password": PASSWORD}
    for code in (shown(secret), codes[0]):
        assert 200 == house.anyone.post("/login", json={**account, "code": code}).status_code
    ends = {"password": PASSWORD, "code": codes[1]}
    assert 204 == ada.post("/me/one-time-codes/end", json=ends).status_code
    assert 200 == house.anyone.post("/login", json=account).status_code


def test_a_login_without_its_code_says_what_is_missing(house: House) -> None:
    """With a right password but no code the answer is 422 `code_required`, with a wrong one 422 `wrong_code`."""
    ada = house.newcomer()
    secret, _ = set_up(ada)
    account = {"username": ada.name, "password": PASSWORD}
    for more in ({}, {"code": None}, {"code": ""}):
        answer = house.anyone.post("/login", json={**account, **more})
        assert (422, "code_required") == refusal(answer)
        assert {"message", "code"} == answer.json().keys()
    assert (422, "wrong_code") == refusal(house.anyone.post("/login", json={**account, "code": "no code"}))
    assert {"code": ["not_a_string"]} == faults(house.anyone.post("/login", json={**account, "code": 287082}))
    wrong = house.anyone.post("/login", json={**account, "password": "wrong horse", "code": shown(secret)})
    assert (422, {"message": "Invalid authentication"}) == (wrong.status_code, wrong.json())


@pytest.mark.parametrize("code", ["123456", None, "", "no code"])
def test_an_account_without_codes_ignores_them(house: House, code: str | None) -> None:
    """The login of the specification stays as it is: an account without one-time codes needs none, and ignores one."""
    ada = house.newcomer()
    body = {"username": ada.name, "password": PASSWORD, "code": code}
    assert {"token", "createdAt", "expiresAt"} == house.anyone.json("POST", "/login", json=body).keys()


def test_who_may_not(house: House) -> None:
    """A wrong password is 403, a missing code 422, codes that are off or on already 409; nothing is changed."""
    ada, eve = house.newcomer(), house.newcomer()
    assert (403, "wrong_password") == refusal(eve.post("/me/one-time-codes", json={"password": "wrong horse"}))
    both = {"password": PASSWORD, "code": "123456"}
    for path in ("/me/one-time-codes/end", "/me/recovery-codes"):
        assert (409, "one_time_codes_off") == refusal(eve.post(path, json=both))
    assert (409, "one_time_codes_off") == refusal(eve.post("/me/one-time-codes/confirmation", json={"code": "123456"}))
    _, codes = set_up(ada)
    assert (409, "one_time_codes_on") == refusal(ada.post("/me/one-time-codes", json={"password": PASSWORD}))
    for path in ("/me/one-time-codes/end", "/me/recovery-codes"):
        assert (422, "code_required") == refusal(ada.post(path, json={"password": PASSWORD, "code": ""}))
        assert (422, "wrong_code") == refusal(ada.post(path, json={"password": PASSWORD, "code": "no code"}))
        assert (403, "wrong_password") == refusal(ada.post(path, json={"password": "wrong", "code": codes[0]}))
    again = ada.json("POST", "/me/recovery-codes", json={"password": PASSWORD, "code": codes[0]})["recoveryCodes"]
    assert not {*codes} & {*again}
