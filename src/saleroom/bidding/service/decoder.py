"""The decoder: each picture is decoded in a confined process, and what comes back is checked."""

from __future__ import annotations

import structlog

from saleroom.bidding.domain.photos import RATIO_MAX, WIDTHS, is_webp, made_widths
from saleroom.bidding.service.renditions import FIELD, TOO_COSTLY, TRUNCATED, Renditions
from saleroom.confined.confinement import Confinement, Crash, TooCostly, Work, whole
from saleroom.kernel.errors import Invalid

log = structlog.get_logger()

WORK = Work(function="saleroom.bidding.service.renditions:make", cpu_seconds=10, memory_bytes=512 * 2**20, seconds=30.0)
_READ = whole(Renditions)


class Decoder:
    """Decodes pictures, one at a time."""

    def __init__(self) -> None:
        self._confinement = Confinement("decoder")

    async def make(self, data: bytes) -> Renditions:
        """Return the renditions of the picture in `data`. Cancelling kills the process.

        Raises Invalid, field `photo`, or Busy if the house closes.
        """
        try:
            made = await self._confinement.do(WORK, data, _READ)
        except TooCostly:
            raise Invalid({FIELD: [TOO_COSTLY]}) from None
        except Crash:
            raise Invalid({FIELD: [TRUNCATED]}) from None
        if not _is_whole(made):
            log.warning("a decoder gave no valid renditions of a picture")
            raise Invalid({FIELD: [TRUNCATED]})
        return made

    def close(self) -> None:
        """Kill the running process, and refuse further pictures."""
        self._confinement.close()


def _is_whole(made: Renditions) -> bool:
    """Whether these are valid renditions. A hostile picture may have taken over the process, so its answer is checked."""
    fits = 0 < made.width <= WIDTHS[-1] and 0 < made.height <= RATIO_MAX * WIDTHS[-1]
    files = made.files.values()
    return fits and sorted(made.files) == [*made_widths(made.width)] and all(map(is_webp, files))
