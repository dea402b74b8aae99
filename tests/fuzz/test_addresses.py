"""Every path parameter, header, cookie, query parameter and form field of the API and of the pages, filled with anything."""

import json
import re
import socket
from contextlib import suppress
from functools import cache
from urllib.parse import quote, quote_from_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saleroom.bidding.api.lists import AUCTIONS, BID_ON, BIDS, DEALINGS, WATCHED
from saleroom.compose import ENDPOINTS
from tests.fixtures_house import House, User
from tests.fixtures_hypothesis import FUZZED, on_a_database
from tests.fuzz.mangling import as_bytes, nasty
from tests.page_routes import methods, page_routes
from tests.patience import SECONDS_MAX
from tests.sealing import plain, sealed

PAGES = page_routes()
ADDRESSES = (
    *((row.method, row.path) for row in ENDPOINTS),
    *((method, route.path) for route in PAGES for method in methods(route)),
)
STREAMS = tuple(number for number, (_, path) in enumerate(ADDRESSES) if path.endswith(("/events", "/live")))
ENDING = ("/logout", "/me/sessions", "/session/end", "/mine/sessions/end-all")
"""Addresses that log the user out: their requests have no live token."""
TEMPLATES = sorted({(method, path) for method, path in ADDRESSES if "{" in path})
DIGITS = ("0", "1", "-1", "9" * 10, "9" * 18, "9" * 19, "9" * 30, "9" * 4300, "9" * 4301, "9" * 5000, "1e5", "٣", "²")
SEGMENTS = (
    *("", ".", "..", "%2e%2e", "..%2f", "%2f", "%5c", "%00", "%0a", "%0d%0a", "%ff", "%ed%a0%80", "%", "%zz"),
    *("{gid}", "{id}", "{width}", "{file:path}", "{tag}", "null", "*", "~", ";", "a" * 64, "a" * 65, "a" * 6000),
)
"""Values as they stand in the address; bytes that are not text are written as they would be sent."""
HEADERS = (
    *(
        "Accept",
        "Accept-Encoding",
        "Accept-Language",
        "Authorization",
        "Connection",
        "Content-Type",
        "Cookie",
        "Expect",
    ),
    *(
        "Forwarded",
        "Host",
        "HX-Request",
        "Idempotency-Key",
        "If-Match",
        "If-Modified-Since",
        "If-None-Match",
        "If-Range",
    ),
    *(
        "Last-Event-ID",
        "Origin",
        "Range",
        "Referer",
        "User-Agent",
        "X-CSRF-Token",
        "X-Forwarded-For",
        "X-Forwarded-Host",
    ),
    *("X-Forwarded-Proto", "X-HTTP-Method-Override", "X-Requested-With"),
)
COOKIES = ("saleroom_session", "saleroom_csrf", "saleroom_language", "other")
QUERY = ("after", "author", "before", "cursor", "limit", "lots", "next", "now", "over", "q", "sort", "status", "listed")
FIELDS = (
    *("amount", "author", "confirmed", "cap", "csrfToken", "currentPassword", "description", "do", "ending", "endsAt"),
    *("exactAmount", "exactMaximum", "extension", "files", "id", "increment", "key", "maximum", "name", "newPassword"),
    *("next", "password", "photo", "reservePrice", "softClose", "startsAt", "startingPrice", "step", "tierFrom"),
    *("tierStep", "username", "version", "window", "zone"),
)
USUAL = {
    "confirmed": b"yes",
    "key": b"k" * 22,
    "exactAmount": b"10.000",
    "amount": b"10",
    "maximum": b"12",
    "name": b"Clock",
    "startingPrice": b"10",
    "ending": b"at",
    "endsAt": b"2099-11-28T20:00",
    "zone": b"Europe/Berlin",
    "softClose": b"on",
    "window": b"2",
    "extension": b"2",
    "increment": b"ladder",
    "do": b"preview",
    "id": b"1",
    "username": b"nobody.1",
    "password": b"correct horse",
    "currentPassword": b"correct horse",
    "newPassword": b"x",
}
"""The fields of the pages' forms, filled in."""
numbers = st.sampled_from([-1, 0, 1, 2**31 - 1, 2**31, 2**63 - 1, 2**63, 10**400])
places = (
    st.lists(numbers | st.sampled_from(["", "1", "\0", "9" * 30, None, "2026-11-21T12:00:00Z"]), max_size=4) | numbers
)
cursors = st.builds(sealed, st.sampled_from([AUCTIONS, BIDS, BID_ON, DEALINGS, WATCHED]), places) | places.map(plain)
"""Cursors by another house's secret, or by none; `tests/bidding/api/test_lists.py` has those of the house itself."""


