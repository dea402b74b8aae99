"""Malformed HTTP: requests with damaged bytes and odd headers, to every address."""

import json
import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import h11
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from saleroom.compose import ENDPOINTS
from tests import pictures
from tests.fixtures_house import House, User
from tests.fixtures_hypothesis import FUZZED, on_a_database
from tests.fuzz.mangling import mangled, mangled_text, nasty, nasty_bytes
from tests.fuzz.test_bodies import members, written
from tests.patience import SECONDS_MAX

pytestmark = pytest.mark.databases(*FUZZED)

LIMITS = (
    "http.protocol.HEAD_SECONDS_MAX",
    "http.requests.BODY_SECONDS_MAX",
    "http.multipart.PACE_SECONDS",
    "http.client_connection.LINGER_SECONDS",
)
WAIT_SECONDS = 0.3
"""How long the house waits for the rest of a request, by each of these limits, before it ends the connection."""
BOUNDARY = "xYzZy"
PAGES = (
    *(
        ("GET", path)
        for path in ("/", "/lots/{gid}", "/lots/{gid}/bids", "/lots/{gid}/box", "/lots/{gid}/screen", "/docs")
    ),
    *(
        ("GET", path)
        for path in ("/lots/{gid}/qr.svg", "/sell", "/sell/{gid}", "/mine", "/mine/selling", "/mine/sessions")
    ),
    *(
        ("GET", path)
        for path in ("/login", "/register", "/language/de", "/assets/x.css", "/photos/x/400.webp", "/nowhere")
    ),
    *(
        ("POST", path)
        for path in ("/session", "/register", "/sell", "/sell/{gid}", "/lots/{gid}/bid", "/lots/{gid}/buy")
    ),
    *(("POST", path) for path in ("/lots/{gid}/watch", "/mine/sessions/end", "/sell/{gid}/close", "/sell/photos")),
    *((method, "/mine/password") for method in ("GET", "POST")),
    *(("POST", path) for path in ("/session/code", "/mine/security/codes", "/mine/security/codes/confirmation")),
    *(("POST", path) for path in ("/mine/access-tokens", "/mine/access-tokens/revoke")),
)
STREAMS = ("/events", "/auctions/{gid}/events")
ENDING = ("/me/token", "/me/sessions")
"""Addresses that would log out the user who sends all requests."""

