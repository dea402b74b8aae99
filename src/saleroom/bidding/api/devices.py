"""Bids from devices over MQTT, by the same rules as over HTTP."""

from __future__ import annotations

import math
import re
from typing import Any

import msgspec
import structlog

from saleroom.accounts.service.accounts import token_digest
from saleroom.accounts.service.throttle import RateLimit
from saleroom.bidding.api.bids import BID, bid_faults
from saleroom.bidding.api.preconditions import with_changes
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
from saleroom.kernel.errors import Busy, Fault, Refusal, TooManyRequests
from saleroom.kernel.identifiers import GID, IdempotencyKey
from saleroom.logs import OutageLog, Tally
from saleroom.mqtt.outbox import Publications
from saleroom.mqtt.topics import DeviceMessage, Reply
from saleroom.storage import faults

PAYLOAD_BYTES_MAX = 4096
UNDER_WAY_MAX = 1024
"""Bids that may wait for a decision. Further ones are refused as `busy` at once."""
RATE_PER_SECOND = 20
RATE_BURST = 40
RESPONSE_TOPIC_MAX = 256
"""Characters of a response topic below the prefix."""
COMMAND_ID_MAX = 128
COMMAND_ID_PATTERN = "[A-Za-z0-9._~:-]+(?:/[A-Za-z0-9._~:-]+)*"

_CREATED = b'{"status":201,'
_BIDS = ("POST", "/auctions/{gid}/bids")
"""The endpoint that the Idempotency-Keys belong to, so that a repeat over HTTP is the same request."""
_RESPONSE_TOPIC = Fault("response_topic", "must be below replies/ of this house, without + and #, and not too long")

PUBLICATIONS = Publications(LOG, auctions.public_states, auctions.running_numbers)
"""The events and states of auctions, as the relay reads them."""

log = structlog.get_logger(__name__)
_encode = msgspec.json.Encoder().encode


def command_id(text: str) -> str | Fault:
    """Return the id of a command, with which the topic of its answer ends, or its fault."""
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
            about="The bidder's token, from POST /login.",
        ),
        Field(
            name="id",
            to="id",
            parse=checked(command_id),
            schema={"type": "string", "pattern": f"^{COMMAND_ID_PATTERN}$", "maxLength": COMMAND_ID_MAX},
            required=True,
            about="A new random id for each bid, and the same id for a repeat. It is the Idempotency-Key.",
        ),
        *BID.fields,
    ),
    check=bid_faults,
)
"""A bid over MQTT. The object also has what HTTP has in the headers `Authorization` and `Idempotency-Key`."""


class CommandHandler:
    """Handles the messages that devices publish on `auctions/{gid}/bids`.

    A message that cannot be answered is dropped: counted in `dropped` by its reason, and logged without its content.
    """

    def __init__(self, services: BiddingServices, prefix: str) -> None:
        self.dropped = Tally("MQTT commands dropped")
        self._services = services
        self._auctions = f"{prefix}auctions/"
        self._replies = f"{prefix}replies/"
        self._rates = RateLimit(RATE_PER_SECOND, RATE_BURST)
        self._outage = OutageLog()
        self._under_way = 0

    async def __call__(self, arrived: DeviceMessage) -> Reply | None:
        """Return the answer: the body of HTTP's answer after a `status`. Return None if the message is dropped."""
        if (reason := _drop_reason(arrived)) is not None:
            self.dropped.count(reason)
            return None
        topic = self._answer_topic(arrived)
        if topic is None:
            self.dropped.count("nowhere to answer")
            return None
        try:
            body = _CREATED + (await self._decide(arrived))[1:]
        except Refusal as refused:
            body = _refusal(refused)
        except faults.DatabaseUnavailable as error:
            self._outage.failed(str(error))
            body = _refusal(problems.Unavailable())
        except Exception:  # a bug, whatever it is: the log has the details, the device gets none, as over HTTP
            log.exception("internal error", topic=arrived.topic)
            body = _refusal(problems.InternalError())
        return Reply(topic, body, arrived.correlation)

    def _answer_topic(self, arrived: DeviceMessage) -> str | None:
        """Return the response topic if that is allowed, otherwise the topic of the command's id, if it has a valid one."""
        if arrived.response_topic is not None and self._is_ours(arrived.response_topic):
            return arrived.response_topic
        command_id = COMMAND.read_one(arrived.payload, "id")
        return None if command_id is None else self._replies + str(command_id)

    def _is_ours(self, topic: str) -> bool:
        """Whether an answer may go there. Otherwise a device could make the house publish on a topic of its choice."""
        below = topic.removeprefix(self._replies)
        return (
            below != topic and 0 < len(below) <= RESPONSE_TOPIC_MAX and below.isprintable() and not {*below} & {*"+#"}
        )

    async def _decide(self, arrived: DeviceMessage) -> bytes:
        """Return the body of HTTP's answer to the bid. Raises Refusal or DatabaseUnavailable."""
        gid = arrived.topic.removeprefix(self._auctions).removesuffix("/bids")
        if GID.fullmatch(gid) is None:
            raise UnknownAuction
        values = self._read(arrived)
        token, command_id = values.pop("token"), values.pop("id")
        if wait := self._rates.take(token_digest(token)):
            raise TooManyRequests("Too many bids with this token; wait a moment.", retry_after=math.ceil(wait))
        if self._under_way >= UNDER_WAY_MAX:
            raise Busy("Too many bids at once; nothing was changed; try again in a moment.")
        received_at = self._services.database.clock_now()
        version = values.get("seen_version")
        precondition = None if version is None else Precondition(version=version)
        request = BidRequest(values.get("amount"), values.get("maximum"), received_at=received_at, seen=precondition)
        key = IdempotencyKey(command_id, digest(*_BIDS, gid, values))
        self._under_way += 1
        try:
            return await self._services.desk.place(BidCommand(token, gid, request, key))
        except AuctionChanged as changed:
            raise await with_changes(self._services, gid, changed) from None
        finally:
            self._under_way -= 1

    def _read(self, arrived: DeviceMessage) -> dict[str, Any]:
        """Return the members of the command. Raises Invalid with all faults, including that of the response topic."""
        found: dict[str, list[Fault]] = {}
        if arrived.response_topic is not None and not self._is_ours(arrived.response_topic):
            found["responseTopic"] = [_RESPONSE_TOPIC]
        return COMMAND.read_beside(arrived.payload, found)


def _drop_reason(arrived: DeviceMessage) -> str | None:
    """Return why a message is dropped unread, or None."""
    if arrived.retained:
        return "retained"  # the broker stored it, perhaps for days
    if not arrived.payload:
        return "empty"
    return "oversized" if len(arrived.payload) > PAYLOAD_BYTES_MAX else None


def _refusal(refused: Refusal) -> bytes:
    return _encode({"status": problems.status_of(refused), **problems.body_of(refused)})
