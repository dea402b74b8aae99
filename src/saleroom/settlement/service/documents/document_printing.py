"""Printing of documents: one at a time, by the process that prints."""

from __future__ import annotations

from saleroom.kernel.currency import decimals
from saleroom.sales.service.paper.press import Press, Turns
from saleroom.settlement.domain.documents.einvoice import business_terms, lacks
from saleroom.settlement.domain.errors import NoElectronicForm
from saleroom.settlement.service.documents import showing
from saleroom.settlement.service.documents.document_papers import paper_data
from saleroom.storage.database import Database

XML = "xml"
"""What the process makes instead of paper."""
PROGRAM = "saleroom.settlement.service.documents.typesetting"


class DocumentPrinter:
    """Makes the paper of documents."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._press = Press(PROGRAM)
        self._turns = Turns()

    async def make(self, token: str, gid: str) -> tuple[str, bytes]:
        """Return the number of a document, and its paper as a PDF. Raises Unauthenticated, UnknownDocument or Busy."""
        found = await self._database.read(showing.shown, token, gid)
        async with self._turns.turn():
            return found.document.number, await self._press.make(found.document.kind, paper_data(found.document))

    async def make_xml(self, token: str, gid: str) -> tuple[str, bytes]:
        """Return the number of a document, and its electronic form. Raises as `make`, or NoElectronicForm."""
        found = await self._database.read(showing.shown, token, gid)
        places = decimals(found.document.currency)
        if lacks(found.document, places):
            raise NoElectronicForm
        async with self._turns.turn():
            data = {"terms": business_terms(found.document, places)}
            return found.document.number, await self._press.make(XML, data)

    def close(self) -> None:
        """End the process, and refuse further paper."""
        self._press.close()