parts = st.sampled_from(
    [
        "name",
        "startingPrice",
        "photo",
        "csrfToken",
        "maximum",
        "amount",
        "username",
        "password",
        "newPassword",
        "endsAt",
    ]
)
uploads = st.lists(
    st.builds(
        lambda name, value, file: (
            f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n'.encode() + value + b"\r\n"
        ),
        parts,
        st.sampled_from([b"12.50", b"Clock", pictures.plain((20, 20))]),
        st.sampled_from(["", '; filename="a.jpg"\r\nContent-Type: image/jpeg', "; filename*=UTF-8''%ff"]),
    ),
    max_size=5,
).map(lambda found: b"".join(found) + f"--{BOUNDARY}--\r\n".encode())
fields = st.dictionaries(parts, st.sampled_from(["12,50", "Clock", "%ff", "%00", "+", "9" * 30]), max_size=5).map(
    lambda found: "&".join(f"{name}={value}" for name, value in found.items()).encode()
)
TYPES = {
    "application/json": None,
    "application/x-www-form-urlencoded": fields,
    f"multipart/form-data; boundary={BOUNDARY}": uploads,
    "image/jpeg": st.just(pictures.plain((20, 20))),
}
HEADERS: dict[str, st.SearchStrategy[str]] = {
    "Authorization": st.sampled_from(["Bearer x", "Bearer", "", "Basic YTpi", "Bearer " + "A" * 3000]),
    "Idempotency-Key": st.sampled_from(["", "a", "k" * 255, "k" * 256, "ü"]),
    "If-None-Match": st.sampled_from(['"1"', 'W/"1"', "*", '"', '"a", "b",,', "1"]),
    "If-Modified-Since": st.sampled_from(["Sat, 21 Nov 2026 12:00:00 GMT", "yesterday"]),
    "Range": st.sampled_from(
        ["bytes=0-10", "bytes=-1", "bytes=5-1", "bytes=0-1,3-4", "bytes=" + "0-0," * 300, "lines=1-2"]
    ),
    "If-Range": st.sampled_from(['"1"', "x"]),
    "Accept-Language": st.sampled_from(["de-CH,de;q=0.9", "*;q=0", "x-y", "en;q=٣"]),
    "Accept": st.sampled_from(["text/html", "*/*;q=x", "application/json"]),
    "Accept-Encoding": st.sampled_from(["br", "gzip;q=0, *", "identity;q=0"]),
    "Cookie": st.sampled_from(["saleroom_session=x", "saleroom_language=de", "=;=;", '"', "a=" + "b" * 3000]),
    "Content-Type": st.sampled_from(
        [*TYPES, "text/plain", "multipart/form-data", "application/json; charset=utf-16", "/"]
    ),
    "Last-Event-ID": st.sampled_from(["0", "a/1", "{gid}/1", "x"]),
    "Host": st.sampled_from(["localhost", "a.example:80", "[::1]", "a b", "x" * 300]),
    "Origin": st.sampled_from(["https://a.example", "null"]),
    "User-Agent": st.sampled_from(["Mozilla/5.0 Firefox/140.0", "curl/8"]),
    "X-Forwarded-For": st.sampled_from(["1.2.3.4", "::1, x", "%"]),
    "X-CSRF-Token": st.sampled_from(["00", "x", "a" * 129]),
    "X-Requested-With": st.sampled_from(["x", ""]),
    "Content-Length": st.sampled_from(["0", "1", "-1", "+5", "٣", "99999999999", "9" * 30, "5, 5"]),
    "Transfer-Encoding": st.sampled_from(["chunked", "identity", "gzip, chunked", "xchunked"]),
    "Expect": st.sampled_from(["100-continue", "x"]),
    "Upgrade": st.sampled_from(["websocket", "h2c"]),
    "Connection": st.sampled_from(["close", "keep-alive", "upgrade"]),
    "HX-Request": st.just("true"),
}
queries = st.dictionaries(
    st.sampled_from(["limit", "cursor", "after", "q", "sort", "status", "author", "page"]),
    st.sampled_from(["1", "0", "-1", "9" * 30, "x", "ending", "%ff", "%00", "W10", "WyIxIiwxLCIxIl0", "%F0%9F%92%A9"]),
    max_size=3,
).map(lambda found: "&".join(f"{name}={value}" for name, value in found.items()))
LATIN = re.compile(r"[^\x20-\x7e\x80-\xff]")


HEADER_VALUES = {name: usual | mangled_text(usual) | nasty() for name, usual in HEADERS.items()}
NO_FIELDS = members(()).map(written)
ROWS: list[tuple[str, str, st.SearchStrategy[bytes] | None]] = [
    *(
        (row.method, row.path, None if row.form is None else members(row.form.fields).map(written))
        for row in ENDPOINTS
        if row.path not in (*STREAMS, *ENDING)
    ),
    *((method, path, None) for method, path in PAGES),
]
"""The method and path of each address, and bodies that its form would take."""


