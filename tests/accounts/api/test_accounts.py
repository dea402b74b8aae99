"""Accounts over HTTP: registration, login, the account itself, and delays for guessed passwords."""

import base64
import hashlib
import re
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from argon2 import PasswordHasher
from sqlalchemy import select

from saleroom.accounts import area
from saleroom.accounts.service import passwords
from saleroom.accounts.service.throttle import FailedLogins
from saleroom.accounts.storage import accounts
from saleroom.accounts.storage.tables import auth_tokens, users
from saleroom.storage.database import Transaction
from tests.bidding.api.answers import faults, instant, refusal
from tests.fixtures_database import FakeClock
from tests.fixtures_house import PASSWORD, House, ServeHouse

pytestmark = pytest.mark.databases("sqlite")

INVALID = b'{"message":"Invalid authentication"}'


def digest_of(tx: Transaction, username: str) -> str | None:
    """Return the stored digest of a user's password."""
    digest: str | None = tx.execute(select(users.c.password_digest).where(users.c.username == username)).scalar_one()
    return digest


def test_register(house: House) -> None:
    """POST /users is 201 with the name in lower case and the instant of creation; the password is not repeated."""
    answer = house.anyone.post("/users", json={"username": "Grace.Hopper-1_", "password": PASSWORD})
    assert (201, {"username", "createdAt"}) == (answer.status_code, answer.json().keys())
    assert "grace.hopper-1_" == answer.json()["username"]
    instant(answer.json()["createdAt"])
    assert "no-store" == answer.headers["cache-control"]


def test_a_name_is_taken_in_any_case(house: House) -> None:
    """A second account of the same name is 409 `username_taken`, even if only the case differs."""
    account = {"username": "linus", "password": PASSWORD}
    assert 201 == house.anyone.post("/users", json=account).status_code
    for name in ("linus", "LINUS", "Linus"):
        answer = house.anyone.post("/users", json=account | {"username": name})
        assert (409, "username_taken") == refusal(answer)


@pytest.mark.parametrize(
    "username",
    [
        "ab",
        "a" * 33,
        "",
        " ada",
        "ada ",
        "a da",
        "\u00e4da",
        "ada\0",
        "ada\n",
        "a/b",
        "a@b",
        "\u0430da",
        "../x",
        "ADA\u212a",
    ],
)
def test_usernames_that_are_refused(sqlite_house: House, username: str) -> None:
    """A username has 3 to 32 characters of a-z, 0-9, dot, underscore and hyphen, in either case; anything else is 400."""
    answer = sqlite_house.anyone.post("/users", json={"username": username, "password": PASSWORD})
    assert {"username": ["username_format"]} == faults(answer)


@pytest.mark.parametrize(("length", "status"), [(0, 400), (7, 400), (8, 201), (256, 201), (257, 400)])
def test_passwords_have_8_to_256_characters(sqlite_house: House, length: int, status: int) -> None:
    """The length of a password is counted in characters, not bytes."""
    account = {"username": f"bounds{length}", "password": "\u00fc" * length}
    assert status == sqlite_house.anyone.post("/users", json=account).status_code


def test_a_password_is_used_unmodified(house: House) -> None:
    """A password matches only itself: spaces, case, NUL and the two ways to write an umlaut all count."""
    account = {"username": "exact", "password": " P\u00e4ss\0wall "}
    assert 201 == house.anyone.post("/users", json=account).status_code
    assert 200 == house.anyone.post("/login", json=account).status_code
    for other in ("P\u00e4ss\0wall", " p\u00e4ss\0wall ", " Pa\u0308ss\0wall "):
        assert 422 == house.anyone.post("/login", json=account | {"password": other}).status_code


@pytest.mark.usefixtures("slow_digests")
def test_the_digest_is_argon2id(house: House) -> None:
    """Passwords are stored as Argon2id digests of 19 MiB, two passes and one lane, each with its own salt."""
    names = ("salted.1", "salted.2")
    for name in names:
        house.anyone.json("POST", "/users", json={"username": name, "password": PASSWORD})
    digests = {house.read(digest_of, name) for name in names}
    assert 2 == len(digests)
    assert all(str(digest).startswith("$argon2id$v=19$m=19456,t=2,p=1$") for digest in digests)


