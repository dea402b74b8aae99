"""The streams that an edge serves: those that are the same for everybody, each with all that its content depends on."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from saleroom.bidding.domain.errors import UnknownAuction
from saleroom.http.problems import NotFound
from saleroom.kernel.errors import Refusal
from saleroom.kernel.identifiers import EventId
from saleroom.sales.domain.errors import UnknownSale


class Kind(StrEnum):
    """What the messages of a stream are, and so where a reader can begin."""

    LOG = "log"
    """Each message is an event with its id. A reader goes on after exactly that event."""
    PAGE = "page"
    """Each message is the page of a lot after some events, with the id of the last. A reader goes on after its version."""
    STATE = "state"
    """Each message is the whole state. A reader begins with the last one."""
    PARTS = "parts"
    """The first message is the whole state, and each further one is what has changed of it."""


class Address(Struct, frozen=True):
    """One stream of a house. Readers with the same address share one stream.

    `path` has the parameters that all readers share, `language` the tag of the language, if the stream has words in one.
    `resumed`: its readers come back and may have missed something, which the first message tells them.
    """

    kind: Kind
    path: str
    gid: str = ""
    language: str = ""
    resumed: bool = False

    def request(self, after: EventId | None) -> tuple[str, Mapping[str, str]]:
        """Return the path and the headers by which a house is asked for it, from behind `after` or from now on."""
        path, headers = self.path, {"Accept": "text/event-stream", "Cache-Control": "no-store"}
        if self.language:
            headers["Accept-Language"] = self.language
        if self.kind is Kind.PAGE and after is not None:
            path += f"{'&' if '?' in path else '?'}after={after.version}"
        elif after is not None or self.resumed:
            headers["Last-Event-ID"] = str(after or 0)
        return path, headers

    @property
    def unknown(self) -> Refusal:
        """The refusal if the house knows nothing at this address."""
        if self.path.split("/")[1] == "sales":
            return UnknownSale()
        return UnknownAuction() if self.gid else NotFound()


EVENTS = Address(Kind.LOG, "/events")
"""The whole log of a house."""
