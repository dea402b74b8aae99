"""An area as `compose` takes it. An area that is left out is gone from the program, its documents and its menus."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Generic, TypeVar

from saleroom.http.cursors import Cursors
from saleroom.http.endpoints import Endpoint, Rows
from saleroom.http.openapi import Operations
from saleroom.http.schemas import Vocabulary
from saleroom.http.secret import HouseSecret
from saleroom.kernel.figures import Figure
from saleroom.mqtt.asyncapi import Declare
from saleroom.mqtt.outbox import Publications
from saleroom.mqtt.relay import Relay
from saleroom.mqtt.topics import MqttSettings
from saleroom.outbox.kinds import MailKind
from saleroom.site.site import AreaPages
from saleroom.storage.areas import AreaTables
from saleroom.storage.database import Database, Transaction
from saleroom.storage.tokens import Tokens

S_contra = TypeVar("S_contra", contravariant=True)
"""The settings that an area reads: its own, and those of the platform."""
Task = Callable[[], Awaitable[None]]


@dataclass(frozen=True, kw_only=True)
class Platform:
    """The parts of the platform in one process that all areas share. `broker` is None if MQTT is off; `published` is what goes
    there from all areas.

    `mails` are the kinds of mails of all areas, by name. `origin` is the address of the house in them. `archive` writes all
    that the house holds about a user, by name, to a file; it blocks, and raises Refusal. `forget` deletes what all areas hold
    about a user, by number, or raises a refusal of one.
    """

    database: Database
    tokens: Tokens
    cursors: Cursors
    secret: HouseSecret
    mails: Mapping[str, MailKind]
    origin: str
    archive: Callable[[str, BinaryIO], object]
    forget: Callable[[Transaction, int], None]
    broker: MqttSettings | None
    published: Sequence[Publications]


def _do_nothing() -> None:
    """Do nothing."""


async def _no_tasks() -> Mapping[str, Task]:
    return {}


@dataclass(frozen=True, kw_only=True)
class AreaParts:
    """An area in one process: its pages, and the rows of its endpoints with the services behind them.

    Before the first request, `begin` does what fell due, and returns the tasks to run beside the requests, by name.
    `close` ends its threads and processes. `figures` returns what it has counted, and `asked` asks the database for more, now
    and then: only a house that shows its figures calls them. `relay` is one of the tasks; `owed` counts the events that it has
    still to send. `look` has the area read its logs, as another process may have written to them.
    """

    pages: AreaPages
    rows: tuple[Rows[Any], ...]
    close: Callable[[], None]
    begin: Callable[[], Awaitable[Mapping[str, Task]]] = _no_tasks
    figures: Callable[[], Sequence[Figure]] = tuple
    asked: tuple[Callable[[], Awaitable[Sequence[Figure]]], ...] = ()
    relay: Relay | None = None
    owed: Callable[[], Awaitable[int]] | None = None
    look: Callable[[], None] = _do_nothing


async def _nothing(settings: Any, database: Database) -> None:
    """Prepare nothing."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Area(Generic[S_contra]):
    """All that an area declares.

    `endpoints` are all rows that it can have. `operations` are its pages in the OpenAPI document, `messages` those of the
    AsyncAPI document, `published` the logs that go to a broker. Requests to paths that end with one of `urgent` begin before
    others. `mails` are its kinds of mails of their own. `prepare` is awaited before several processes begin, and `open`
    returns the area in one process.
    """

    tables: AreaTables
    endpoints: tuple[Endpoint[Any], ...]
    vocabulary: Vocabulary
    operations: Operations
    open: Callable[[S_contra, Platform], AreaParts]
    prepare: Callable[[S_contra, Database], Awaitable[None]] = _nothing
    messages: tuple[Declare, ...] = ()
    published: tuple[Publications, ...] = ()
    urgent: tuple[str, ...] = ()
    mails: tuple[MailKind, ...] = ()
