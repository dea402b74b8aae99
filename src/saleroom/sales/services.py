"""The services behind the API and the pages of sales, made in `area.py`."""

from __future__ import annotations

from dataclasses import dataclass

from saleroom.feed.feed import Feed
from saleroom.http.cursors import Cursors
from saleroom.sales.service.files.importer import Importer
from saleroom.sales.service.live.acts import Acts
from saleroom.sales.service.live.blocks import Blocks
from saleroom.sales.service.paper.printing import Printer
from saleroom.storage.database import Database
from saleroom.storage.tokens import Tokens


@dataclass(frozen=True, kw_only=True)
class SaleServices:
    """The services behind the API and the pages of sales."""

    database: Database
    tokens: Tokens
    cursors: Cursors
    feed: Feed
    blocks: Blocks
    acts: Acts
    importer: Importer
    printer: Printer
    origin: str
    """The address of the house, to which codes on paper lead."""
    currency: str
    """The ISO 4217 code of the currency of all amounts."""
    categories: tuple[str, ...]
    """The names of the house's categories."""
