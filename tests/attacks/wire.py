"""Attacks on HTTP itself: where a request begins, how many may wait, and what a head may hold."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress

from tests.attacks.table import Attack
from tests.attacks.target import Answer, RawConnection, Target, request

LATER_SECONDS, MORE_SECONDS = 0.3, 1.0
HELD_BYTES_MAX = 2 * 2**20
"""How much memory one connection may take, whatever is sent over it."""
PIPELINES = 20
PIPELINED_BYTES = 12 * 2**20
UPGRADES = 500
LOG_LINES_MAX, LOG_LINES_A_SECOND_MAX = 20, 2
"""What repeats is logged once a second for each kind."""


def smuggled(target: Target) -> str | None:
    """The body of a request that asks for another protocol holds a second request, which must not be answered."""

    def answered(protocol: str) -> list[int]:
        inner = request("GET", "/healthz")
        outer = request("POST", "/login", None, b'{"x": 1}' + inner, Connection="Upgrade", Upgrade=protocol)
        head, _, body = outer.partition(b"\r\n\r\n")
        with target.raw() as raw:
            raw.send(head + b"\r\n\r\n")
            time.sleep(LATER_SECONDS)
            raw.send(body)
            return [one.status for one in _all(raw)]

    protocols = ("websocket", "h2c", "TLS/1.0", "anything")
    with ThreadPoolExecutor(len(protocols)) as pool:
        for protocol, statuses in zip(protocols, pool.map(answered, protocols), strict=True):
            if 200 in statuses:
                return f"Upgrade: {protocol}: the body was read as a request of its own, answers {statuses}"
            if statuses != [400]:
                return f"Upgrade: {protocol}: answers {statuses}, where one 400 for the login is due"
    return None


def offered_another_protocol(target: Target) -> str | None:
    """A client that offers HTTP/2, as Java's and `curl --http2` do, is answered as any other."""
    person, password = target.member()
    body = {"username": person.name, "password": password}
    more = {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2_Settings": "AAMAAABkAAQAAP__"}
    with target.raw() as raw:
        raw.send(request("POST", "/login", None, body, **more))
        answer = raw.answer()
    return None if answer is not None and answer.status == 200 else f"a login that offers h2c: {_status(answer)}"


def upgrades_in_the_log(target: Target) -> str | None:
    """Many offers of another protocol, and many malformed requests, leave few lines in the log."""
    before, began = target.served.log().count("\n"), time.monotonic()
    for number in range(UPGRADES):
        with target.raw() as raw:
            if number % 2:
                raw.send(request("GET", "/healthz", Connection="Upgrade", Upgrade="x"))
            else:
                raw.send(b"NONSENSE\x00\r\n\r\n")
            raw.answer()
    lines = target.served.log().count("\n") - before
    bound = max(LOG_LINES_MAX, LOG_LINES_A_SECOND_MAX * (time.monotonic() - began))
    return None if lines <= bound else f"{UPGRADES} requests left {lines} lines in the log"


def behind_a_stream(target: Target) -> str | None:
    """Requests behind a stream that does not end must not be kept without a bound."""
    piece = request("GET", "/healthz") * 1000
    before = target.memory_bytes()

    def fill(raw: RawConnection) -> None:
        raw.send(request("GET", "/events"))
        raw.socket.settimeout(0.3)
        sent = 0
        with suppress(TimeoutError, ConnectionError):
            while sent < PIPELINED_BYTES:
                sent += raw.socket.send(piece)

    with ExitStack() as stack, ThreadPoolExecutor(PIPELINES) as pool:
        list(pool.map(fill, [stack.enter_context(target.raw()) for _ in range(PIPELINES)]))
        grown = target.memory_bytes() - before
    each = grown // PIPELINES
    return None if each <= HELD_BYTES_MAX else f"{each / 2**20:.1f} MB are held for each connection"


def told_to_go_on(target: Target) -> str | None:
    """A client that waits for `100 Continue` before it sends its body is told to go on."""
    body = b'{"username": "nobody", "password": "correct horse"}'
    head, _, _ = request("POST", "/login", None, body, Expect="100-continue").partition(b"\r\n\r\n")
    with target.raw() as raw:
        raw.send(head + b"\r\n\r\n")
        first = raw.answer()
        if first is None or first.status != 100:
            return f"told to go on: {_status(first)}"
        raw.send(body)
        answer = raw.answer()
    return None if answer is not None and answer.status == 422 else f"then {_status(answer)}"


HOSTS = {
    "no Host": b"GET /healthz HTTP/1.1\r\n\r\n",
    "two Hosts": b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "a Host of 2,000 characters": b"GET /healthz HTTP/1.1\r\nHost: " + b"a" * 2000 + b"\r\n\r\n",
    "a Host with spaces": b"GET /healthz HTTP/1.1\r\nHost: a b\r\n\r\n",
    "a Host that is a path": b"GET /healthz HTTP/1.1\r\nHost: a/b?c\r\n\r\n",
}


def odd_hosts(target: Target) -> str | None:
    """A request must name its host once, and in a proper form."""
    for name, sent in HOSTS.items():
        with target.raw() as raw:
            raw.send(sent)
            answer = raw.answer()
        if answer is None or answer.status != 400:
            return f"{name}: {_status(answer)}"
    return None


def _all(raw: RawConnection) -> list[Answer]:
    answers = []
    answer = raw.answer()
    while answer is not None:
        answers.append(answer)
        answer = raw.answer(MORE_SECONDS)
    return answers


def _status(answer: Answer | None) -> str:
    return "no answer" if answer is None else f"{answer.status} {answer.body[:100].decode('latin-1')}"


ATTACKS = (
    Attack("1", "a request inside an Upgrade", smuggled),
    Attack("1", "a client that offers HTTP/2", offered_another_protocol),
    Attack("6", "requests behind a stream", behind_a_stream),
    Attack("12", "Expect: 100-continue", told_to_go_on),
    Attack("14", "Host missing, twice, or odd", odd_hosts),
    Attack("14", "lines in the log", upgrades_in_the_log),
)
