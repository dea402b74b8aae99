"""Sheets on their way from the process that reads them: packed there, and read by the house row by row."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

import msgspec
from msgspec import Raw, Struct

from saleroom.confined.confinement import one_by_one, whole
from saleroom.sales.domain.cells import Cell
from saleroom.sales.domain.columns import Headings

SentCell = str | int | tuple[Decimal] | None
"""A cell on its way: a Decimal is alone in a tuple, as MessagePack would make it a text."""


class SentSheet(Struct, frozen=True):
    """A sheet on its way; each of `rows` is a list of `SentCell`."""

    rows: list[Raw]
    headings: Headings


_SHEET, _ROWS = whole(SentSheet), one_by_one(list[SentCell])


def packed(rows: Iterable[Iterable[Cell]], headings: Headings) -> SentSheet:
    """Return rows and headings, ready for MessagePack."""
    sent = ([(cell,) if isinstance(cell, Decimal) else cell for cell in row] for row in rows)
    return SentSheet([Raw(msgspec.msgpack.encode(row)) for row in sent], headings)


def received(made: bytes) -> tuple[list[list[Cell]], Headings]:
    """Return the rows and headings that were packed. Raises MsgspecError if they were not."""
    sheet = _SHEET(made)
    rows = _ROWS(sheet.rows)
    return [[cell[0] if isinstance(cell, tuple) else cell for cell in row] for row in rows], sheet.headings
