"""A look whether a house answers, before anybody is asked for a secret that it needs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from saleroom.tools.errors import NoAnswer, ToolError, not_a_house
from saleroom.tools.http_client import SMALL_BYTES_MAX, Answer, HttpClient

SECONDS_MAX = 30.0
Secret = str | Callable[[], str]
"""A secret, or what asks for it at a terminal."""


def known(secret: Secret, url: str, tool: str) -> str:
    """Return a secret, or ask for it if a house answers at `url`. Raises ToolError."""
    if isinstance(secret, str):
        return secret
    _look(url, tool)
    return secret()


def _look(url: str, tool: str) -> None:
    """Raise ToolError unless a house answers at `url`."""
    try:
        answer = asyncio.run(_ask(url, tool))
    except NoAnswer as error:
        raise no_house(url, error) from None
    if answer.status >= 500:
        raise ToolError(f"{url} answers with the status {answer.status}: is a house served there?")
    try:
        said = msgspec.json.decode(answer.body)
    except msgspec.DecodeError:
        raise not_a_house(url) from None
    if answer.status != 200 or not isinstance(said, dict) or "time" not in said:
        raise not_a_house(url)


def no_house(url: str, error: NoAnswer) -> ToolError:
    """Return the error for an address that gives no answer, or none that can be read."""
    return ToolError(f"{url}: {error}; is a house served there?")


async def _ask(url: str, tool: str) -> Answer:
    async with HttpClient(url, tool, total_seconds_max=SECONDS_MAX) as client:
        return await client.send("GET", "/time", bytes_max=SMALL_BYTES_MAX)
