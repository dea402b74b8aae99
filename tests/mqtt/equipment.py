"""Equipment of the delivery tests: a real Mosquitto, a third-party subscriber, and sales by the service's use cases."""

import asyncio
import os
import pty
import secrets
import signal
import socket
import subprocess
import threading
import tty
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import select

from saleroom.accounts.service.accounts import token_digest
from saleroom.accounts.storage import accounts
from saleroom.bidding.domain.bidding import BidRequest
from saleroom.bidding.domain.selling import Draft
from saleroom.bidding.service.auctions import cancel, close, create
from saleroom.bidding.service.bidding import BidCommand, place_bids
from saleroom.bidding.storage import auctions, event_log, tables
from saleroom.broker.embedded import BrokerAddress
from saleroom.mqtt.topics import MqttSettings, Version
from saleroom.storage.database import Database, Transaction
from tests.needs import need
from tests.patience import SECONDS_MAX
from tests.process import wait_until


def as_service(address: BrokerAddress, prefix: str = "saleroom/") -> MqttSettings:
    """Return how the service reaches the embedded broker."""
    host, port, user, password, _ = address
    return MqttSettings(host, port, user=user, password=password, client_id=user, prefix=prefix, version=Version.V311)


def free_port() -> int:
    """Return a free port below the kernel's ephemeral range, so that nobody takes it while its server is away."""
    while True:
        with socket.socket() as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            port = 20_000 + secrets.randbelow(12_000)
            try:
                trial.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


class Mosquitto:
    """Debian's broker on a separate port; it can be killed and started again on the same port."""

    def __init__(self, folder: Path, *lines: str, port: int | None = None) -> None:
        self.port = port or free_port()
        self.settings = MqttSettings("127.0.0.1", self.port)
        self._config = folder / f"mosquitto-{self.port}.conf"
        access = () if any("password_file" in line for line in lines) else ("allow_anonymous true",)
        # As root it would change to a user that may not read the test's files.
        head = ("user root", f"listener {self.port} 127.0.0.1", "max_queued_messages 0", "max_inflight_messages 0")
        self._config.write_text("\n".join((*head, *access, *lines, "")))
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it listens."""
        command = [need("mosquitto"), "-c", str(self._config)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(self._listens)

    def _listens(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, "mosquitto did not start"
        with socket.socket() as trial:
            return trial.connect_ex(("127.0.0.1", self.port)) == 0

    def reload(self) -> None:
        """Have it read its access rules again."""
        assert self._process is not None
        self._process.send_signal(signal.SIGHUP)

    def freeze(self) -> None:
        """Make it do nothing, with its connections open."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kill it without a chance to say anything."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


class Gate:
    """A link to a broker that can be shut: the relay finds no broker, while subscribers can already wait there."""

    def __init__(self, broker: MqttSettings) -> None:
        self.settings = replace(broker, port=free_port())
        self._broker = broker
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._lets_go = asyncio.Event()
        self._lets_go.set()

    async def open(self) -> None:
        """Let connections through."""
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self.settings.port)

    def shut(self) -> None:
        """Cut all connections and refuse new ones."""
        if self._server is not None:
            self._server.close()
        for writer in self._open:
            writer.close()

    def hold(self) -> None:
        """Keep what clients send from now on, as a slow network does."""
        self._lets_go.clear()

    def let_go(self) -> None:
        """Pass on what was kept, and all that follows."""
        self._lets_go.set()

    async def end(self) -> None:
        """Shut it for good, and let the event loop close its sockets: none is found unclosed in a later test."""
        self.shut()
        for writer in self._open:
            writer.transport.abort()
        await asyncio.sleep(0)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await asyncio.open_connection(self._broker.host, self._broker.port)
        at_once = asyncio.Event()
        at_once.set()
        await asyncio.gather(self._pass(reader, there[1], self._lets_go), self._pass(there[0], writer, at_once))

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, lets_go: asyncio.Event) -> None:
        self._open.add(writer)
        with suppress(OSError):
            while data := await reader.read(65536):
                await lets_go.wait()
                writer.write(data)
                await writer.drain()
        writer.close()


class PrintedMessage(NamedTuple):
    """A message as `mosquitto_sub` printed it."""

    topic: str
    payload: bytes
    retained: bool


