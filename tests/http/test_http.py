"""HTTP's rules for the API: addresses, methods, types, sizes, and requests that never end."""

import json
import socket
from typing import Any

import pytest

from saleroom.accounts.domain.rights import Role
from saleroom.accounts.service import accounts
from saleroom.compose import ENDPOINTS
from saleroom.http import guard
from saleroom.http.endpoints import Endpoint
from saleroom.http.protocol import HEAD_BYTES_MAX
from tests.bidding.api.answers import faults, raw, refusal
from tests.fixtures_house import House, ServeHouse
from tests.http.conftest import Log
from tests.patience import SECONDS_MAX
from tests.sales.needed import PARTS

PATHS = sorted({endpoint.path for endpoint in ENDPOINTS})
FORMS = [endpoint for endpoint in ENDPOINTS if endpoint.form is not None]
BODY_BYTES_MAX = 65_536
ENDLESS_BYTES = 10_000_000
"""More than the buffers of a connection hold."""
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND")
LOGIN = b"POST /login HTTP/1.1\r\nHost: x\r\nX-Requested-With: x\r\nContent-Type: application/json\r\n"
FORM = b"POST /session HTTP/1.1\r\nHost: x\r\nCookie: saleroom_csrf=x\r\nContent-Type: application/x-www-form-urlencoded\r\n"
each_form = pytest.mark.parametrize("endpoint", FORMS, ids=lambda endpoint: endpoint.name)


def path_of(house: House, endpoint: Endpoint[Any]) -> str:
    """Return an endpoint's path, on an auction and a user that exist, and a number."""
    ada = house.user("ada")
    return endpoint.path.format(gid=ada.gid(), username=ada.name, id="1", **PARTS)


@pytest.mark.parametrize(
    "path",
    ["/nowhere", "/auctions/", "/users/", "/Auctions", "/auctions%0A", "/me%0a", "/auctions/x/y/z", "/auctions//bids",
     "/v1/auctions", "/.env", "/..%2f", "/auctions;x", "/%00", "/\u00fc", "/login/"],
)  # fmt: skip
def test_unknown_addresses_are_404(sqlite_house: House, path: str) -> None:
    """A path that is not in the document is 404 `not_found`, for every method that passes the filter, token or not."""
    for client in (sqlite_house.anyone, sqlite_house.user("ada")):
        for method in ("GET", "POST", "PATCH", "DELETE", "OPTIONS"):
            assert (404, "not_found") == refusal(client.request(method, path))


@pytest.mark.parametrize("gid", ["AAAAAAAAAAAA", "x", "a" * 64, "a" * 65, "%00", "caf%C3%A9", "a%20b", "'%20OR%201=1"])
def test_unknown_auctions_are_404(house: House, gid: str) -> None:
    """A gid that names no auction is 404 `unknown_auction` on every endpoint of an auction, however it is spelled."""
    ada = house.user("ada")
    answers = [
        ada.get(f"/auctions/{gid}"),
        ada.patch(f"/auctions/{gid}", json={"name": "Clock"}),
        ada.delete(f"/auctions/{gid}"),
        ada.bid(gid, 1),
        ada.get(f"/auctions/{gid}/bids"),
        ada.post(f"/auctions/{gid}/buy"),
        ada.post(f"/auctions/{gid}/close", json={}),
        house.anyone.get(f"/auctions/{gid}"),
    ]
    assert [(404, "unknown_auction")] * 8 == [refusal(answer) for answer in answers]


@pytest.mark.parametrize("path", PATHS)
def test_other_methods_are_405_and_say_which_are_not(sqlite_house: House, path: str) -> None:
    """A method that a path does not take is 405. `Allow` has those it takes, and HEAD if there is GET."""
    takes = {endpoint.method for endpoint in ENDPOINTS if endpoint.path == path} | (
        {"GET"} if path == "/login" else set()
    )
    takes |= {"HEAD"} if "GET" in takes else set()
    for method in set(METHODS) - takes:
        answer = sqlite_house.user("ada").request(method, path.replace("{gid}", "AAAAAAAAAAAA"))
        assert 405 == answer.status_code, method
        assert method == "HEAD" or "method_not_allowed" == answer.json()["code"]
        assert takes == set(answer.headers["allow"].split(", "))