@pytest.mark.usefixtures("slow_digests")
def test_an_outdated_digest_is_replaced_at_login(house: House) -> None:
    """If a digest has other parameters than today's, a login replaces it."""
    outdated = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD)
    account = house.write(lambda tx: accounts.add_user(tx, "outdated", outdated, tx.now()))
    assert account is not None
    for _ in range(2):
        house.anyone.json("POST", "/login", json={"username": "outdated", "password": PASSWORD})
    assert str(house.read(digest_of, "outdated")).startswith("$argon2id$v=19$m=19456,t=2,p=1$")


def test_login_gives_a_token(house: House) -> None:
    """POST /login is 200 with `token`, `createdAt` and `expiresAt`, 30 days later to the microsecond; no cache stores it."""
    answer = house.anyone.post("/login", json={"username": house.user("ada").name, "password": PASSWORD})
    body = answer.json()
    assert (200, ["token", "createdAt", "expiresAt"]) == (answer.status_code, list(body))
    assert timedelta(days=30) == instant(body["expiresAt"]) - instant(body["createdAt"])
    assert "no-store" == answer.headers["cache-control"]


def test_a_token_is_ten_random_bytes_in_standard_base64(house: House) -> None:
    """A token has 16 characters of standard Base64 with padding, decodes to 10 bytes, and is new each time."""
    house.user("ada")
    tokens = {house.log_in("ada").token for _ in range(5)}
    assert 5 == len(tokens)
    for token in tokens:
        assert re.fullmatch(r"[A-Za-z0-9+/]{14}==", token)
        assert 10 == len(base64.b64decode(token, validate=True))


def test_a_token_is_stored_as_its_digest_only(house: House) -> None:
    """The column `token` holds the SHA-256 of the value, so a copied database lets nobody in."""
    token = house.newcomer().token
    stored = house.read(lambda tx: set(tx.execute(select(auth_tokens.c.token)).scalars()))
    assert hashlib.sha256(token.encode()).hexdigest() in stored
    assert token not in stored
    for value in stored:
        assert 401 == house.anyone.get("/me", headers={"Authorization": f"Bearer {value}"}).status_code


def test_a_name_logs_in_in_any_case(house: House) -> None:
    """The case of a username does not matter at the login either."""
    house.user("ada")
    assert 200 == house.anyone.post("/login", json={"username": "ADA", "password": PASSWORD}).status_code


def test_failed_logins_have_the_specifications_body(house: House) -> None:
    """An unknown user, a user without a digest and a wrong password get 422 with the same bytes."""
    house.write(lambda tx: accounts.add_user(tx, "without.digest", None, tx.now()))
    known = house.newcomer().name
    for name in (known, "without.digest", "nobody.here", "", "\0", "\u0131", "a" * 10_000, "'; --", "%"):
        answer = house.anyone.post("/login", json={"username": name, "password": "wrong password"})
        assert (422, INVALID) == (answer.status_code, answer.content)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, {"username": ["required"], "password": ["required"]}),
        ({"username": "ada"}, {"password": ["required"]}),
        ({"username": 1, "password": None}, {"username": ["not_a_string"], "password": ["not_a_string"]}),
        ({"username": ["ada"], "password": {}}, {"username": ["not_a_string"], "password": ["not_a_string"]}),
        ([], {"body": ["not_an_object"]}),
        (None, {"body": ["not_an_object"]}),
        ("ada", {"body": ["not_an_object"]}),
    ],
)
def test_a_login_that_cannot_be_read_has_the_specifications_body(
    sqlite_house: House, body: Any, expected: dict[str, list[str]]
) -> None:
    """A login body that fails validation is 400 with only `message`: the faults of each field."""
    content = b"null" if body is None else None
    answer = sqlite_house.anyone.post(
        "/login", json=body, content=content, headers={"Content-Type": "application/json"}
    )
    assert expected == faults(answer)
    assert ["message"] == list(answer.json())


