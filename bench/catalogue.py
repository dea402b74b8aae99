"""The time of the pages of a catalogue of 2,000 lots, with one reader."""

from __future__ import annotations

import asyncio
import http.client
import json
import statistics
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from urllib.parse import urlsplit

from bench.pages import WARM_UP, milliseconds, read
from bench.results import Reading
from bench.servers import House
from bench.stage import Stage
from saleroom.accounts.domain.rights import Right, Role
from saleroom.accounts.service import roles_of_users
from saleroom.accounts.service.accounts import authenticate
from saleroom.sales.domain.lots import LotTerms
from saleroom.sales.domain.sale import Kind, SaleTerms
from saleroom.sales.service import lots, managing
from saleroom.sales.service.access import lock_one
from saleroom.sales.service.lots import NewLot
from saleroom.storage.database import Database, Transaction

LOTS = 2_000
BEFORE_DEEP = 1_500
"""How many lots stand before those of a page that counts as deep."""
TEXT = "A thing that somebody has had in the family for long."
STAFF = "bidder-00001"
"""The user who makes the sale, and becomes staff for it."""


def views(stage: Stage, kind: str) -> Reading:
    """Return the median milliseconds until the first page of a catalogue of 2,000 lots is complete.

    The figures are the same of its other views, of a page far on, of a search, and of one lot found by its number.
    """
    with stage.database(kind) as url:
        gid = asyncio.run(_publish(url, stage.tokens.read_text().split("\n", 1)[0]))
        path = f"/catalogues/{gid}"
        paths = {
            "cards": path,
            "list": f"{path}?view=list",
            "deep": f"{path}?view=list&after={BEFORE_DEEP}",
            "search": f"{path}?q=lot+1234",
            "all": "/catalogues",
        }
        with House(stage.folder, url) as house:
            connection = http.client.HTTPConnection(urlsplit(house.url).netloc, timeout=60)
            for one in paths.values():
                for _ in range(WARM_UP):
                    read(connection, one)
            taken = {f"{name}_ms": statistics.median(milliseconds(connection, one)) for name, one in paths.items()}
            connection.close()
    return Reading(value=taken["cards_ms"], figures=taken)


async def _publish(url: str, token: str) -> str:
    """Publish a live sale with its lots, and return its gid."""
    database = Database(url)
    try:
        return await database.write(_sale, token)
    finally:
        await database.close()


def _sale(tx: Transaction, token: str) -> str:
    roles_of_users.set_role(tx, STAFF, Role.OWNER)
    starts = datetime.now(UTC) + timedelta(days=20)
    made = managing.make(tx, token, SaleTerms(title="A sale of many lots", kind=Kind.LIVE, starts_at=starts))
    gid: str = json.loads(made)["gid"]
    things = [LotTerms(name=f"Lot {number}", starting_price=Decimal(10), description=TEXT) for number in range(LOTS)]
    lots.put_in(
        tx, authenticate(tx, token, Right.CATALOGUE), lock_one(tx, gid), [NewLot(terms=one) for one in things], ()
    )
    managing.publish(tx, token, gid)
    return gid
