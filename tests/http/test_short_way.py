"""The short way of hot requests: their answers are those of the long way, byte for byte."""

import re
import socket
from collections.abc import Callable

import pytest

from saleroom.accounts.domain.rights import Role
from saleroom.areas import AREAS
from saleroom.compose import ENDPOINTS
from saleroom.http.front import Routes
from saleroom.http.requests import SAFE_METHODS
from tests.fixtures_house import House, ServeHouse
from tests.patience import SECONDS_MAX

Ask = Callable[[House, str], bytes]
TOKEN = "@token"
"""Stands for the bidder's token, as @lot for the gid of their lot, and @hidden for that of one that is taken down."""
REQUESTS = [
    "GET /auctions/@lot HTTP/1.1\nHost: house",
    "GET /auctions/@lot HTTP/1.1\nHost: house\nAuthorization: Bearer @token",
    "GET /auctions/@lot HTTP/1.1\nHost: house\nAuthorization: Bearer forged",
    "GET /auctions/@lot HTTP/1.1\nHost: house\nAuthorization:",
    "GET /auctions/@lot HTTP/1.1\nHost: house\nIf-None-Match: *",
    "GET /auctions/@lot HTTP/1.1\nHost: house\nConnection: close",
    "GET /auctions/@lot HTTP/1.1\nHost: house\nOrigin: https://shop.example",
    "GET /auctions/@lot HTTP/1.1\nHost: house\nOrigin: https://other.example",
    "GET /auctions/@lot HTTP/1.0\n",
    "GET /auctions/@lot HTTP/1.1\n",
    "GET /auctions/@lot HTTP/1.1\nHost: house\nX-Forwarded-For: 203.0.113.7\nX-Forwarded-Proto: https",
    "GET /auctions/@lot?x=1 HTTP/1.1\nHost: house",
    "GET /auctions/@hidden HTTP/1.1\nHost: house",
    "GET /auctions/nowhere HTTP/1.1\nHost: house",
    "GET /auctions/%2e%2e HTTP/1.1\nHost: house",
    "GET /auctions/{gid} HTTP/1.1\nHost: house",
    "GET /auctions/ HTTP/1.1\nHost: house",
    f"GET /auctions/@lot HTTP/1.1\nHost: house\nX-Long: {'x' * 9000}",
    "HEAD /auctions/@lot HTTP/1.1\nHost: house",
    "GET /auctions HTTP/1.1\nHost: house",
    "GET /auctions HTTP/1.1\nHost: house\nAuthorization: Bearer forged",
    "GET /auctions?limit=1 HTTP/1.1\nHost: house",
    "GET /auctions?limit=0 HTTP/1.1\nHost: house",
    "GET /auctions?q=Clock HTTP/1.1\nHost: house",
    "GET /auctions/@lot/bids HTTP/1.1\nHost: house",
    "GET /auctions/@hidden/bids HTTP/1.1\nHost: house",
    "DELETE /auctions/@lot/bids HTTP/1.1\nHost: house\nX-Requested-With: tests",
    *(
        f"POST /auctions/@lot/bids HTTP/1.1\nHost: house\n{headers}\nContent-Length: {len(body)}\n\n{body}"
        for headers, body in (
            (
                "Authorization: Bearer @token\nContent-Type: application/json\nX-Requested-With: tests",
                '{"amount": "0.01"}',
            ),
            (
                "Authorization: Bearer @token\nContent-Type: application/json\nX-Requested-With: tests",
                '{"amount": "1e3"}',
            ),
            ("Authorization: Bearer @token\nContent-Type: application/json\nX-Requested-With: tests", '{"bid": 1}'),
            ("Authorization: Bearer @token\nContent-Type: application/json\nX-Requested-With: tests", "{"),
            ("Authorization: Bearer @token\nContent-Type: application/json\nX-Requested-With: tests", ""),
            ("Authorization: Bearer @token\nContent-Type: text/plain\nX-Requested-With: tests", '{"amount": "9"}'),
            ("Authorization: Bearer @token\nContent-Type: application/json", '{"amount": "9"}'),
            (
                "Authorization: Bearer forged\nContent-Type: application/json\nX-Requested-With: tests",
                '{"amount": "9"}',
            ),
            ("Content-Type: application/json\nX-Requested-With: tests", '{"amount": "9"}'),
            (
                'Authorization: Bearer @token\nContent-Type: application/json\nX-Requested-With: tests\nIf-Match: "9-0"',
                '{"amount": "9"}',
            ),
            (
                "Authorization: Bearer @token\nContent-Type: application/json\nX-Requested-With: tests\nIdempotency-Key: once",
                '{"amount": "50"}',
            ),
        )
    ),
]
"""Requests that change nothing, or that are repeated under one key. The last is a bid, so it comes after the others."""


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[bool]]:
    """Choose the way of the requests that follow; the list has one entry for each request that took the short way."""
    found = Routes.hot
    short: list[bool] = []

    def hot(self: Routes, method: str, path: str) -> object:
        row = found(self, method, path)
        if row is not None:
            short.append(True)
        return row

    def choose(way: str) -> list[bool]:
        short.clear()
        monkeypatch.setattr(Routes, "hot", hot if way == "short" else lambda *_: None)
        return short

    return choose


