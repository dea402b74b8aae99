"""The desk: where bids from every door are handed in."""

from __future__ import annotations

from saleroom.domain.errors import Refused
from saleroom.service.bidding import BidCommand, place_bids
from saleroom.storage.database import Database


class Desk:
    """Takes bids, one transaction each. Gathering those that wait into one transaction is to come behind `place`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def place(self, command: BidCommand) -> bytes:
        """Return the answer (JSON of a `BidAnswer`) once it is committed. Raises the refusal, or Unavailable."""
        [answer] = await self._database.write(place_bids, [command])
        if isinstance(answer, Refused):
            raise answer
        return answer
