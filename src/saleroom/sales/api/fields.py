"""Parameters and fields that several endpoints of sales share."""

from __future__ import annotations

import re

from saleroom.bidding.domain.paddles import PADDLE_MAX
from saleroom.http.endpoints import PathIdentifier
from saleroom.http.forms import MONEY_SCHEMA, Field, checked, money, positive_whole, text
from saleroom.kernel.identifiers import GID
from saleroom.sales.domain.consignors import CODE, CODE_PATTERN, parse_code
from saleroom.sales.domain.errors import UnknownConsignor, UnknownLot, UnknownSale
from saleroom.sales.domain.labels import LABEL_PATTERN, parse_label

REASON_MAX = 200
LABEL_SCHEMA = {"type": "string", "pattern": f"^{LABEL_PATTERN}$"}
SALE = PathIdentifier(
    name="gid",
    pattern=GID,
    unknown=UnknownSale,
    schema={"type": "string", "pattern": f"^{GID.pattern}$"},
    about="The sale.",
)
LOT = PathIdentifier(
    name="label",
    pattern=re.compile(LABEL_PATTERN),
    unknown=UnknownLot,
    schema=LABEL_SCHEMA,
    about="The number of the lot in the catalogue. Small letters and leading zeros make no other number.",
    parse=parse_label,
)
CONSIGNOR = PathIdentifier(
    name="code",
    pattern=CODE,
    unknown=UnknownConsignor,
    schema={"type": "string", "pattern": f"^{CODE_PATTERN}$"},
    about="The code of the consignor. Small letters make no other code.",
    parse=parse_code,
)
LABEL = Field(
    name="label",
    to="label",
    parse=checked(parse_label),
    schema=LABEL_SCHEMA,
    about="The number in the catalogue. Small letters and leading zeros make no other number.",
)
CODE_FIELD = Field(
    name="consignor",
    to="consignor",
    parse=checked(parse_code),
    schema={"type": "string", "pattern": f"^{CODE_PATTERN}$"},
    nullable=True,
    about="The code of the consignor.",
)


def paddle_field(about: str, *, required: bool = False, nullable: bool = False) -> Field:
    """Return a field for the number of a paddle."""
    schema = {"type": "integer", "minimum": 1, "maximum": PADDLE_MAX}
    parse = positive_whole(PADDLE_MAX)
    return Field(
        name="paddle", to="paddle", parse=parse, schema=schema, about=about, required=required, nullable=nullable
    )


def words_field(name: str, to: str, most: int, about: str, *, least: int = 0, lines: bool = False) -> Field:
    """Return a field for a text."""
    schema = {"type": "string", "minLength": least, "maxLength": most}
    return Field(name=name, to=to, parse=text(least, most, lines=lines), schema=schema, about=about)


def amount_or_null(name: str, to: str, about: str) -> Field:
    """Return a field for an amount or null."""
    return Field(name=name, to=to, parse=money, schema=MONEY_SCHEMA, nullable=True, about=about)


def reason(about: str) -> Field:
    """Return the field for the reason of an act."""
    return Field(
        name="reason",
        to="reason",
        parse=text(1, REASON_MAX),
        schema={"type": "string", "minLength": 1, "maxLength": REASON_MAX},
        required=True,
        about=about,
    )
