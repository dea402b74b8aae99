"""The services behind the API and the pages of settlement, made in `area.py`."""

from __future__ import annotations

from dataclasses import dataclass

from saleroom.confined.confinement import Confinement
from saleroom.http.cursors import Cursors
from saleroom.settlement.domain.bank.payouts import PayingHouse
from saleroom.settlement.domain.documents.content import Letterhead
from saleroom.settlement.service.documents.document_printing import DocumentPrinter
from saleroom.settlement.service.documents.receipts import Paper
from saleroom.settlement.service.online.online_looking import OnlineCards
from saleroom.storage.database import Database
from saleroom.storage.tokens import Tokens


@dataclass(frozen=True, kw_only=True)
class SettlementServices:
    """The services behind the API and the pages of settlement."""

    database: Database
    tokens: Tokens
    cursors: Cursors
    printer: DocumentPrinter
    bank_files: Confinement
    """Where files of banks are read."""
    letterhead: Letterhead
    payer: PayingHouse
    documents_years: int
    cards: OnlineCards | None = None
    """Payments by card online; None if the house takes none."""

    @property
    def places(self) -> int:
        """The decimals of the minor unit of the currency."""
        return self.letterhead.places

    def paper(self, language: str) -> Paper:
        """Return how the desk writes receipts in a language."""
        return Paper(head=self.letterhead, language=language)
