"""Preconditions: the auction as the sender of a request has seen it, and the changes since."""

from __future__ import annotations

import re
from collections.abc import Mapping

from saleroom.bidding.domain.errors import AuctionChanged, PreconditionFailed, TermsChanged
from saleroom.bidding.domain.preconditions import Precondition
from saleroom.bidding.service import reading
from saleroom.bidding.services import BiddingServices
from saleroom.http.endpoints import Call, Explain
from saleroom.http.forms import Field, positive_whole
from saleroom.kernel.errors import Refusal
from saleroom.kernel.identifiers import VERSION_MAX

SEEN_VERSION = Field(
    name="seenVersion",
    to="seen_version",
    parse=positive_whole(VERSION_MAX),
    schema={"type": "integer", "minimum": 1, "maximum": VERSION_MAX},
    nullable=True,
    about="The `version` of the auction that you have seen; refused if its terms or photos have changed since.",
)
_TAG = re.compile(r'"([1-9][0-9]{0,9}-[0-9a-f]{16}(?:-[1-9][0-9]{0,9})?)(?:-(?:own|staff|won))?"')


def precondition(call: Call[BiddingServices]) -> Precondition | None:
    """Return the precondition in the header If-Match and in the body's `seenVersion` and `price`; None if there is none.

    The tags of the author, the winner and staff count as everybody's, since all name the same state. A tag that the house never
    gives matches nothing.
    """
    version, price, tags = call.values.get("seen_version"), call.values.get("price"), call.tags
    if version is price is tags is None:
        return None
    if tags is not None:
        tags = frozenset(tag[1] for tag in map(_TAG.fullmatch, tags) if tag is not None)
    return Precondition(version=version, tags=tags, price=price)


async def _explain(call: Call[BiddingServices], refused: AuctionChanged) -> AuctionChanged:
    return await with_changes(call.services, call.identifier, refused)


async def with_changes(services: BiddingServices, gid: str, refused: AuctionChanged) -> AuctionChanged:
    """Return `refused` with the changes, read outside the transaction that refused: bids do not wait for it."""
    if refused.seen is None:
        return refused
    version, changes = await services.shared_reads.ask(reading.changed_since, gid, refused.seen)
    return type(refused)(refused.message, seen=refused.seen, changes=changes, version=version)


EXPLANATIONS: Mapping[type[Refusal], Explain[BiddingServices]] = {TermsChanged: _explain, PreconditionFailed: _explain}
"""The refusals that name the changes of the auction since it was seen."""
