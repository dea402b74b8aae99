"""The schemas of the OpenAPI document: what answers hold, member by member, and what each error says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from saleroom.accounts.domain.accounts import USERNAME_PATTERN
from saleroom.accounts.domain.errors import InvalidAuthentication
from saleroom.bidding.domain.auction import Status
from saleroom.bidding.domain.errors import (
    AlreadyLeading,
    AuctionNotStarted,
    AuctionOver,
    AuctionStarted,
    BidTooLow,
    BuyNowUnavailable,
    EndsByItself,
    PreconditionFailed,
    TermsChanged,
    TooManyAuctions,
    TooManyPhotos,
    TooManyWatched,
)
from saleroom.bidding.domain.events import Outcome
from saleroom.http import problems
from saleroom.http.endpoints import Endpoint
from saleroom.http.forms import object_schema
from saleroom.http.responses import FaultView
from saleroom.kernel.errors import Invalid, Refused, TooManyRequests
from saleroom.kernel.identifiers import GID

Schema = dict[str, Any]

CONTACT = {"name": "Those who run this house"}
_REF = "#/components/schemas/{name}"
MONEY: Schema = {"type": "string", "pattern": r"^(?:0|[1-9][0-9]{0,16})\.[0-9]{3}$", "examples": ["12.500"]}
INSTANT: Schema = {
    "type": "string",
    "format": "date-time",
    "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z$",
    "examples": ["2026-11-21T12:00:00.000000Z"],
}
HASH: Schema = {"pattern": "^[0-9a-f]{64}$"}
USERNAME: Schema = {"pattern": f"^{USERNAME_PATTERN}$"}
GID_PATTERN = f"^{GID.pattern}$"
_COUNT: Schema = {"minimum": 0}

_MEMBERS: dict[str, tuple[Schema, str]] = {
    "alg": ({"const": "EdDSA"}, "What it signs with."),
    "agent": ({}, "What the device is called; empty where it has not said."),
    "amount": (MONEY, "The price that this bid shows."),
    "auction": ({}, "The auction as it is now."),
    "auctions": ({}, "The auctions of this page."),
    "author": (USERNAME, "Who offers the lot."),
    "automatic": ({}, "Whether the service bid on behalf of a maximum."),
    "bid": ({}, "One's bid in the history, or null where only one's own maximum rose."),
    "bidCount": (_COUNT, "How many bids the history holds."),
    "bidder": (USERNAME, "Who bid."),
    "bids": ({}, "The bids of this page."),
    "buyNowPrice": (MONEY, "The price at which it is sold at once, until the first bid."),
    "cap": (INSTANT, "The end never moves past this; null where nothing bounds it."),
    "closedAt": (INSTANT, "When it was closed, bought or cancelled; null while it is not over."),
    "code": ({}, "What is wrong, as a stable word for programs."),
    "createdAt": (INSTANT, "When it was made."),
    "currentBid": (MONEY, "The visible price; null before the first bid."),
    "currentBidAt": (INSTANT, "When the leading bid was recorded."),
    "currentBidder": (USERNAME, "Who leads."),
    "crv": ({"const": "Ed25519"}, "The curve."),
    "current": ({}, "Whether it is the session of this very request."),
    "database": ({"enum": ["ok", "unavailable"]}, "Whether the database answers."),
    "decidedAt": (INSTANT, "When it was decided, by the clock of the house."),
    "description": ({}, "What is sold."),
    "endsAt": (INSTANT, "When it closes by itself, as announced; null where its author closes it."),
    "extension": ({"minimum": 1}, "Seconds from a late bid to the new end."),
    "expiresAt": (INSTANT, "The instant from which the token is refused: 30 days after `createdAt`."),
    "files": ({}, "The photo in each width that it was made in, the narrowest first."),
    "from": (MONEY, "The lowest price of the tier."),
    "gid": ({"pattern": GID_PATTERN}, "The auction's public identifier."),
    "head": (HASH, "The hash of the last event of the auction's ledger."),
    "height": ({"minimum": 1}, "In pixels."),
    "id": ({}, "Its public identifier."),
    "increment": (MONEY, "By how much a bid exceeds the one before: one step at every price, or the ladder of tiers."),
    "kid": ({}, "Its thumbprint (RFC 7638); a receipt names its key by it."),
    "kty": ({"const": "OKP"}, "The kind of key."),
    "keys": ({}, "What receipts are signed with, the newest first; JSON Web Keys."),
    "lateMicroseconds": (
        {"type": "integer", "minimum": 0},
        "How long after `endsAt` it was decided; null where that had not come.",
    ),
    "leading": ({}, "Whether the caller leads now."),
    "maximum": (MONEY, "The limit behind one's own bid."),
    "message": ({}, "What is wrong and what would be right, for people."),
    "minimumBid": (MONEY, "The least next bid; null once it is over, or once it could not be written in 20 digits."),
    "mqtt": ({}, "How the MQTT broker is; `off` where there is none."),
    "ledgerFormat": ({"const": 1}, "The number of the format of ledgers and receipts."),
    "name": ({}, "The name of the lot."),
    "next": ({}, "The cursor of the next page; null at the end."),
    "outcome": ({"enum": list(Outcome)}, "How it ended; null until it is closed."),
    "owed": (_COUNT, "How many events the broker has not acknowledged yet."),
    "photos": ({}, "The photos, in their order."),
    "placedAt": (INSTANT, "When the bid was recorded."),
    "receipt": (
        {"pattern": r"^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$"},
        "The house's signature under the bid: a JSON Web Signature, see docs/ledger.md.",
    ),
    "receivedAt": (INSTANT, "When the house had the request; null for an automatic bid."),
    "reserveMet": ({}, "Whether the price has reached the reserve; null where there is none."),
    "reservePrice": (MONEY, "It is not sold below this; shown to its author only."),
    "service": ({"const": "saleroom"}, "What this is."),
    "serviceVersion": ({}, "Its version."),
    "sessions": ({}, "The sessions."),
    "softClose": ({}, "How late bids move the end, once there is one; null where they do not."),
    "standing": ({}, "How the caller stands."),
    "startingPrice": (MONEY, "The least first bid."),
    "startsAt": (INSTANT, "When bidding opens; null where it opened at once."),
    "status": ({}, "The state."),
    "step": (MONEY, "By how much the next bid is higher."),
    "time": (INSTANT, "What the clock of the house says."),
    "token": (
        {"pattern": "^[A-Za-z0-9+/]{14}==$", "minLength": 16, "maxLength": 16},
        "10 random bytes in standard Base64; send it as `Authorization: Bearer TOKEN`.",
    ),
    "use": ({"const": "sig"}, "What it is for."),
    "url": ({"pattern": "^/photos/"}, "Where it is: a path of this house."),
    "username": (USERNAME, "In lower case."),
    "users": ({}, "The users that were made."),
    "window": ({"minimum": 1}, "Seconds before the end in which a bid moves it."),
    "x": ({}, "The public key, in base64url."),
    "width": ({"minimum": 1}, "In pixels."),
    "version": ({"minimum": 1}, "The number of the auction's latest public event."),
}
"""What the members of answers are called, are like and mean: a name means the same wherever it stands."""

_STATUS: dict[str, Schema] = {
    "AuctionView": {"enum": list(Status)},
    "Health": {"enum": ["ok"]},
    "Readiness": {"enum": ["ok", "unavailable"]},
}
"""The one member name whose values differ from answer to answer."""

_ACCOUNT: Schema = {"username": "ada", "password": "correct horse"}
EXAMPLES: dict[str, Schema] = {
    "Registration": _ACCOUNT,
    "Login": _ACCOUNT,
    "PasswordChange": {"currentPassword": "correct horse", "newPassword": "battery staple"},
    "AuctionDraft": {"name": "Longcase clock", "startingPrice": "100"},
    "AuctionChanges": {"description": "Walnut, about 1740"},
    "CloseRequest": {},
    "BidRequest": {"maximum": "150"},
    "BuyRequest": {"price": "900"},
    "PhotoList": {"photos": []},
    "TestUsers": {"count": 50},
}
"""A request body by form, to start from; it is what a reader of the document tries first."""

_SECONDS: Schema = {"type": "integer", "minimum": 1, "description": "Seconds to wait; as in the header Retry-After."}
_BYTES: Schema = {"type": "integer", "minimum": 1, "description": "The bytes allowed."}


def _fact(name: str, *, nullable: bool = True) -> Schema:
    schema, about = _MEMBERS[name]
    if not nullable:
        return {**schema, "description": about}
    return {"anyOf": [schema, {"type": "null"}], "description": about}


_TOLD: Schema = {"type": ["string", "null"]}
_CHANGED: dict[str, Schema] = {
    "version": {"type": "integer", **_MEMBERS["version"][0], "description": "The auction's version now."},
    "changes": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "member": {"type": "string", "description": "The member of the auction, or `photos`."},
                "was": _TOLD | {"description": "What it was when you saw it; null too where it is long or private."},
                "now": _TOLD | {"description": "What it is now; null too where it is long or private."},
            },
            "required": ["member", "was", "now"],
            "additionalProperties": False,
        },
        "description": "What is offered otherwise; empty where that is not known, or where nothing but bids was added.",
    },
}

FACTS: dict[type[Refused], dict[str, Schema]] = {
    BidTooLow: {"minimumBid": _fact("minimumBid")},
    AlreadyLeading: {"minimumBid": _fact("minimumBid")},
    BuyNowUnavailable: {"minimumBid": _fact("minimumBid")},
    AuctionOver: {
        "endsAt": _fact("endsAt"),
        "closedAt": _fact("closedAt", nullable=False) | {"description": "Since when it is over."},
        "receivedAt": _fact("receivedAt")
        | {"description": "When the house had the request; null where it was no bid."},
        "decidedAt": _fact("decidedAt", nullable=False),
        "lateMicroseconds": _fact("lateMicroseconds"),
    },
    EndsByItself: {"endsAt": _fact("endsAt")},
    AuctionNotStarted: {"startsAt": _fact("startsAt")},
    AuctionStarted: {"startsAt": _fact("startsAt")},
    TermsChanged: _CHANGED,
    PreconditionFailed: _CHANGED,
    TooManyPhotos: {"limit": {"type": "integer", "minimum": 1, "description": "How many there may be."}},
    TooManyAuctions: {"limit": {"type": "integer", "minimum": 1, "description": "How many there may be."}},
    TooManyWatched: {"limit": {"type": "integer", "minimum": 1, "description": "How many there may be."}},
    TooManyRequests: {"retryAfter": _SECONDS},
    problems.BodyTooLarge: {"limit": _BYTES},
    problems.HeadersTooLarge: {"limit": _BYTES},
}
"""The facts beside `message` and `code`, by error; every one of them is always there."""

_TOGETHER: dict[str, Schema] = {"BidRequest": {"minProperties": 1}}
"""What a form asks of its members together, as far as a schema can say it."""


def components(endpoints: Sequence[Endpoint[Any]]) -> dict[str, Schema]:
    """Return every schema of the document by name: answers, request bodies, errors."""
    answers = [endpoint.answer for endpoint in endpoints if endpoint.answer is not None]
    _, schemas = msgspec.json.schema_components([*answers, FaultView], ref_template=_REF)
    found: dict[str, Schema] = {name: _described(name, schema) for name, schema in schemas.items()}
    for form in (endpoint.form for endpoint in endpoints if endpoint.form is not None):
        body = object_schema(form.fields, strict=form.strict)
        found[form.name] = {"title": form.name, **body, **_TOGETHER.get(form.name, {})}
    for refused in problems.statuses().keys() - {problems.MethodNotAllowed}:  # no operation answers it, but an address
        found[error_name(refused)] = error(refused)
    found[error_name(Invalid, bare=True)] = error(Invalid, bare=True)
    return dict(sorted(found.items()))


def reference(name: str) -> Schema:
    """Return the reference to a schema of the document."""
    return {"$ref": _REF.format(name=name)}


def error_name(refused: type[Refused], *, bare: bool = False) -> str:
    """Return the name of an error's schema; `bare` is the specification's own shape, with nothing but `message`."""
    return f"{'Login' if bare else ''}{refused.__name__.removesuffix('Error')}Error"


def _described(name: str, schema: Schema) -> Schema:
    """Return an answer's schema with the form and the meaning of each member. Others may be added: readers let them pass."""
    if "properties" not in schema:
        return schema
    properties = {member: _member(name, member, found) for member, found in schema["properties"].items()}
    return {**schema, "properties": properties}