class Subscriber:
    """`mosquitto_sub` in a separate process, anonymous if not `as_service`; it is subscribed when this returns.

    `options` are those of the program, such as `-V mqttv5`. `subscriptions` counts its subscriptions: it comes back by
    itself when its broker does.
    """

    def __init__(
        self, settings: MqttSettings, *topics: str, as_service: bool = False, options: Sequence[str] = ()
    ) -> None:
        self.messages: list[PrintedMessage] = []
        self.subscriptions = 0
        self._subscribed = threading.Event()
        # It would buffer its output to a pipe; to a terminal it writes line by line.
        self._terminal, end = pty.openpty()
        tty.setraw(end)
        address = ["-h", settings.host, "-p", str(settings.port), "-q", "1", "-d", "-F", "MESSAGE %r %t %p"]
        account = _account(settings) if as_service else []
        trust = ["--cafile", settings.ca_file] if settings.ca_file else []
        filters = [word for topic in topics or ("#",) for word in ("-t", topic)]
        self._process = subprocess.Popen(
            [need("mosquitto_sub"), *address, *options, *account, *trust, *filters], stdout=end, stderr=end
        )
        os.close(end)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        assert self._subscribed.wait(SECONDS_MAX), "mosquitto_sub did not get its subscription"

    def _read(self) -> None:
        for line in self._lines():
            if line.startswith(b"Subscribed"):
                self.subscriptions += 1
                self._subscribed.set()
            elif line.startswith(b"MESSAGE "):
                _, retained, topic, payload = line.split(b" ", 3)
                self.messages.append(PrintedMessage(topic.decode(), payload, retained == b"1"))

    def _lines(self) -> Iterator[bytes]:
        rest = b""
        while True:
            try:
                data = os.read(self._terminal, 65536)
            except OSError:  # Linux raises this if the other end is closed
                return
            *lines, rest = (rest + data).split(b"\n")
            yield from lines

    def payloads(self, topic: str) -> list[bytes]:
        """Return the messages of one topic, in order."""
        return [message.payload for message in self.messages if message.topic == topic]

    def freeze(self) -> None:
        """Make it stop reading, with its connection open."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it read on."""
        self._process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        """Kill it; what it has printed is read."""
        if self._process.returncode is None:
            self._process.kill()
            self._process.wait()
            self._thread.join()
            os.close(self._terminal)


def publish(
    settings: MqttSettings, topic: str, payload: str, *options: str, as_service: bool = False
) -> subprocess.CompletedProcess[str]:
    """Publish once with `mosquitto_pub` at QoS 1."""
    account = _account(settings) if as_service else []
    address = ["-h", settings.host, "-p", str(settings.port), *account]
    return subprocess.run(
        [need("mosquitto_pub"), *address, "-q", "1", "-t", topic, "-m", payload, *options],
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )


def _account(settings: MqttSettings) -> list[str]:
    return ["-u", settings.user, "-P", settings.password or ""] if settings.user else []


class Sales:
    """Auctions and bids in a real database, by the service's own use cases."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._authors: dict[str, str] = {}

    async def sell(self, **terms: Any) -> str:
        """Create an auction and return its gid."""
        draft = Draft(name="Longcase clock", starting_price=Decimal("100.000"), **terms)
        author = await self._user()
        await self.database.write(create, author, draft, None)
        gid = (await self._logged())[-1][0]
        self._authors[gid] = author
        return gid

    async def close(self, gid: str) -> None:
        """Close an auction that has no end."""
        await self.database.write(close, self._authors[gid], gid, None, None)

    async def cancel(self, gid: str) -> None:
        """Cancel an auction without a bid."""
        await self.database.write(cancel, self._authors[gid], gid)

    async def bid(self, gid: str, times: int = 1) -> None:
        """Place bids on an auction, each by a new user and each in its own transaction."""
        for _ in range(times):
            auction = await self.database.read(auctions.get, gid)
            assert auction is not None
            command = BidCommand(await self._user(), gid, BidRequest(auction.minimum_bid, None))
            [answer] = await self.database.write(place_bids, [command])
            assert isinstance(answer, bytes), answer

    async def payloads(self, gid: str) -> list[bytes]:
        """Return the wire form of an auction's events as the log has them."""
        return [payload for of, payload in await self._logged() if of == gid]

    async def state(self, gid: str) -> bytes:
        """Return an auction's public state as it is now."""
        auction = await self.database.read(auctions.get, gid)
        assert auction is not None
        return (await self.database.read(auctions.public_states, [auction.id]))[auction.id][1]

    async def owed(self) -> int:
        """Return how many events are not marked as delivered."""
        return await self.database.read(event_log.LOG.owed_count)

    async def until_delivered(self) -> None:
        """Wait until every event is marked as delivered."""
        async with asyncio.timeout(SECONDS_MAX):
            while await self.owed():
                await asyncio.sleep(0.01)

    async def _logged(self) -> list[tuple[str, bytes]]:
        def rows(tx: Transaction) -> list[tuple[str, bytes]]:
            same = tables.events.c.auction_id == tables.auctions.c.id
            chosen = select(tables.auctions.c.gid, tables.events.c.payload).join_from(
                tables.events, tables.auctions, same
            )
            public = chosen.where(tables.events.c.version.is_not(None)).order_by(tables.events.c.id)
            return [(row.gid, row.payload) for row in tx.execute(public)]

        return await self.database.read(rows)

    async def _user(self) -> str:
        """Add a user and return a token of theirs."""

        def add(tx: Transaction) -> str:
            token = secrets.token_hex(8)
            account = accounts.add_user(tx, token, None, tx.now())
            assert account is not None and account.id is not None
            accounts.add_token(tx, account.id, token_digest(token), tx.now())
            return token

        return await self.database.write(add)