def test_a_login_checks_its_two_fields_only(house: House) -> None:
    """Other members of a login body are ignored."""
    account = {"username": house.user("ada").name, "password": PASSWORD, "remember": True, "authorId": 1, "x": [[]]}
    assert 200 == house.anyone.post("/login", json=account).status_code


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain", "", "application/jsonx"])
def test_a_login_that_is_not_json_is_not_a_login(sqlite_house: House, kind: str) -> None:
    """An HTML form with name and password is 415 and logs nobody in."""
    sent = f"username={sqlite_house.user('ada').name}&password={PASSWORD}"
    answer = sqlite_house.anyone.post("/login", content=sent, headers={"Content-Type": kind})
    assert (415, "unsupported_media_type") == refusal(answer)


def test_me(house: House) -> None:
    """GET /me shows the account as the registration did."""
    account = {"username": "me.myself", "password": PASSWORD}
    registered = house.anyone.json("POST", "/users", json=account)
    assert registered == house.log_in("me.myself").json("GET", "/me")


def test_failed_logins_wait_longer_and_longer(serve_house: ServeHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """After five failures in a row the next try is 429 with Retry-After, for this name and address only. Sessions continue."""
    clock = FakeClock()
    monkeypatch.setattr(area, "FailedLogins", partial(FailedLogins, clock=clock))
    house = serve_house()
    victim, other = house.newcomer(), house.newcomer()
    wrong = {"username": victim.name, "password": "wrong password"}
    right = {"username": victim.name, "password": PASSWORD}
    assert [422] * 5 == [house.anyone.post("/login", json=wrong).status_code for _ in range(5)]
    answer = house.anyone.post("/login", json=right)
    assert (429, "too_many_requests") == refusal(answer)
    assert 1 == answer.json()["retryAfter"] == int(answer.headers["retry-after"])
    assert 200 == victim.get("/me").status_code
    assert 200 == house.anyone.post("/login", json={"username": other.name, "password": PASSWORD}).status_code
    clock.advance(1)
    assert 422 == house.anyone.post("/login", json=wrong).status_code
    assert 2 == house.anyone.post("/login", json=wrong).json()["retryAfter"]


def test_successful_logins_are_not_throttled(house: House) -> None:
    """A success clears the failures before it, and successes are never limited."""
    name = house.newcomer().name
    for password in ("wrong password", "wrong password", PASSWORD) * 3:
        answer = house.anyone.post("/login", json={"username": name, "password": password})
        assert (200 if password == PASSWORD else 422) == answer.status_code


def test_an_address_registers_so_many_accounts_an_hour(serve_house: ServeHouse) -> None:
    """A registration beyond the setting is 429 with the time to wait."""
    house = serve_house(registrations_per_hour=2)
    account = {"username": "cy.", "password": PASSWORD}
    for name in ("ada", "bob"):
        house.anyone.json("POST", "/users", json=account | {"username": name})
    answer = house.anyone.post("/users", json=account)
    assert (429, "too_many_requests") == refusal(answer)
    assert 3500 < answer.json()["retryAfter"] == int(answer.headers["retry-after"]) <= 3600
    assert 422 == house.anyone.post("/login", json=account).status_code


def test_only_the_command_line_adds_users_while_registration_is_closed(serve_house: ServeHouse) -> None:
    """POST /users is 403 `registration_closed`, and nobody is added."""
    house = serve_house(registration="closed")
    account = {"username": "ada", "password": PASSWORD}
    assert (403, "registration_closed") == refusal(house.anyone.post("/users", json=account))
    assert (422, INVALID) == ((answer := house.anyone.post("/login", json=account)).status_code, answer.content)


@pytest.mark.databases("sqlite", "postgresql")
def test_a_storm_of_logins_is_turned_away(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the queue for digests is full, logins and registrations are 503 with Retry-After, and bids are still accepted."""
    ada, bob = house.user("ada"), house.user("bob")
    monkeypatch.setattr(passwords, "WAITING_MAX", -passwords.THREADS)
    for path, name in (("/login", "ada"), ("/users", "storm")):
        answer = house.anyone.post(path, json={"username": name, "password": PASSWORD})
        assert (503, "busy") == refusal(answer)
        assert "1" == answer.headers["retry-after"]
    assert 201 == bob.bid(ada.auction(), "10").status_code
    monkeypatch.undo()
    assert 201 == house.anyone.post("/users", json={"username": "storm", "password": PASSWORD}).status_code
