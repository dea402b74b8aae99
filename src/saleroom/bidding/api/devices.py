"""The door of MQTT: bids from devices, to the same desk and by the same rules as over HTTP."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import structlog

from saleroom.accounts.service.accounts import token_digest
from saleroom.accounts.service.throttle import TokenRates
from saleroom.bidding.api.bids import BID, bid_faults
from saleroom.bidding.api.conditions import explained
from saleroom.bidding.domain.bidding import BidRequest
from saleroom.bidding.domain.errors import AuctionChanged, UnknownAuction
from saleroom.bidding.domain.preconditions import Precondition
from saleroom.bidding.service.bidding import BidCommand
from saleroom.bidding.services import BiddingServices
from saleroom.bidding.storage import auctions
from saleroom.bidding.storage.event_log import LOG
from saleroom.http import problems
from saleroom.http.endpoints import digest
from saleroom.http.forms import Field, Form, checked, string
from saleroom.kernel.errors import Busy, Fault, Invalid, Refused
from saleroom.kernel.identifiers import GID, IdempotencyKey
from saleroom.logs import Outage, Tally
from saleroom.mqtt.outbox import Published
from saleroom.mqtt.topics import Arrived, Reply
from saleroom.storage import faults

PAYLOAD_BYTES_MAX = 4096
UNDER_WAY_MAX = 1024
"""Commands that wait to be decided; beyond it one is answered `busy` at once."""
RATE_PER_SECOND = 20
RATE_BURST = 40
RESPONSE_TOPIC_MAX = 256
"""The longest response topic below the prefix, in characters."""
COMMAND_ID_MAX = 128
COMMAND_ID_PATTERN = "[A-Za-z0-9._~:-]+(?:/[A-Za-z0-9._~:-]+)*"

_CREATED = b'{"status":201,'
_BIDS = ("POST", "/auctions/{gid}/bids")
"""The endpoint whose Idempotency-Keys these are: a repeat over the other channel is the same request."""
_RESPONSE_TOPIC = Fault("response_topic", "must be below replies/ of this house, without + and #, and not too long")

PUBLISHED = Published(LOG, auctions.public_states, auctions.running_numbers)
"""The events and states of auctions, as the relay reads them."""

log = structlog.get_logger(__name__)
_encode = msgspec.json.Encoder().encode


def command_id(text: str) -> str | Fault:
    """Return the id of a command, or the fault in it: it names the topic on which the answer comes."""
    if len(text) > COMMAND_ID_MAX or re.fullmatch(COMMAND_ID_PATTERN, text) is None:
        return Fault(
            "command_id", f"must have 1 to {COMMAND_ID_MAX} characters of A-Z a-z 0-9 . _ ~ : / -, no part empty"
        )
    return text


COMMAND = Form(
    name="BidCommand",
    fields=(
        Field(
            name="token",
            to="token",
            parse=string,
            schema={"type": "string"},
            required=True,
            about="What POST /login answered: who bids.",
        ),
        Field(
            name="id",
            to="id",
            parse=checked(command_id),
            schema={"type": "string", "pattern": f"^{COMMAND_ID_PATTERN}$", "maxLength": COMMAND_ID_MAX},
            required=True,
            about="Chosen anew for each bid, at random; the same again for a repeat. It is the Idempotency-Key.",
        ),
        *BID.fields,
    ),
    check=bid_faults,
)
"""A bid over MQTT: what HTTP has in the headers `Authorization` and `Idempotency-Key` is in the object."""


class Commands:
    """Takes what devices publish on `auctions/{gid}/bids`, and answers each command that says where to.

    What cannot be answered is dropped: counted by its reason in `dropped` and logged without its content.
    """

    def __init__(self, services: BiddingServices, prefix: str) -> None:
        self.dropped = Tally("MQTT commands dropped")
        self._services = services
        self._auctions = f"{prefix}auctions/"
        self._replies = f"{prefix}replies/"
        self._rates = TokenRates(RATE_PER_SECOND, RATE_BURST)
        self._outage = Outage()
        self._under_way = 0

    async def __call__(self, arrived: Arrived) -> Reply | None:
        """Return the answer: the body of HTTP's with `status` before it. None where the message is dropped."""
        if (reason := _unheard(arrived)) is not None:
            self.dropped.count(reason)
            return None
        answers_to = self._answers_to(arrived)
        if answers_to is None:
            self.dropped.count("nowhere to answer")
            return None
        try:
            body = _CREATED + (await self._decide(arrived))[1:]
        except Refused as refused:
            body = _refusal(refused)
        except faults.Unavailable as error:
            self._outage.failed(str(error))
            body = _refusal(problems.Unavailable())
        except Exception:
            # The last resort, as over HTTP: the log gets everything, the device nothing of the inside.
            log.exception("internal error", topic=arrived.topic)
            body = _refusal(problems.InternalError())
        return Reply(answers_to, body, arrived.correlation)

    def _answers_to(self, arrived: Arrived) -> str | None:
        """Return the topic of the answer: the one asked for where it is allowed, else that of the command's id."""
        if arrived.response_topic is not None and self._is_ours(arrived.response_topic):
            return arrived.response_topic
        command_id = COMMAND.read_one(arrived.payload, "id")
        return None if command_id is None else self._replies + str(command_id)

    def _is_ours(self, topic: str) -> bool:
        """Whether an answer may go there: elsewhere a device could have the house write what it likes."""
        below = topic.removeprefix(self._replies)
        return (
            below != topic and 0 < len(below) <= RESPONSE_TOPIC_MAX and below.isprintable() and not {*below} & {*"+#"}
        )

    async def _decide(self, arrived: Arrived) -> bytes:
        """Return HTTP's answer to the bid. Raises what it refuses with, or Unavailable."""
        gid = arrived.topic.removeprefix(self._auctions).removesuffix("/bids")
        if GID.fullmatch(gid) is None:
            raise UnknownAuction
        values = self._read(arrived)
        token, command_id = values.pop("token"), values.pop("id")
        self._rates.take(token_digest(token))
        if self._under_way >= UNDER_WAY_MAX:
            raise Busy("Too many bids at once; nothing was changed; try again in a moment.")
        received_at = self._services.database.clock_now()
        version = values.get("seen_version")
        seen = None if version is None else Precondition(version=version)
        request = BidRequest(values.get("amount"), values.get("maximum"), received_at=received_at, seen=seen)
        once = IdempotencyKey(command_id, digest(*_BIDS, gid, values))
        self._under_way += 1
        try:
            return await self._services.desk.place(BidCommand(token, gid, request, once))
        except AuctionChanged as changed:
            raise await explained(self._services, gid, changed) from None
        finally:
            self._under_way -= 1

    def _read(self, arrived: Arrived) -> dict[str, Any]:
        """Return the members of the command. Raises Invalid with all faults, that of its response topic too."""
        found: dict[str, list[Fault]] = {}
        if arrived.response_topic is not None and not self._is_ours(arrived.response_topic):
            found["responseTopic"] = [_RESPONSE_TOPIC]
        try:
            values = COMMAND.read(arrived.payload)
        except Invalid as invalid:
            raise Invalid(invalid.faults | found) from None
        if found:
            raise Invalid(found)
        return values


def _unheard(arrived: Arrived) -> str | None:
    """Return why a message is not even read, if so."""
    if arrived.retained:
        return "retained"  # the broker had stored it, perhaps for days
    if not arrived.payload:
        return "empty"
    return "oversized" if len(arrived.payload) > PAYLOAD_BYTES_MAX else None


def _refusal(refused: Refused) -> bytes:
    return _encode({"status": problems.status_of(refused), **problems.body_of(refused)})