@pytest.mark.parametrize(
    "path", ["/auctions", "/auctions/{gid}", "/auctions/{gid}/bids", "/me", "/healthz", "/nowhere"]
)
def test_head_is_get_without_a_body(sqlite_house: House, path: str) -> None:
    """HEAD has the status and headers of GET, also its length, and no body."""
    ada = sqlite_house.user("ada")
    path = path.replace("{gid}", ada.gid())
    got, head = ada.get(path), ada.head(path)
    assert b"" == head.content
    # The instant differs, and so does the cursor in the link to the next page, which is sealed again each time.
    same = [{**one.headers, "date": "", "link": len(one.headers.get("link", ""))} for one in (got, head)]
    assert (got.status_code, same[0]) == (head.status_code, same[1])


@each_form
@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "json", "*/*"]
)
def test_bodies_of_other_types_are_415(sqlite_house: House, endpoint: Endpoint[Any], kind: str) -> None:
    """A body of any other type is 415, even if it is JSON."""
    answer = sqlite_house.user("ada").request(
        endpoint.method, path_of(sqlite_house, endpoint), content=b"{}", headers={"Content-Type": kind}
    )
    assert (415, "unsupported_media_type") == refusal(answer)


@each_form
def test_a_body_without_a_type_is_415(sqlite_house: House, endpoint: Endpoint[Any]) -> None:
    """A body without a Content-Type is refused."""
    answer = sqlite_house.user("ada").request(endpoint.method, path_of(sqlite_house, endpoint), content=b"{}")
    assert (415, "unsupported_media_type") == refusal(answer)


@pytest.mark.parametrize(
    "kind",
    ["application/json", "text/json", "application/json; charset=utf-8", "Application/JSON", "text/json;charset=UTF-8"],
)
def test_json_is_json_by_either_name(sqlite_house: House, kind: str) -> None:
    """`application/json` and `text/json` are read, with parameters and in any case."""
    body = json.dumps({"name": "Clock", "startingPrice": "1"})
    answer = sqlite_house.user("ada").post("/auctions", content=body, headers={"Content-Type": kind})
    assert 201 == answer.status_code


@each_form
def test_a_body_that_says_it_is_too_large_is_413_unread(sqlite_house: House, endpoint: Endpoint[Any]) -> None:
    """A declared length over 64 KiB is refused with the limit, before any byte of the body."""
    answer = raw(sqlite_house, head(sqlite_house, endpoint, f"Content-Length: {BODY_BYTES_MAX + 1}"))
    assert (413, "body_too_large", BODY_BYTES_MAX) == too_large(answer)


@each_form
def test_a_body_that_turns_out_too_large_is_413_and_read_no_further(
    sqlite_house: House, endpoint: Endpoint[Any]
) -> None:
    """A body without a length is refused at the first byte over the limit. The answer does not wait for the body's end."""
    chunk = b"%x\r\n%s\r\n" % (BODY_BYTES_MAX + 1, b" " * (BODY_BYTES_MAX + 1))
    answer = raw(sqlite_house, head(sqlite_house, endpoint, "Transfer-Encoding: chunked") + chunk)
    assert (413, "body_too_large", BODY_BYTES_MAX) == too_large(answer)


def head(house: House, endpoint: Endpoint[Any], length: str) -> bytes:
    """Return the head of a request with a JSON body to an endpoint."""
    return (
        f"{endpoint.method} {path_of(house, endpoint)} HTTP/1.1\r\nHost: x\r\nX-Requested-With: x\r\n"
        f"Authorization: Bearer {house.user('ada').token}\r\nContent-Type: application/json\r\n{length}\r\n\r\n"
    ).encode()


def too_large(answer: bytes) -> tuple[int, str, int]:
    """Return the status, code and limit of an answer that ends the connection."""
    start, _, body = answer.partition(b"\r\n\r\n")
    assert b"connection: close" in start.lower()
    found: dict[str, Any] = json.loads(body)
    return int(start.split()[1]), found["code"], found["limit"]


def test_the_limit_itself_is_allowed(sqlite_house: House) -> None:
    """A body of exactly 64 KiB is read."""
    body = json.dumps({"name": "Clock", "startingPrice": "1"}).ljust(BODY_BYTES_MAX)
    headers = {"Content-Type": "application/json"}
    assert 201 == sqlite_house.user("ada").post("/auctions", content=body, headers=headers).status_code
    assert 413 == sqlite_house.user("ada").post("/auctions", content=f"{body} ", headers=headers).status_code


