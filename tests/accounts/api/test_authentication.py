"""Authentication: the token is the text after the first space of `Authorization` (docs/specification.md, "Authentication")."""

import json
from typing import Any

import httpx
import pytest

from saleroom.compose import ENDPOINTS
from saleroom.http.endpoints import Access, Endpoint
from tests.bidding.api.answers import raw
from tests.fixtures_database import FakeClock
from tests.fixtures_house import House, ServeHouse
from tests.sales.needed import PARTS

pytestmark = pytest.mark.databases("sqlite")

UNAUTHENTICATED = {
    "message": "This needs a valid token: log in with POST /login and send 'Authorization: Bearer TOKEN'.",
    "code": "unauthenticated",
}
USELESS = {
    "empty": "",
    "without a space": "Bearer",
    "unknown": "Bearer AAAAAAAAAAAAAA==",
    "no token at all": "Bearer \u00fc\u00f6\u00e4",
    "spaces before the token": "Bearer   AAAAAAAAAAAAAA==",
}


def needs(*access: Access) -> pytest.MarkDecorator:
    """Run a test for every endpoint with one of these kinds of access."""
    found = [endpoint for endpoint in ENDPOINTS if endpoint.access in access]
    assert found
    return pytest.mark.parametrize("endpoint", found, ids=lambda endpoint: endpoint.name)


def ask(house: House, endpoint: Endpoint[Any], authorization: str | None) -> httpx.Response:
    """Send a request to an endpoint with this header, as bytes if it is not ASCII."""
    headers = {} if authorization is None else {b"Authorization": authorization.encode("latin-1")}
    if endpoint.upload is not None:
        headers[b"Content-Type"] = b"image/jpeg"
    path = endpoint.path.format(gid="AAAAAAAAAAAA", id="1", username="nobody", **PARTS)
    body = None if endpoint.form is None else endpoint.form.example
    return house.anyone.request(endpoint.method, path, headers=headers, json=body)


@needs(Access.TOKEN)
def test_endpoints_that_need_a_token_refuse_every_useless_header(sqlite_house: House, endpoint: Endpoint[Any]) -> None:
    """A header that is missing, empty, without a space, without a token or with an unknown token is 401 with the same bytes."""
    for authorization in (None, *USELESS.values()):
        answer = ask(sqlite_house, endpoint, authorization)
        assert (401, UNAUTHENTICATED) == (answer.status_code, answer.json())
        assert "Bearer" == answer.headers["www-authenticate"]


def test_an_empty_token_is_refused(sqlite_house: House) -> None:
    """`Authorization: Bearer ` without a token after the space is 401 like any other useless header."""
    request = b"GET /me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \r\nConnection: close\r\n\r\n"
    answer = raw(sqlite_house, request)
    assert answer.startswith(b"HTTP/1.1 401 ") and b"www-authenticate: Bearer\r\n" in answer
    assert UNAUTHENTICATED == json.loads(answer.partition(b"\r\n\r\n")[2])


@needs(Access.TOKEN_OPTIONAL)
def test_endpoints_that_use_a_token_refuse_a_useless_one(sqlite_house: House, endpoint: Endpoint[Any]) -> None:
    """If a token is optional, a request without one is accepted, but a useless header is 401."""
    assert 401 != ask(sqlite_house, endpoint, None).status_code
    for authorization in USELESS.values():
        answer = ask(sqlite_house, endpoint, authorization)
        assert (401, UNAUTHENTICATED) == (answer.status_code, answer.json())


@needs(Access.OPEN)
def test_open_endpoints_do_not_look_at_a_token(sqlite_house: House, endpoint: Endpoint[Any]) -> None:
    """A useless header does not keep anybody from logging in."""
    for authorization in (None, *USELESS.values()):
        assert 401 != ask(sqlite_house, endpoint, authorization).status_code


@pytest.mark.parametrize("word", ["Bearer", "bearer", "Basic", "Token", "x", "-", "Bearer=", "\u00fc"])
def test_the_word_before_the_space_may_be_anything(house: House, word: str) -> None:
    """The word before the first space is not checked."""
    token = house.user("ada").token
    answer = house.anyone.get("/me", headers={b"Authorization": f"{word} {token}".encode("latin-1")})
    assert (200, "ada") == (answer.status_code, answer.json()["username"])


def test_the_token_is_everything_after_the_first_space(house: House) -> None:
    """The token is everything after the first space, so a second word makes it unknown."""
    token = house.user("ada").token
    for spoilt in (f"Bearer realm {token}", f"Bearer {token} more", f"Bearer {token},", token):
        assert 401 == house.anyone.get("/me", headers={"Authorization": spoilt}).status_code


def test_a_token_is_compared_to_the_letter(house: House) -> None:
    """A token in another case, without its padding or in URL-safe Base64 is unknown."""
    token = house.user("ada").token
    for other in (token.swapcase(), token.rstrip("="), f"{token}=", token[::-1]):
        assert 401 == house.anyone.get("/me", headers={"Authorization": f"Bearer {other}"}).status_code


def test_a_token_is_good_until_the_microsecond_of_its_expiry(clocked_house: House, clock: FakeClock) -> None:
    """From `expiresAt` on, 30 days after its issue, a token is refused with the same body as any other dead token."""
    ada = clocked_house.user("ada")
    clock.advance(days=30, microseconds=-1)
    assert 200 == ada.get("/me").status_code
    clock.advance(microseconds=1)
    answer = ada.get("/me")
    assert (401, UNAUTHENTICATED) == (answer.status_code, answer.json())
    assert 401 == ada.post("/auctions", json={"name": "Clock", "startingPrice": "1"}).status_code
    assert 200 == clocked_house.log_in("ada").get("/me").status_code


def test_logging_out_kills_the_token_at_once(house: House) -> None:
    """DELETE /logout is 204 without a body. The token is dead, a second logout is 401, and other sessions continue."""
    one = house.newcomer()
    other = house.log_in(one.name)
    answer = one.delete("/logout")
    assert (204, b"") == (answer.status_code, answer.content)
    for dead in (one.get("/me"), one.delete("/logout"), one.get("/auctions"), one.bid("AAAAAAAAAAAA", 1)):
        assert (401, UNAUTHENTICATED) == (dead.status_code, dead.json())
    assert 200 == other.get("/me").status_code


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
def test_logging_out_kills_the_token_in_every_process(database_url: str, serve_house: ServeHouse) -> None:
    """After a logout in one process, another one on the same database refuses the token at once."""
    one, other = serve_house(database=database_url), serve_house(database=database_url)
    ada = one.user("ada")
    header = {"Authorization": f"Bearer {ada.token}"}
    assert 200 == other.anyone.get("/me", headers=header).status_code
    assert 204 == ada.delete("/logout").status_code
    assert 401 == other.anyone.get("/me", headers=header).status_code
