"""The check of `saleroom doctor` on the address of the house: the links in mails must lead to this house, and no other."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import aiohttp
import msgspec
from msgspec import Struct

from saleroom.admin.findings import Finding, failed, fine, off, warned
from saleroom.admin.notice_checks import read
from saleroom.bidding.storage import signing_keys
from saleroom.settings import Settings
from saleroom.storage.database import Transaction

SECONDS_MAX = 10.0
PATH = "/.well-known/saleroom.json"
AWAY = (502, 503, 504)
"""What a proxy answers while the house behind it does not serve."""
_OUTSIDE = "start the house and the proxy, or correct public_url; look from outside"
_WRONG = "correct public_url, or where the proxy leads; the links in mails go there"


class _Key(Struct):
    kid: str


class _House(Struct):
    """What a house says about itself, as far as it is compared."""

    keys: list[_Key]


async def address(settings: Settings, _: str | None) -> Sequence[Finding]:
    """`public_url` leads to this house: what answers there has a key of this database."""
    url = settings.public_url
    if url is None:
        return [off("address", "no public_url: links in mails have the address that the house listens on")]
    own = await read(settings, _kids)
    if not own:
        return [off("address", "the keys by which a house is known cannot be read; see database and tables")]
    try:
        status, body = await _asked(url.rstrip("/") + PATH)
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
        return [warned("address", f"{url} cannot be reached from here: {str(error) or 'no answer'}", _OUTSIDE)]
    return [_judged(url, status, body, own)]


async def _asked(url: str) -> tuple[int, bytes]:
    async with (
        asyncio.timeout(SECONDS_MAX),
        aiohttp.ClientSession(trust_env=True) as session,
        session.get(url, allow_redirects=False) as answer,
    ):
        return answer.status, await answer.read()


def _judged(url: str, status: int, body: bytes, own: set[str]) -> Finding:
    if status in AWAY:
        return warned("address", f"{url} answers {status}", _OUTSIDE)
    try:
        found = {key.kid for key in msgspec.json.decode(body, type=_House).keys}
    except msgspec.MsgspecError:
        return failed("address", f"no house answers at {url} (status {status})", _WRONG)
    if own.isdisjoint(found):
        return failed("address", f"another house answers at {url}", _WRONG)
    return fine("address", f"{url} leads to this house")


def _kids(tx: Transaction) -> set[str]:
    return {row.kid for row in signing_keys.all_keys(tx)}