@cache
def texts(gid: str) -> st.SearchStrategy[bytes]:
    """Values of a parameter: digits, cursors, ids of events, texts that have broken other programs."""
    digits = st.sampled_from(DIGITS)
    usual = (
        "true",
        "on",
        "publish",
        "preview",
        "now",
        "12.50",
        "2026-11-28T20:00",
        "Europe/Berlin",
        "ladder",
        "x" * 30,
    )
    found = st.one_of(
        digits,
        cursors,
        nasty(),
        st.sampled_from(usual),
        st.sampled_from(["{gid}", "", "0", f"{gid},{gid}"]),
        digits.map(lambda number: f"{gid}/{number}"),
        digits.map(lambda number: f"bytes={number}-{number}"),
        digits.map(lambda number: f'"{number}", W/"{number}"'),
        digits.map(lambda number: f"de;q={number}, en;q=0.{number}"),
    )
    return st.sampled_from([st.binary(max_size=12), *[found.map(as_bytes)] * 9]).flatmap(lambda each: each)


@cache
def some(names: tuple[str, ...], gid: str, most: int) -> st.SearchStrategy[list[tuple[str, bytes]]]:
    """Up to so many of these names, each with one of `texts`."""
    return st.lists(st.tuples(st.sampled_from(names), texts(gid)), max_size=most)


def encoded(value: bytes) -> str:
    """Return a value as an address or a form has it."""
    return quote_from_bytes(value, safe="")


@cache
def segments(gid: str) -> st.SearchStrategy[str]:
    """The lot's own gid, or anything as a part of a path."""
    hostile = st.sampled_from(SEGMENTS) | texts(gid).map(encoded)
    return st.just(gid) | hostile | hostile.map(lambda said: gid + said)


@st.composite
def requests(draw: st.DrawFn, addresses: tuple[int, ...], gid: str, token: str) -> bytes:
    """A request to one of these addresses with anything in its parameters."""
    method, template = ADDRESSES[draw(st.sampled_from(addresses))]
    target = re.sub(r"\{.*?\}", lambda _: str(draw(segments(gid))), template)
    query = "&".join(f"{name}={encoded(value)}" for name, value in draw(some(QUERY, gid, 3)))
    headers = [("Host", b"localhost"), ("X-Requested-With", b"fuzz")]
    live = [] if template in ENDING else [token]
    session = draw(st.sampled_from([*live * 3, "x", ""]))
    kept = b"; ".join(f"{name}=".encode() + value for name, value in draw(some(COOKIES, gid, 2)))
    headers += [
        ("Authorization", b"Bearer " + session.encode()),
        ("Cookie", b"saleroom_session=%s; " % session.encode() + kept),
    ]
    headers += draw(some(HEADERS, gid, 3))
    if draw(st.integers(0, 4)) == 0:
        method = draw(st.sampled_from(["HEAD", "OPTIONS", "PUT", "PATCH", "DELETE", "GET", "POST"]))
    body = b""
    if method in ("POST", "PUT", "PATCH"):
        usual = draw(st.sampled_from([{}, USUAL]))
        sent = usual | dict(draw(some(FIELDS, gid, 4)))
        body, kind = draw(st.sampled_from([form(sent), multipart(sent), json_of(sent)]))
        headers.append(("Content-Type", kind))
    # No header may end a line; the whole head stays below the limit, so that it is read.
    lines = [f"{method} {target}{'?' * bool(query)}{query} HTTP/1.1".encode("ascii", "replace")]
    lines += [name.encode() + b": " + re.sub(rb"[\r\n\0]", b"", value) for name, value in headers]
    lines += [b"Content-Length: %d" % len(body), b"Connection: close"]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def form(sent: dict[str, bytes]) -> tuple[bytes, bytes]:
    """Return the fields as a browser sends them, and their media type."""
    body = "&".join(f"{name}={encoded(value)}" for name, value in sent.items())
    return body.encode(), b"application/x-www-form-urlencoded"


def multipart(sent: dict[str, bytes]) -> tuple[bytes, bytes]:
    """Return the same as a form with files."""
    parts = [
        b'--b\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n' % (n.encode(), v) for n, v in sent.items()
    ]
    return b"".join(parts) + b"--b--\r\n", b"multipart/form-data; boundary=b"


def json_of(sent: dict[str, bytes]) -> tuple[bytes, bytes]:
    """Return the same as JSON."""
    content = {
        name: value.decode("utf-8", "surrogatepass") if value.isascii() else str(value) for name, value in sent.items()
    }
    return json.dumps(content).encode(), b"application/json"


def status_of(house: House, sent: bytes) -> int | None:
    """Return the status of the answer, of a stream once something came after its head; None if the house hung up."""
    received = b""
    with socket.create_connection(("127.0.0.1", house.port), timeout=SECONDS_MAX) as line, suppress(ConnectionError):
        line.sendall(sent)
        while piece := line.recv(65_536):
            received += piece
            head, _, rest = received.partition(b"\r\n\r\n")
            if b"text/event-stream" in head and rest:
                break
    found = re.match(rb"HTTP/1\.1 ([0-9]{3}) ", received)
    return None if found is None else int(found[1])


@pytest.fixture(scope="module")
def sender(house: House) -> User:
    """The user who sends all requests."""
    return house.newcomer()


def open_lot(sender: User) -> str:
    """Return an open lot of the sender's; a new one if a request has closed or cancelled the last."""
    if sender.json("GET", f"/auctions/{sender.gid()}")["status"] != "open":
        sender._gid = ""
    return sender.gid()


