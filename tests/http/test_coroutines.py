"""The coroutines of HTTP that a request passes through: each one more costs every bid and every page of a list."""

import inspect
import socket
import sys
import threading
from types import FrameType
from typing import Any

from tests.fixtures_house import House
from tests.patience import SECONDS_MAX

SHORT_WAY = {"Exchange._run", "Front._answer_hot"}
LONG_WAY = {"Exchange._run", "Front._long_way", "Resource.__call__"}


def coroutines(house: House, request: str, body: str = "", **headers: str) -> set[str]:
    """Return the coroutines of HTTP and of the API that run in the house until a request is answered, by their names.

    The request is one packet, so its body has arrived before any of it is read.
    """
    lines = [f"{request} HTTP/1.1", "Host: house", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    sent = "\r\n".join([*lines, "", body]).encode()
    found: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        module = frame.f_globals.get("__name__", "")
        is_coroutine = event == "call" and bool(frame.f_code.co_flags & inspect.CO_COROUTINE)
        if is_coroutine and module.startswith(("saleroom.http.", "saleroom.bidding.api.")):
            found.add(frame.f_code.co_qualname)

    def in_loop(hook: Any) -> None:
        done = threading.Event()

        def hooked() -> None:
            sys.setprofile(hook)
            done.set()

        house._loop.call_soon_threadsafe(hooked)
        assert done.wait(SECONDS_MAX)

    in_loop(note)
    try:
        with socket.create_connection(("127.0.0.1", house.port), timeout=SECONDS_MAX) as connection:
            connection.sendall(sent)
            answer = connection.recv(65536)
    finally:
        in_loop(None)
    assert answer.startswith(b"HTTP/1.1 20"), answer
    return found


def test_a_hot_request_passes_through_two_coroutines_and_its_handler(sqlite_house: House) -> None:
    """What never waits is no coroutine: guard, routes, fields, a body that has arrived, security headers, the whole answer."""
    ada, bob = sqlite_house.user("ada"), sqlite_house.user("bob")
    gid = ada.auction()
    token = f"Bearer {bob.token}"
    bid = {"body": '{"amount": "10"}', "Content_Type": "application/json", "X_Requested_With": "tests"}
    assert SHORT_WAY | {"place"} == coroutines(sqlite_house, f"POST /auctions/{gid}/bids", Authorization=token, **bid)
    assert SHORT_WAY | {"show"} == coroutines(sqlite_house, f"GET /auctions/{gid}")
    assert SHORT_WAY | {"list_auctions", "_answer"} == coroutines(sqlite_house, "GET /auctions")
    assert SHORT_WAY | {"list_bids"} == coroutines(sqlite_house, f"GET /auctions/{gid}/bids")
    assert LONG_WAY | {"healthz"} == coroutines(sqlite_house, "GET /healthz")
