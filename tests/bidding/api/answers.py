"""Common checks of answers."""

import contextlib
import re
import socket
from datetime import datetime, timedelta
from typing import Any

import httpx

from tests.fixtures_house import House
from tests.patience import SECONDS_MAX

INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")


def faults(answer: httpx.Response) -> dict[str, list[str]]:
    """Return the codes of a 400's faults by field."""
    assert 400 == answer.status_code, f"{answer.status_code} {answer.text}"
    return {field: [fault["code"] for fault in found] for field, found in answer.json()["message"].items()}


def refusal(answer: httpx.Response) -> tuple[int, str]:
    """Return the status and the code of an error."""
    return answer.status_code, answer.json()["code"]


def instant(text: Any) -> datetime:
    """Return an instant of an answer. Fails unless it has microseconds and `Z`."""
    assert INSTANT.fullmatch(text) is not None, text
    return datetime.fromisoformat(text)


def after(text: str, **more: float) -> str:
    """Return the instant that is so much later, as an answer would write it."""
    return f"{(instant(text) + timedelta(**more)).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def raw(house: House, sent: bytes, *, then_close: bool = False) -> bytes:
    """Send bytes to a house, all or as many as it reads, and return its whole answer."""
    with socket.create_connection(("127.0.0.1", house.port), timeout=SECONDS_MAX) as connection:
        with contextlib.suppress(ConnectionError):  # a client refused midway may find the connection closed
            connection.sendall(sent)
            if then_close:
                connection.shutdown(socket.SHUT_WR)
        answer = b""
        with contextlib.suppress(ConnectionError):
            while part := connection.recv(65536):
                answer += part
        return answer