@on_a_database(150)
@given(data=st.data())
def test_any_parameter_is_answered_below_500(house: House, sender: User, data: st.DataObject) -> None:
    """With anything in the parameters of any address, the answer is not an internal error, and none is logged."""
    sent = data.draw(requests(tuple(range(len(ADDRESSES))), open_lot(sender), sender.token), label="sent")
    status = status_of(house, sent)
    assert status is not None
    assert status < 500


@pytest.mark.databases(*FUZZED)
@on_a_database(60)
@given(data=st.data())
def test_any_parameter_of_a_stream_is_answered_below_500(house: House, sender: User, data: st.DataObject) -> None:
    """The same holds for the event streams of the API and of the pages, where an error may come after the head."""
    sent = data.draw(requests(STREAMS, open_lot(sender), sender.token), label="sent")
    status = status_of(house, sent)
    assert status is not None
    assert status < 500


@pytest.mark.databases(*FUZZED)
@pytest.mark.parametrize(("method", "template"), TEMPLATES)
def test_a_pattern_sent_literally_is_no_address(house: House, sender: User, method: str, template: str) -> None:
    """The literal letters `{gid}` name nothing: 404, on the API and on pages, encoded or not."""
    for path in (template, quote(template)):
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: x\r\nX-Requested-With: x\r\nConnection: close\r\nContent-Length: 2\r\n"
        )
        login = f"Authorization: Bearer {sender.token}\r\nCookie: saleroom_session={sender.token}\r\n"
        body = b"{}"
        status = status_of(house, f"{head}{login}Content-Type: application/json\r\n\r\n".encode() + body)
        # A form is read before its lot is looked for, and JSON is not a form. The back office is for staff alone.
        allowed = {404} | ({400} if method == "POST" else set()) | ({403} if template.startswith("/admin/") else set())
        assert status in allowed, path


@pytest.mark.parametrize("path", ["/auctions/{gid}/events", "/lots/{gid}/live", "/events"])
def test_an_event_of_any_number_is_refused(house: House, sender: User, path: str) -> None:
    """The number of a missing event, with any number of digits, is 400 on every stream that would go on after it."""
    gid = open_lot(sender)
    for number in DIGITS[3:]:
        head = f"GET {path.replace('{gid}', gid)} HTTP/1.1\r\nHost: x\r\nLast-Event-ID: {gid}/"
        sent = head.encode() + number.encode() + b"\r\nConnection: close\r\n\r\n"
        assert 400 == status_of(house, sent), number[:20]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/auctions?limit={number}", 400),
        ("/auctions/{gid}/bids?limit={number}", 400),
        ("/lots/{gid}/live?after={number}", 200),
        ("/lots/{gid}/receipts?before={number}", 200),
        ("/lots/{gid}/receipts/{number}.txt", 404),
        ("/photos/{gid}/{number}.webp", 404),
    ],
)
def test_a_number_of_any_length_is_answered(house: House, sender: User, path: str, status: int) -> None:
    """A number in a path or a query may have any number of digits: a refusal, or an answer as without it."""
    gid = open_lot(sender)
    for number in DIGITS[3:10]:
        target = path.replace("{gid}", gid).replace("{number}", number)
        head = (
            f"GET {target} HTTP/1.1\r\nHost: x\r\nCookie: saleroom_session={sender.token}\r\nConnection: close\r\n\r\n"
        )
        assert status == status_of(house, head.encode()), number[:20]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/auctions/unknown/events", 404),
        ("/lots/unknown/live", 404),
        ("/lots/unknown/screen/live", 404),
        ("/auctions/{gid}/events?after={gid}/9", 400),
        ("/auctions/{gid}/events?after=x", 400),
        ("/events?after=unknown/9", 400),
        ("/auctions/{gid}/events", 200),
        ("/lots/{gid}/live", 200),
        ("/live?lots={gid}", 200),
        ("/events", 200),
    ],
)
def test_head_of_a_stream_is_that_of_get(house: House, sender: User, path: str, status: int) -> None:
    """HEAD of a stream has the status of GET, and ends after its headers."""
    for method in ("GET", "HEAD"):
        target = path.replace("{gid}", open_lot(sender))
        sent = f"{method} {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode()
        assert status == status_of(house, sent), method


@pytest.mark.parametrize("action", ["bid", "buy", "watch", "unwatch"])
@pytest.mark.parametrize("gid", ["a%00", "%F0%9F%92%A9", "a" * 65])
def test_a_form_for_no_lot_goes_no_further(house: House, sender: User, action: str, gid: str) -> None:
    """A form for a gid that no lot can have is 404 before it comes to the desk or to the database."""
    body, kind = form(USUAL)
    head = f"POST /lots/{gid}/{action} HTTP/1.1\r\nHost: x\r\nX-Requested-With: x\r\nConnection: close\r\n"
    head += f"Cookie: saleroom_session={sender.token}\r\nContent-Type: {kind.decode()}\r\n"
    assert 404 == status_of(house, f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
