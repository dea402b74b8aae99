"""The words of the API's document that are about auctions and bids."""

from __future__ import annotations

from saleroom.accounts.api.vocabulary import USERNAME
from saleroom.accounts.domain.accounts import USERNAME_PATTERN
from saleroom.bidding.domain.auction import Status
from saleroom.bidding.domain.block import FLOOR
from saleroom.bidding.domain.block_events import Stage
from saleroom.bidding.domain.errors import (
    AlreadyLeading,
    AskChanged,
    AskTooLow,
    AuctionNotStarted,
    AuctionOver,
    AuctionStarted,
    BelowReserve,
    BeyondLimit,
    BidStands,
    BidTooLow,
    BuyNowUnavailable,
    EndsByItself,
    NotRegistered,
    Paused,
    PreconditionFailed,
    QuestionsFull,
    RegistrationDeclined,
    RegistrationPending,
    TermsChanged,
    TooManyAuctions,
    TooManyChanges,
    TooManyPhotos,
    TooManyQuestions,
    TooManyRemarks,
    TooManyWatched,
)
from saleroom.bidding.domain.events import Outcome
from saleroom.bidding.domain.paddles import PADDLE_PATTERN
from saleroom.bidding.domain.questions import QuestionStatus
from saleroom.http.schemas import COUNT, GID_PATTERN, INSTANT, MONEY, SECONDS, Schema, Vocabulary, fact
from saleroom.kernel.errors import Refusal

BIDDER: Schema = {"pattern": f"^({USERNAME_PATTERN}|{PADDLE_PATTERN}|{FLOOR})$"}
"""The name by which a lot shows a bidder, or that of the floor."""
HASH: Schema = {"pattern": "^[0-9a-f]{64}$"}

