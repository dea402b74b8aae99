"""Fields that several endpoints share."""

from __future__ import annotations

from saleroom.bidding.domain.errors import UnknownAuction
from saleroom.http.endpoints import PathIdentifier, ResponseHeader
from saleroom.http.forms import INSTANT_SCHEMA, MONEY_SCHEMA, Field, instant, money
from saleroom.kernel.identifiers import GID

AUCTION = PathIdentifier(
    name="gid",
    pattern=GID,
    unknown=UnknownAuction,
    schema={"type": "string", "pattern": f"^{GID.pattern}$"},
    about="The auction.",
)
ETAG = ResponseHeader("ETag", "Changes with each change of the auction that the caller may see.")


def money_field(name: str, to: str, about: str, *, required: bool = False, nullable: bool = False) -> Field:
    """Return a field for an amount."""
    return Field(name=name, to=to, parse=money, schema=MONEY_SCHEMA, required=required, nullable=nullable, about=about)


def instant_or_null(name: str, to: str, about: str) -> Field:
    """Return a field for an instant or null."""
    return Field(name=name, to=to, parse=instant, schema=INSTANT_SCHEMA, nullable=True, about=about)