def _whole(pieces: bytes, *, is_head: bool) -> int:
    """Return the length of the answer that begins so; 0 if not all of it is there."""
    head, end, body = pieces.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: ([0-9]+)", head)
    rest = 0 if length is None or is_head else int(length[1])
    return len(head) + len(end) + rest if end and len(body) >= rest else 0


def answer(house: House, request: str) -> bytes:
    """Return the answer to a request as it comes, but without its date and its cursor."""
    head, _, body = request.partition("\n\n")
    with socket.create_connection(("127.0.0.1", house.port), timeout=SECONDS_MAX) as connection:
        connection.sendall(head.replace("\n", "\r\n").rstrip().encode() + b"\r\n\r\n" + body.encode())
        pieces = b""
        while not (whole := _whole(pieces, is_head=request.startswith("HEAD"))):
            piece = connection.recv(65536)
            assert piece, pieces
            pieces += piece
        assert len(pieces) == whole
    cursor = re.compile(rb"cursor=[\w-]+|\"next\":\"[\w-]+\"")
    return cursor.sub(b"", re.sub(rb"\r\ndate: [^\r]+", b"", pieces))


def test_both_ways_give_the_same_answers(serve_house: ServeHouse, ways: Callable[[str], list[bool]]) -> None:
    """Good requests and bad ones of each kind get the same bytes by either way, headers included."""
    house = serve_house(cors_origins=["https://shop.example"], trusted_proxies=["127.0.0.1"])
    ada, bob = house.user("ada"), house.user("bob")
    lot = ada.auction()
    hidden = ada.auction()
    said = {"reason": "It may be stolen."}
    assert 200 == house.staff(Role.AUCTIONEER).request("PUT", f"/auctions/{hidden}/hiding", json=said).status_code
    names = {TOKEN: bob.token, "@lot": lot, "@hidden": hidden}
    asked = [re.sub(r"@\w+", lambda name: names[name[0]], request) for request in REQUESTS]
    short: list[bytes] = []
    taken = 0
    for request in asked:
        counted = ways("short")
        short.append(answer(house, request))
        taken += len(counted)
        ways("long")
        assert short[-1] == answer(house, request), request
    assert taken >= 20
    assert {b"200", b"201", b"304", b"400", b"401", b"403", b"404", b"405", b"409", b"410", b"412", b"415", b"431"} <= {
        given[9:12] for given in short
    }


def test_a_hot_request_that_changes_something_is_urgent() -> None:
    """The short way keeps no pace, so only reads and what begins at once anyway may take it."""
    urgent = tuple(path for area in AREAS for path in area.urgent)
    for row in ENDPOINTS:
        assert not row.hot or row.method in SAFE_METHODS or row.path.endswith(urgent), row.name


def test_no_parameter_of_a_query_is_required() -> None:
    """A request without a query string is answered without a look at the parameters of its row."""
    assert not [(row.name, field.name) for row in ENDPOINTS for field in row.query if field.required]
