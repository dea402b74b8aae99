"""Access tokens over HTTP: made, used wherever a login's token is, listed, revoked."""

import re
from typing import Any

import pytest

from saleroom.accounts.domain.access_tokens import PATTERN
from tests.accounts.api.test_security import set_up
from tests.bidding.api.answers import faults, refusal
from tests.fixtures_house import PASSWORD, House, User

pytestmark = pytest.mark.databases("sqlite")

ROBOT = {"label": "Robot", "scopes": ["bid", "read"], "days": 30, "password": PASSWORD}


def robot(house: House, user: User, *scopes: str) -> User:
    """Return a client with an access token of a user."""
    body = {**ROBOT, "scopes": list(scopes)}
    made = User(house, user.name, user.json("POST", "/me/access-tokens", json=body)["accessToken"])
    house._clients.append(made)
    return made


def test_a_token_is_made_shown_once_and_revoked(house: House) -> None:
    """POST is 201 with the token, which the list never shows again; after DELETE it is dead at once."""
    ada = house.newcomer()
    answer = ada.post("/me/access-tokens", json=ROBOT)
    made = answer.json()
    assert (201, "no-store") == (answer.status_code, answer.headers["cache-control"])
    assert re.fullmatch(PATTERN, made["accessToken"])
    listed = ada.get("/me/access-tokens")
    value = made.pop("accessToken")
    assert {"accessTokens": [made]} == listed.json() and value not in listed.text
    assert (["read", "bid"], "Robot", None) == (made["scopes"], made["label"], made["usedAt"])
    bearer = {"Authorization": f"Bearer {value}"}
    assert 200 == house.anyone.get("/me", headers=bearer).status_code
    assert 1 == len(ada.json("GET", "/me/sessions")["sessions"])
    assert 204 == ada.delete(f"/me/access-tokens/{made['id']}").status_code
    assert 401 == house.anyone.get("/me", headers=bearer).status_code
    assert (404, "unknown_access_token") == refusal(ada.delete(f"/me/access-tokens/{made['id']}"))


def test_scopes_over_http(house: House) -> None:
    """A token to bid bids and sells nothing, one to sell sells and bids nothing, one to read does neither: 403."""
    ada, seller = house.newcomer(), house.newcomer()
    gid = seller.auction()
    reads, bids, sells = (robot(house, ada, scope) for scope in ("read", "bid", "sell"))
    assert 200 == reads.get("/me/bids").status_code
    assert 201 == bids.bid(gid, "10").status_code
    assert sells.auction()
    for who in (reads, sells):
        assert (403, "missing_right") == refusal(who.bid(gid, "20"))
    for who in (reads, bids):
        assert (403, "missing_right") == refusal(who.post("/auctions", json={"name": "Clock", "startingPrice": "1"}))
    assert (201, 201) == (
        bids.bid(gid, maximum="30").status_code,
        robot(house, ada, "sell", "bid").bid(gid, "40", "50").status_code,
    )


def test_the_account_is_out_of_reach(house: House) -> None:
    """No access token, whatever its scopes, touches tokens, sessions, the password or one-time codes: 403."""
    ada = house.newcomer()
    _, codes = set_up(ada)
    all_scopes = robot(house, ada, "read", "bid", "sell", "staff")
    both = {"password": PASSWORD, "code": codes[0]}
    tries: list[tuple[str, str, Any]] = [
        ("GET", "/me/access-tokens", None),
        ("POST", "/me/access-tokens", ROBOT),
        ("DELETE", "/me/access-tokens/1", None),
        ("GET", "/me/sessions", None),
        ("DELETE", "/me/sessions", None),
        ("DELETE", "/me/sessions/1", None),
        ("PUT", "/me/password", {"currentPassword": PASSWORD, "newPassword": "another horse"}),
        ("GET", "/me/security", None),
        ("POST", "/me/one-time-codes", {"password": PASSWORD}),
        ("POST", "/me/one-time-codes/confirmation", {"code": "123456"}),
        ("POST", "/me/one-time-codes/end", both),
        ("POST", "/me/recovery-codes", both),
    ]
    for method, path, body in tries:
        assert (403, "missing_right") == refusal(all_scopes.request(method, path, json=body)), path
    assert 10 == ada.json("GET", "/me/security")["recoveryCodesLeft"]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"scopes": []}, {"scopes": ["not_a_choice"]}),
        ({"scopes": ["read", "read"]}, {"scopes": ["not_a_choice"]}),
        ({"scopes": ["owner"]}, {"scopes": ["not_a_choice"]}),
        ({"scopes": "read"}, {"scopes": ["not_a_list"]}),
        ({"scopes": [1]}, {"scopes": ["not_a_list"]}),
        ({"days": 0}, {"days": ["out_of_range"]}),
        ({"days": 367}, {"days": ["out_of_range"]}),
        ({"label": " "}, {"label": ["text_length"]}),
        ({"label": "a\u202eb"}, {"label": ["text_characters"]}),
        ({"label": "x" * 61}, {"label": ["text_length"]}),
    ],
)
def test_what_is_refused(house: House, change: dict[str, Any], fault: dict[str, list[str]]) -> None:
    """Scopes, days and labels that are none are 400, each with its fault."""
    assert fault == faults(house.user("ada").post("/me/access-tokens", json={**ROBOT, **change}))


def test_a_wrong_password_makes_none(house: House) -> None:
    """Without the password a thief of a session gets no token that lives longer than it."""
    ada = house.newcomer()
    assert (403, "wrong_password") == refusal(ada.post("/me/access-tokens", json={**ROBOT, "password": "wrong horse"}))
    assert {"accessTokens": []} == ada.json("GET", "/me/access-tokens")
