"""Where pieces are photographed: pictures are drawn in threads, the first ones while the house is still starting."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor

from saleroom.tools.demo.catalogue import Piece, pieces

THREADS = 2


class Studio:
    """Pieces from one catalogue, and their pictures."""

    def __init__(self, seed: int) -> None:
        self._pieces = pieces(seed)
        self._threads = ThreadPoolExecutor(THREADS, "pictures")
        self._begun: dict[tuple[Piece, int], Future[bytes]] = {}

    def take(self, views: int = 0) -> Piece:
        """Return the next piece; its first `views` pictures are begun."""
        piece = next(self._pieces)
        for view in range(views):
            self._begun[piece, view] = self._threads.submit(piece.picture, view)
        return piece

    async def picture(self, piece: Piece, view: int) -> bytes:
        """Return a picture of a piece, as JPEG."""
        begun = self._begun.pop((piece, view), None) or self._threads.submit(piece.picture, view)
        return await asyncio.wrap_future(begun)

    def close(self) -> None:
        """Draw no more."""
        self._threads.shutdown(wait=False, cancel_futures=True)