_MEMBERS: dict[str, tuple[Schema, str]] = {
    "alg": ({"const": "EdDSA"}, "What it signs with."),
    "amount": (MONEY, "The price that this bid shows."),
    "answer": ({}, "What the seller has answered; null without an answer."),
    "answeredAt": (INSTANT, "When the seller answered; null without an answer."),
    "askedAt": (INSTANT, "When it was asked."),
    "auction": ({}, "The auction as it is now."),
    "auctions": ({}, "The auctions of this page."),
    "author": (USERNAME, "The seller."),
    "automatic": ({}, "Whether the service bid on behalf of a maximum."),
    "bid": ({}, "The caller's bid in the history, or null if only their maximum rose."),
    "bidCount": (COUNT, "How many bids the history has."),
    "bidder": (BIDDER, "The bidder: a username, or on a lot of a sale perhaps a paddle, such as `#12`, or `#floor`."),
    "bids": ({}, "The bids of this page."),
    "buyNowPrice": (MONEY, "The price at which it is sold at once, until the first bid."),
    "category": ({}, "The house's category that the lot is in; null if it is in none."),
    "cap": (INSTANT, "The end never moves past this; null if nothing bounds it."),
    "closedAt": (INSTANT, "When it was closed, bought or cancelled; null while it is not over."),
    "currentBid": (MONEY, "The visible price; null before the first bid."),
    "currentBidAt": (INSTANT, "When the leading bid was recorded."),
    "currentBidder": (BIDDER, "The leader, named as in `bidder`."),
    "crv": ({"const": "Ed25519"}, "The curve."),
    "decidedAt": (INSTANT, "When it was decided, by the clock of the house."),
    "description": ({}, "What is sold."),
    "endsAt": (INSTANT, "When it closes by itself, as announced; null if its author closes it."),
    "extension": ({"minimum": 1}, "Seconds from a late bid to the new end."),
    "files": ({}, "The photo in each of its widths, the narrowest first."),
    "from": (MONEY, "The lowest price of the tier."),
    "gid": ({"pattern": GID_PATTERN}, "The auction's public identifier."),
    "cancelledFor": ({}, "Why the house cancelled it; only there if it did."),
    "hidden": (
        {},
        "Whether the house hides it; only there if it does. Name and description are empty then for others.",
    ),
    "pausedAt": (INSTANT, "Since when its clock stands still: no bids, no end; only there while it does."),
    "hiddenFor": ({}, "Why the house hides it; for its author and staff."),
    "head": (HASH, "The hash of the last event of the auction's ledger."),
    "height": ({"minimum": 1}, "In pixels."),
    "increment": (MONEY, "By how much a bid exceeds the one before: one step at every price, or the ladder of tiers."),
    "kid": ({}, "Its thumbprint (RFC 7638), by which a receipt names its key."),
    "kty": ({"const": "OKP"}, "The kind of key."),
    "keys": ({}, "The keys that receipts are signed with, the newest first, as JSON Web Keys."),
    "lateMicroseconds": (
        {"type": "integer", "minimum": 0},
        "How long after `endsAt` it was decided; null before `endsAt`.",
    ),
    "leading": ({}, "Whether the caller leads now."),
    "maximum": (MONEY, "The maximum behind the caller's own bid."),
    "minimumBid": (
        MONEY,
        "The least next bid; on the block the ask, and the only amount; null once it is over, or beyond 20 digits.",
    ),
    "currency": ({"pattern": "^[A-Z]{3}$"}, "The ISO 4217 code of the currency of all amounts."),
    "ledgerFormat": ({"const": 2}, "The number of the format of new ledgers (docs/ledger.md)."),
    "name": ({}, "The name of the lot."),
    "outcome": ({"enum": list(Outcome)}, "How it ended; null until it is closed."),
    "own": ({}, "Whether the caller has asked it."),
    "photos": ({}, "The photos, in their order."),
    "number": ({"minimum": 1}, "Counts the remarks of the auction from 1, or names the question."),
    "placedAt": (INSTANT, "When the bid was recorded."),
    "questions": ({}, "The questions, the oldest first."),
    "receipt": (
        {"pattern": r"^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+(~[A-Za-z0-9_-]+~[0-9]+(\.[A-Za-z0-9_-]{43})*)?$"},
        "The house's signature under the bid, for anyone to verify: see docs/ledger.md. Answers from older houses have no ~.",
    ),
    "receivedAt": (INSTANT, "When the house had the request; null for an automatic bid."),
    "remarks": ({}, "The remarks, the oldest first."),
    "reserveMet": ({}, "Whether the price has reached the reserve; null if there is none."),
    "reservePrice": (MONEY, "It is not sold below this; shown to its author only."),
    "sequence": (
        {"minimum": 1},
        "The `sequence` of the event of the bid, by which staff void it unless it is automatic.",
    ),
    "service": ({"const": "saleroom"}, "What this is."),
    "serviceVersion": ({}, "Its version."),
    "softClose": ({}, "How late bids move the end, once there is one; null if they do not."),
    "stage": ({"enum": list(Stage)}, "How far the hammer is; only there while it is on the block of a live sale."),
    "standing": ({}, "The caller's standing in the auction."),
    "startingPrice": (MONEY, "The least first bid."),
    "startsAt": (INSTANT, "When bidding opens; null if it opened at once."),
    "step": (MONEY, "By how much the next bid is higher."),
    "text": ({}, "What the seller adds, or what was asked."),
    "use": ({"const": "sig"}, "What it is for."),
    "url": ({"pattern": "^/photos/"}, "Where it is: a path of this house."),
    "calendar": ({"pattern": "^/watchlist/"}, "The calendar (RFC 5545): a path of this house, shown once."),
    "feed": ({"pattern": "^/watchlist/"}, "The Atom feed (RFC 4287): a path of this house, shown once."),
    "voided": (
        {},
        "Why staff voided the bid, or `undone` or `retracted` in a live sale; only there if it does not stand.",
    ),
    "window": ({"minimum": 1}, "Seconds before the end in which a bid moves it."),
    "writtenAt": (INSTANT, "When it was added."),
    "x": ({}, "The public key, in base64url."),
    "width": ({"minimum": 1}, "In pixels."),
    "version": ({"minimum": 1}, "The number of the auction's latest public event."),
}
_TOLD: Schema = {"type": ["string", "null"]}
_CHANGED: dict[str, Schema] = {
    "version": {"type": "integer", **_MEMBERS["version"][0], "description": "The auction's version now."},
    "changes": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "member": {"type": "string", "description": "The member of the auction, or `photos`."},
                "was": _TOLD | {"description": "The value that you have seen; also null if it is long or private."},
                "now": _TOLD | {"description": "The value now; also null if it is long or private."},
            },
            "required": ["member", "was", "now"],
            "additionalProperties": False,
        },
        "description": "The terms and photos that differ; empty if that is not known, or if there are only new bids.",
    },
}
_HOW_MANY: Schema = {"type": "integer", "minimum": 1, "description": "How many there may be."}
_SALE: dict[str, Schema] = {"sale": {"type": "string", "pattern": GID_PATTERN, "description": "The sale."}}
_FACTS: dict[type[Refusal], dict[str, Schema]] = {
    BidTooLow: {"minimumBid": fact(_MEMBERS["minimumBid"])},
    AlreadyLeading: {"minimumBid": fact(_MEMBERS["minimumBid"])},
    AskChanged: {"minimumBid": fact(_MEMBERS["minimumBid"])},
    AskTooLow: {"currentBid": fact(_MEMBERS["currentBid"])},
    BelowReserve: {"currentBid": fact(_MEMBERS["currentBid"])},
    BidStands: {"currentBid": fact(_MEMBERS["currentBid"])},
    BuyNowUnavailable: {"minimumBid": fact(_MEMBERS["minimumBid"])},
    AuctionOver: {
        "endsAt": fact(_MEMBERS["endsAt"]),
        "closedAt": fact(_MEMBERS["closedAt"], nullable=False) | {"description": "Since when it is over."},
        "receivedAt": fact(_MEMBERS["receivedAt"])
        | {"description": "When the house had the request; null if it was not a bid."},
        "decidedAt": fact(_MEMBERS["decidedAt"], nullable=False),
        "lateMicroseconds": fact(_MEMBERS["lateMicroseconds"]),
    },
    EndsByItself: {"endsAt": fact(_MEMBERS["endsAt"])},
    AuctionNotStarted: {"startsAt": fact(_MEMBERS["startsAt"])},
    Paused: {"pausedAt": fact(_MEMBERS["pausedAt"], nullable=False)},
    AuctionStarted: {"startsAt": fact(_MEMBERS["startsAt"])},
    NotRegistered: _SALE,
    RegistrationPending: _SALE,
    RegistrationDeclined: _SALE | {"reason": {"type": "string", "description": "Why, as staff have noted it."}},
    BeyondLimit: {
        name: {**MONEY, "description": about}
        for name, about in (
            ("limit", "The user's limit in the sale."),
            ("exposure", "What the user has won and leads by in the sale."),
            ("asked", "The most of this bid."),
            ("left", "The most that the user can bid on this lot."),
        )
    },
    TermsChanged: _CHANGED,
    PreconditionFailed: _CHANGED,
    TooManyPhotos: {"limit": _HOW_MANY},
    TooManyRemarks: {"limit": _HOW_MANY},
    TooManyQuestions: {"limit": _HOW_MANY},
    QuestionsFull: {"limit": _HOW_MANY},
    TooManyAuctions: {"limit": _HOW_MANY},
    TooManyChanges: {"retryAfter": SECONDS},
    TooManyWatched: {"limit": _HOW_MANY},
}

VOCABULARY = Vocabulary(
    members=_MEMBERS,
    forms={
        ("AuctionView", "status"): {"enum": list(Status)},
        ("QuestionView", "status"): {"enum": list(QuestionStatus)},
    },
    facts=_FACTS,
    tags={
        "auctions": "What is sold.",
        "bids": "What is offered for it.",
        "events": "What happens, as it happens.",
        "evidence": "What anyone can check the house by.",
    },
)
