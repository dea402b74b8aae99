"""The words of the API's document that are about the people of a sale."""

from __future__ import annotations

from saleroom.bidding.domain.events import Channel
from saleroom.bidding.domain.paddles import PADDLE_MAX
from saleroom.http.schemas import COUNT, GID_PATTERN, INSTANT, MONEY, Schema, Vocabulary
from saleroom.sales.domain.errors import PaddleFixed, PaddleTaken, TooManyParticipants
from saleroom.sales.domain.labels import LABEL_PATTERN
from saleroom.sales.domain.participants import Standing

_PADDLE: Schema = {"minimum": 1, "maximum": PADDLE_MAX}


def _number(about: str) -> Schema:
    return {"type": "integer", **_PADDLE, "description": about}


PEOPLE = Vocabulary(
    members={
        "admission": ({"enum": list(Standing)}, "Whether they may bid; `limited` is approved up to the limit."),
        "bidLimit": (MONEY, "The limit in the sale; null for none."),
        "book": ({}, "The lines of this page."),
        "bookMaximum": (MONEY, "The most that they bid on the lot."),
        "enteredAt": (INSTANT, "When it was entered."),
        "enteredBy": ({}, "Who entered it."),
        "leads": ({}, "Whether its bidder leads on the lot."),
        "stands": ({}, "Whether it was neither taken back nor voided."),
        "bidsBy": ({"enum": list(Channel)}, "How they bid."),
        "checkedInAt": (INSTANT, "When they were checked in at the door; null if they were not."),
        "strikes": (COUNT, "Their strikes for invoices that they did not pay, of all sales."),
        "mergedInto": (
            {"pattern": GID_PATTERN},
            "The participant who they are too, if staff merged both and their bids stayed; null otherwise.",
        ),
        "declinedFor": ({}, "Why they were declined; null if they were not."),
        "exposure": (MONEY, "The hammer prices that they have won, and the maxima by which they lead, in the sale."),
        "guest": ({}, "Whether they have no account; nobody can log in as them."),
        "left": (MONEY, "What the limit leaves; null without a limit."),
        "paddle": (_PADDLE, "The number of the paddle; null if they have none."),
        "participant": ({"pattern": GID_PATTERN}, "The participant's identifier."),
        "participants": ({}, "The participants of this page."),
        "personName": ({}, "Their name, for staff; empty if that is not known."),
        "registeredAt": (INSTANT, "Since when they take part."),
    },
    forms={
        ("BookLineView", "lot"): {"pattern": GID_PATTERN, "description": "The public identifier of the lot's auction."},
        ("BookLineView", "label"): {"pattern": f"^{LABEL_PATTERN}$", "description": "The number of the lot."},
    },
    facts={
        PaddleTaken: {"paddle": _number("The paddle."), "free": _number("A paddle that nobody has.")},
        PaddleFixed: {"paddle": _number("Their paddle.")},
        TooManyParticipants: {
            "limit": {"type": "integer", "minimum": 1, "description": "How many participants a sale can have."}
        },
    },
)