def _member(owner: str, name: str, found: Schema) -> Schema:
    form, about = _MEMBERS[name]
    form = _STATUS.get(owner, form) if name == "status" else form
    if "anyOf" in found:
        return {
            "anyOf": [one | form if _fits(form, one) else one for one in found["anyOf"]],
            "description": about,
        }
    return found | form | {"description": about}


def _fits(form: Schema, one: Schema) -> bool:
    """Whether `form` is said of this alternative: not of null, nor of one of another type."""
    kind = one.get("type")
    return kind != "null" and form.get("type", kind) == kind


def error(refused: type[Refused], *, bare: bool = False) -> Schema:
    """Return the schema of an error's body, as `problems.body_of` makes it."""
    message: Schema = {"type": "string"}
    if refused is Invalid:
        message = {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": {"type": "array", "minItems": 1, "items": reference("FaultView")},
            "description": "Field name (`body` for the whole) to all that is wrong with it.",
        }
    elif refused is InvalidAuthentication:
        message = {"const": problems.sentence_of(refused)}
    properties = {"message": message}
    if not bare and refused is not InvalidAuthentication:
        properties |= {"code": {"const": refused.code}, **FACTS.get(refused, {})}
    return {
        "title": error_name(refused, bare=bare),
        "description": problems.sentence_of(refused),
        "type": "object",
        "properties": properties,
        "required": list(properties),
    }