def test_the_size_of_a_body_is_a_setting(serve_house: ServeHouse) -> None:
    """`body_bytes_max` sets the limit, and the answer has it."""
    house = serve_house(body_bytes_max=2000)
    answer = house.user("ada").post(
        "/auctions", json={"name": "Clock", "startingPrice": "1", "description": "a" * 2000}
    )
    assert (413, 2000) == (answer.status_code, answer.json()["limit"])


def test_a_body_that_does_not_arrive_is_408(sqlite_house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that stalls in the middle of a body is answered 408, and the connection ends."""
    monkeypatch.setattr("saleroom.http.requests.BODY_SECONDS_MAX", 0.2)
    [create] = [endpoint for endpoint in FORMS if endpoint.name == "createAuction"]
    answer = raw(sqlite_house, head(sqlite_house, create, "Content-Length: 100") + b'{"name":')
    assert answer.startswith(b"HTTP/1.1 408 ") and b'"code":"request_timeout"' in answer


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"P",
        b"POST /auc",
        b"POST /auctions HTTP/1.1\r\nHost: x\r\nX-Requ",
        b"POST /auctions HTTP/1.1\r\nHost: x\r\nX-Requested-With: x\r\n\r\n",
        LOGIN + b'Content-Length: 99\r\n\r\n{"username": "ada", ',
        LOGIN + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{",
        FORM + b"Content-Length: 99\r\n\r\ncsrfTok",
        b"GET /auctions HTTP/1.1\r\nHost: x\r\n\r\nGET /auctions HT",
    ],
)
def test_half_a_request_leaves_no_error(sqlite_house: House, sent: bytes) -> None:
    """A client that hangs up in the middle of a request leaves no error in the log, and the house continues to serve."""
    for _ in range(3):
        with socket.create_connection(("127.0.0.1", sqlite_house.port)) as connection:
            connection.sendall(sent)
    raw(sqlite_house, sent, then_close=True)
    assert 200 == sqlite_house.anyone.get("/healthz").status_code


@pytest.mark.parametrize(
    "sent",
    [
        b"nonsense\r\n\r\n",
        b"GET /auctions HTTP/1.1\r\nHost: x\r\nX-A: a\x01b\r\n\r\n",
        b"GET /auc\xfftions HTTP/1.1\r\nHost: x\r\n\r\n",
        b"POST /login HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST /login HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
def test_bytes_that_are_not_http_are_400(sqlite_house: House, sent: bytes) -> None:
    """Garbage, TLS on the plain port, and ambiguous requests are 400, and the connection ends."""
    head, _, body = raw(sqlite_house, sent).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert b"content-type: application/json" in head and b"x-content-type-options: nosniff" in head
    faults_of = {"request": [{"code": "malformed_http", "message": "is not HTTP/1.1"}]}
    assert {"message": faults_of, "code": "validation"} == json.loads(body)


@pytest.mark.parametrize("endless", [b"a" * 65_536, b"a" * 1_000 + b"\r\nX-B: "], ids=["one header", "many headers"])
def test_headers_without_an_end_are_431(sqlite_house: House, endless: bytes) -> None:
    """Endless headers are refused after 32 KiB, and the connection ends."""
    started = b"GET /auctions HTTP/1.1\r\nHost: x\r\nX-A: "
    head, _, body = raw(sqlite_house, started + endless * (ENDLESS_BYTES // len(endless))).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 431 ") or head == b""  # a client that does not stop sending may miss the answer
    assert body == b"" or "headers_too_large" == json.loads(body)["code"]
    assert 200 == sqlite_house.anyone.get("/healthz").status_code


def test_the_answer_to_headers_without_an_end(sqlite_house: House) -> None:
    """A client that stops sending there and reads gets 431 as JSON, with the limit."""
    sent = b"GET / HTTP/1.1\r\nHost: x\r\nX-A: ".ljust(HEAD_BYTES_MAX + 1, b"a")
    head, _, body = raw(sqlite_house, sent).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 431 Request Header Fields Too Large\r\n")
    assert b"connection: close" in head and b"x-frame-options: DENY" in head
    found = json.loads(body)
    assert ("headers_too_large", guard.HEADER_BYTES_MAX) == (found["code"], found["limit"])


def test_a_large_body_does_not_count_as_the_next_head(sqlite_house: House) -> None:
    """The second of two requests in one piece is judged by its own head, however large the first one's body is."""
    body = b'{"username": "' + b"a" * 60_000 + b'", "password": "x"}'
    first = b"POST /login HTTP/1.1\r\nHost: x\r\nX-Requested-With: x\r\nContent-Type: application/json\r\n"
    first += b"Content-Length: %d\r\n\r\n" % len(body) + body
    second = [b"GET /healthz HTTP/1.1\r\nHost: x\r\n", b"Connection: close\r\n\r\n"]
    with socket.create_connection(("127.0.0.1", sqlite_house.port), timeout=SECONDS_MAX) as connection:
        connection.sendall(first + second[0])
        answer = connection.recv(65536)
        connection.sendall(second[1])
        while part := connection.recv(65536):
            answer += part
    assert b"HTTP/1.1 431" not in answer
    assert answer.endswith(b'{"status":"ok"}')


def test_an_internal_error_tells_nothing(
    sqlite_house: House, monkeypatch: pytest.MonkeyPatch, errors_logged: Log
) -> None:
    """500 has a sentence and a code. The log has the exception and the path."""

    def fail(*_: object) -> None:
        raise RuntimeError("a detail of the inside")

    monkeypatch.setattr(accounts, "authenticate", fail)
    answer = sqlite_house.user("ada").get("/me")
    assert 500 == answer.status_code
    assert {"message": "Something went wrong inside; it has been logged.", "code": "internal_error"} == answer.json()
    [entry] = errors_logged
    assert ("internal error", "/me") == (entry["event"], entry["path"])
    assert isinstance(entry["exc_info"], RuntimeError)
    errors_logged.clear()


def test_no_cache_gives_to_others_what_a_token_shows(sqlite_house: House) -> None:
    """An answer that needs a token is not kept; one that a token may change is asked for again, by each token."""
    ada = sqlite_house.user("ada")
    gid = ada.auction()
    for path in ("/me/rights", "/me/webhooks", "/me/calendar"):
        assert "no-store" == ada.get(path).headers["cache-control"], path
    for path in (f"/auctions/{gid}", f"/auctions/{gid}/questions", f"/auctions/{gid}/bids"):
        for reader in (ada, sqlite_house.anyone):
            headers = reader.get(path).headers
            assert ("no-cache", "Authorization") == (headers["cache-control"], headers["vary"]), path
    assert "cache-control" not in sqlite_house.anyone.get(f"/auctions/{gid}/photos").headers


def test_no_cache_keeps_that_something_is_not_there(sqlite_house: House) -> None:
    """A cache forgets 404, 405 and 410 at once: the lot may soon be there again."""
    gid = sqlite_house.user("ada").auction()
    said = {"reason": "It may be stolen."}
    assert 200 == sqlite_house.staff(Role.AUCTIONEER).request("PUT", f"/auctions/{gid}/hiding", json=said).status_code
    for path, status in ((f"/auctions/{gid}", 410), ("/auctions/nowhere", 404), ("/nowhere", 404), ("/users", 405)):
        answer = sqlite_house.anyone.request("GET", path, headers={"Accept": "application/json"})
        assert (status, "no-store") == (answer.status_code, answer.headers["cache-control"]), path


def test_health(house: House) -> None:
    """GET /healthz is 200 once the house serves. GET /readyz has the state of database and broker. Neither is cached."""
    for path, expected in (
        ("/healthz", {"status": "ok"}),
        ("/readyz", {"status": "ok", "database": "ok", "mqtt": "off"}),
    ):
        answer = house.stranger.get(path)
        assert expected.items() <= answer.json().items()
        assert "no-store" == answer.headers["cache-control"]
    assert house.stranger.get("/readyz").json()["owed"] >= 0


def test_unread_parameters_are_faults_of_their_own(sqlite_house: House) -> None:
    """GET /readyz takes no parameter, like every other address without parameters."""
    assert {"verbose": ["unknown"]} == faults(sqlite_house.anyone.get("/readyz?verbose=1"))