@st.composite
def requests(draw: st.DrawFn, gid: str, token: str) -> bytes:
    """A request to some address; a house would take most of them."""
    method, path, bodies = draw(st.sampled_from(ROWS))
    path, query = re.sub(r"\{.*?\}", gid, path), draw(queries)
    usual = "application/json" if bodies is not None else "application/x-www-form-urlencoded"
    kind = draw(st.sampled_from([*[usual] * 8, *TYPES]))
    of_type = TYPES[kind] if TYPES[kind] is not None else bodies
    body = b""
    if method in ("POST", "PATCH", "PUT"):
        body = draw(NO_FIELDS if of_type is None else of_type)
    headers = {
        "Host": "localhost",
        "Authorization": f"Bearer {token}",
        "X-Requested-With": "fuzz",
        "Content-Type": kind,
    }
    for name in draw(st.lists(st.sampled_from(list(HEADERS)), max_size=4, unique=True)):
        headers[name] = LATIN.sub("", draw(HEADER_VALUES[name]).replace("{gid}", gid))
    headers.setdefault("Content-Length", str(len(body)))
    if draw(st.integers(0, 9)) == 0:
        method = draw(st.sampled_from(["HEAD", "OPTIONS", "DELETE", "PATCH", "TRACE", "CONNECT", "GET", "get", "FOO"]))
    lines = [
        f"{method} {path}{'?' * bool(query)}{query} HTTP/1.1",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join(lines).encode("latin-1", "replace") + b"\r\n\r\n" + body


def answers(house: House, sent: bytes) -> Iterator[tuple[int, dict[str, str], bytes]]:
    """Send bytes, and yield each answer in full: status, headers, body."""
    last = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    reader = h11.Connection(h11.CLIENT)
    received = b""
    with socket.create_connection(("127.0.0.1", house.port), timeout=SECONDS_MAX) as line, suppress(OSError):
        line.sendall(sent + last)
        while b"text/event-stream" not in received and (piece := line.recv(65_536)):
            received += piece
    method = sent.split(b" ", 1)[0][:20]
    while received.startswith(b"HTTP/1.1 "):
        reader = h11.Connection(h11.CLIENT)
        reader.send(h11.Request(method="HEAD" if method == b"HEAD" else "GET", target="/", headers=[("Host", "x")]))
        reader.send(h11.EndOfMessage())
        reader.receive_data(received)
        head: Any = None
        body = b""
        while True:
            event = reader.next_event()
            if isinstance(event, h11.Response):
                head = event
            elif isinstance(event, h11.Data):
                body += bytes(event.data)
            elif isinstance(event, h11.InformationalResponse):
                continue
            else:
                break
        if head is None or not isinstance(event, h11.EndOfMessage):
            return
        yield head.status_code, {name.decode(): value.decode("latin-1") for name, value in head.headers}, body
        received, method = bytes(reader.trailing_data[0]), b"GET"


def well_formed(status: int, headers: dict[str, str], body: bytes) -> None:
    """No answer is an internal error, none may be sniffed, and an answer marked as JSON is JSON."""
    assert status < 500, body
    assert "nosniff" == headers.get("x-content-type-options")
    assert "traceback" not in body.decode("utf-8", "replace").lower()
    if headers.get("content-type") == "application/json" and body:
        content = json.loads(body)
        if status >= 400:
            assert content["message"]


@pytest.fixture(scope="module", autouse=True)
def haste(house: House) -> Iterator[None]:
    """The house of these tests does not wait long for the rest of a request, nor for the next one."""
    with pytest.MonkeyPatch.context() as patch:
        for limit in LIMITS:
            patch.setattr(f"saleroom.{limit}", WAIT_SECONDS)
        patch.setattr(house._server.config, "timeout_keep_alive", 1)
        yield


@pytest.fixture(scope="module")
def seller(house: House) -> User:
    """The user who sends all requests."""
    return house.newcomer()


@on_a_database(120)
@given(data=st.data())
def test_a_request_is_answered_below_500(house: House, seller: User, data: st.DataObject) -> None:
    """Any request, whole or damaged, has an answer that is well-formed, and the house goes on."""
    sent = data.draw(mangled(requests(seller.gid(), seller.token)) | requests(seller.gid(), seller.token), label="sent")
    for number, (status, headers, body) in enumerate(answers(house, sent)):
        event(f"answer {number}: {status}")
        well_formed(status, headers, body)


@pytest.mark.parametrize(("more", "status"), [(0, 400), (1, 413)])
def test_a_body_of_the_greatest_length_is_read(house: House, seller: User, more: int, status: int) -> None:
    """A body as long as the limit is read, in one piece or in chunks; one byte more is refused."""
    length = house.settings.body_bytes_max + more
    head = f"POST /auctions HTTP/1.1\r\nHost: x\r\nX-Requested-With: x\r\nAuthorization: Bearer {seller.token}\r\n"
    head += "Content-Type: application/json\r\n"
    for framing, body in (
        (f"Content-Length: {length}", b"x" * length),
        ("Transfer-Encoding: chunked", b"%x\r\n%s\r\n0\r\n\r\n" % (length, b"x" * length)),
    ):
        found = next(answers(house, f"{head}{framing}\r\n\r\n".encode() + body))
        assert status == found[0], framing


@on_a_database(20)
@given(st.lists(nasty_bytes() | st.binary(max_size=60), min_size=1, max_size=5).map(b"".join))
def test_bytes_that_are_not_http_are_refused(house: House, sent: bytes) -> None:
    """Any bytes are refused, or the house waits for more, and the next client is served."""
    for status, headers, body in answers(house, sent):
        well_formed(status, headers, body)
    assert 200 == house.plain.get("/healthz").status_code
