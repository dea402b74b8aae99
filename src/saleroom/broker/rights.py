"""Rights on the embedded broker: the service may do everything, a device little.

A device needs no account. It reads what is under the prefix, and publishes to `auctions/{gid}/bids` only. Only the
service reads those commands, because they carry tokens.
"""

import hmac
import re
from dataclasses import dataclass

from amqtt.contexts import Action, BaseContext
from amqtt.plugins.base import BaseAuthPlugin, BaseTopicPlugin
from amqtt.session import Session

from saleroom.broker.links import IS_SERVICE
from saleroom.kernel.identifiers import GID

COMMAND_BYTES_MAX = 4096


class Rights(BaseAuthPlugin, BaseTopicPlugin):
    """The plugin that amqtt asks about each client and each topic."""

    @dataclass
    class Config:
        """The service's account and the prefix of all topics."""

        user: str
        password: str
        prefix: str

    def __init__(self, context: BaseContext) -> None:
        super().__init__(context)
        self._config: Rights.Config = self.config
        self._bids = re.compile(rf"{re.escape(self._config.prefix)}auctions/{GID.pattern}/bids")
        self._replies = f"{self._config.prefix}replies/"

    async def authenticate(self, *, session: Session) -> bool:
        """Tell the service from a device; refuse only the service's name with a wrong password.

        amqtt publishes a Last Will without asking for rights, so a device's is dropped here unless the device may publish it.
        """
        named = _same(session.username, self._config.user)
        is_service = _same(session.password, self._config.password) and named
        session.attributes[IS_SERVICE] = is_service
        session.is_anonymous = not is_service  # amqtt then keeps nothing for it while it is away
        if not is_service:
            session.will_flag &= self.takes(session, session.will_topic or "", session.will_message or b"")
            session.will_retain, session.will_qos = False, 1
        return is_service or not named

    async def topic_filtering(
        self, *, session: Session | None = None, topic: str | None = None, action: Action | None = None
    ) -> bool:
        """The same as `allows`, in amqtt's form."""
        return session is not None and topic is not None and action is not None and self.allows(session, topic, action)

    def allows(self, session: Session, topic: str, action: Action) -> bool:
        """Say whether this client may publish to, subscribe to or receive from a topic.

        Any filter may be subscribed to (`#` too); each message is then allowed or withheld.
        """
        if session.attributes.get(IS_SERVICE):
            return True
        is_bid = self._bids.fullmatch(topic) is not None
        match action:
            case Action.PUBLISH:
                return is_bid
            case Action.RECEIVE:
                return topic.startswith(self._config.prefix) and not is_bid
            case Action.SUBSCRIBE:
                return True

    def takes(self, session: Session, topic: str, payload: bytes | bytearray) -> bool:
        """Say whether this client may publish this. MQTT 3.1.1 cannot refuse a message, so others are dropped."""
        if session.attributes.get(IS_SERVICE):
            return True
        return self.allows(session, topic, Action.PUBLISH) and len(payload) <= COMMAND_BYTES_MAX

    def needs_its_name(self, topic: str) -> bool:
        """Say whether a topic is an answer's: it must be subscribed to by name, as no wildcard matches it."""
        return topic.startswith(self._replies)


def _same(given: str | None, expected: str) -> bool:
    return hmac.compare_digest((given or "").encode(), expected.encode())
