"""Bidders who bid over MQTT, repeat unanswered commands, and now and then repeat answered ones."""

import asyncio
import json
import random
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import aiomqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from tests.faults.bidding import BidStorm

PREFIX = "saleroom/"
ANSWER_SECONDS = 1.0
"""How long a device waits before it sends the same command again."""
AGAIN = 0.1
"""How many accepted commands are asked for again over HTTP, and how many with another amount."""


@dataclass
class DeviceStorm(BidStorm):
    """The same storm over MQTT 5 with response topics, and over 3.1.1, by turns."""

    _asked: dict[str, str] = field(default_factory=dict)
    """The auction of each command: an acceptance is noted when it arrives, even if nobody waits for it any more."""
    _waiting: dict[str, asyncio.Future[dict[str, Any]]] = field(default_factory=dict)
    _first: dict[str, dict[str, Any]] = field(default_factory=dict)
    answers: int = 0
    """How many answers came; more than commands if some were repeated."""

    async def begin(self, stack: AsyncExitStack) -> None:
        """Make the bidders, begin the auctions, and connect the devices."""
        await super().begin(stack)
        self._clients = [
            await stack.enter_async_context(aiomqtt.Client("127.0.0.1", self.broker_port, protocol=version))
            for version in (aiomqtt.ProtocolVersion.V5, aiomqtt.ProtocolVersion.V311)
        ]
        for number, client in enumerate(self._clients):
            client.pending_calls_threshold = 1000
            await client.subscribe(f"{PREFIX}replies/device{number}/#" if number else f"{PREFIX}replies/asked", 1)
            task = asyncio.create_task(self._listen(client))
            stack.callback(task.cancel)

    async def _settled(
        self, method: str, path: str, token: str | None, body: Any, key: str | None
    ) -> tuple[int, dict[str, Any]]:
        if token is None or not path.endswith("/bids"):
            return await super()._settled(method, path, token, body, key)
        kind = random.randrange(2)
        key = f"device{kind}/{self._bidders.index(token)}/{key}"
        status, said = await self._commanded(kind, path, token, body, key)
        if status == 201:
            if random.random() < AGAIN:
                again = await super()._settled(method, path, token, body, key)
                if again != (status, said):
                    self.faults.append(f"another answer over HTTP to {key} than over MQTT: {again}")
            if (
                kind == 0 and random.random() < AGAIN
            ):  # without correlation data a late answer could be taken for this one
                other = await self._commanded(kind, path, token, {"amount": "999999"}, key)
                if other[0] != 422:
                    self.faults.append(f"{key} was taken for another bid: {other}")
        return status, said

    async def _commanded(self, kind: int, path: str, token: str, body: Any, key: str) -> tuple[int, Any]:
        """Send a command until it is answered; return the status and body of the same answer over HTTP."""
        command = json.dumps({"token": token, "id": key, **body})
        ask = f"{key} {body['amount']}" if kind == 0 else key
        self._asked[ask] = path.split("/")[2]
        while True:
            waiting = self._waiting.setdefault(ask, asyncio.get_running_loop().create_future())
            properties = None
            if kind == 0:
                properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]  # paho has no types here
                properties.ResponseTopic = f"{PREFIX}replies/asked"
                properties.CorrelationData = ask.encode()
            await self._clients[kind].publish(f"{PREFIX}{path[1:]}", command, 1, properties=properties)
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    answer = dict(await asyncio.shield(waiting))
            except TimeoutError:
                self.repeats += 1
                continue
            self._waiting.pop(ask, None)
            status = answer.pop("status")
            if status not in {429, 503}:
                assert status in {201, 409, 422}, answer
                return status, answer
            await asyncio.sleep(random.uniform(0.05, 0.3))

    def _note(self, gid: str, bid: dict[str, Any]) -> None:
        """Do nothing: the answer was noted when it arrived."""

    async def _listen(self, client: aiomqtt.Client) -> None:
        async for message in client.messages:
            answer = json.loads(message.payload)
            correlation = getattr(message.properties, "CorrelationData", None)
            ask = str(message.topic).removeprefix(f"{PREFIX}replies/") if correlation is None else correlation.decode()
            self.answers += 1
            if answer["status"] == 201 and ask not in self._first:
                self._first[ask] = answer
                super()._note(self._asked[ask], answer["bid"])
            if answer["status"] == 201 and answer != self._first[ask]:
                self.faults.append(f"another answer to {ask} than at first")
            waiting = self._waiting.get(ask)
            if waiting is not None and not waiting.done():
                waiting.set_result(answer)
