"""Results as CSV (RFC 4180, in UTF-8): those of the house for anyone, and a seller's own."""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Literal

from babel import Locale
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.events import Outcome
from saleroom.bidding.service import results
from saleroom.bidding.services import BiddingServices
from saleroom.kernel.errors import Invalid
from saleroom.kernel.instants import instant
from saleroom.kernel.texts import guarded
from saleroom.site import amounts
from saleroom.site.site import Site

COLUMNS = ("name", "seller", "outcome", "price", "currency", "bids", "buyer", "ended", "address", "category")
OWN_COLUMNS = (*COLUMNS[:-1], "startingPrice", "reservePrice", "category")
_BYTE_ORDER_MARK = "\ufeff"
"""Without it, spreadsheets do not take a file for UTF-8."""
_DIALECTS = {"en": (",", Locale("en")), "de": (";", Locale("de"))}
"""What divides cells, and whose decimal mark amounts have, by the language of the spreadsheet."""


class ResultFiles:
    """The files of results."""

    def __init__(self, site: Site, services: BiddingServices) -> None:
        self._site = site
        self._services = services

    async def of_house(self, request: Request) -> Response:
        """GET /results.csv: the lots of the house that are over, the latest first."""
        return await self._file(request, None, COLUMNS)

    async def of_seller(self, request: Request) -> Response:
        """GET /mine/selling/results.csv: the reader's own lots that are over, with the prices that only their seller knows."""
        viewer = await self._site.viewer(request)
        return (
            self._site.to_log_in(request) if viewer is None else await self._file(request, viewer.username, OWN_COLUMNS)
        )

    async def _file(self, request: Request, author: str | None, columns: Sequence[str]) -> Response:
        language = request.query_params.get("language", "en")
        if language not in _DIALECTS:
            raise Invalid.one("language", "not_a_choice", f"must be one of: {', '.join(_DIALECTS)}")
        pages = results.pages(self._services.database, author)
        # The first page is read before the answer begins, so that a busy house can still say so.
        first = await anext(pages)
        headers = {"Content-Disposition": 'attachment; filename="results.csv"', "Cache-Control": "private, no-cache"}
        lines = self._lines(
            first, pages, _Sheet(columns, language, self._site.origin(request), self._site.languages.currency)
        )
        return StreamingResponse(lines, media_type="text/csv; charset=utf-8; header=present", headers=headers)

    async def _lines(
        self, first: list[Auction], pages: AsyncIterator[list[Auction]], sheet: _Sheet
    ) -> AsyncIterator[bytes]:
        yield sheet.heading()
        yield sheet.rows(first)
        async for page in pages:
            yield sheet.rows(page)


class _Sheet(Struct, frozen=True):
    """How results are written: these columns, for a spreadsheet in a language."""

    columns: Sequence[str]
    language: str
    origin: str
    currency: str

    def heading(self) -> bytes:
        """Return the first row."""
        return self._written([self.columns], csv.QUOTE_MINIMAL, _BYTE_ORDER_MARK)

    def rows(self, page: Sequence[Auction]) -> bytes:
        """Return the rows of these lots."""
        rows = (result(one, self.origin, self.currency, _DIALECTS[self.language][1]) for one in page)
        # Some spreadsheets divide cells at another mark: without quotation marks a name would go on in a cell of its own.
        return self._written([[row[column] for column in self.columns] for row in rows], csv.QUOTE_ALL)

    def _written(self, rows: Sequence[Sequence[str]], quoting: Literal[0, 1], before: str = "") -> bytes:
        out = io.StringIO(before)
        out.seek(0, io.SEEK_END)
        delimiter = _DIALECTS[self.language][0]
        csv.writer(out, delimiter=delimiter, quoting=quoting, lineterminator="\r\n").writerows(rows)
        return out.getvalue().encode()


def result(a: Auction, origin: str, currency: str, locale: Locale) -> dict[str, str]:
    """Return the result of a lot that is over, by column. A price that nobody paid is empty."""
    sold = a.outcome is Outcome.SOLD
    return {
        "name": guarded(a.name),
        "seller": guarded(a.author.name),
        "outcome": str(a.outcome or a.status),
        "price": _amount(a.current_bid, currency, locale) if sold else "",
        "currency": currency,
        "bids": str(a.bid_count),
        "buyer": guarded(a.leader.name) if sold and a.leader is not None else "",
        "ended": _instant(a.closed_at),
        "address": f"{origin}/lots/{a.gid}",
        "category": guarded(a.category or ""),
        "startingPrice": _amount(a.starting_price, currency, locale),
        "reservePrice": _amount(a.reserve_price, currency, locale),
    }


def _amount(amount: Decimal | None, currency: str, locale: Locale) -> str:
    """Return an amount with the currency's own decimals or more."""
    return "" if amount is None else amounts.write_bare(amount, currency, locale)


def _instant(at: datetime | None) -> str:
    return "" if at is None else instant(at)
