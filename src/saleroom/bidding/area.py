"""The area of bidding: its tables, endpoints, pages and services, and the tasks that run beside the requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import structlog

from saleroom.area import Area, AreaParts, Platform, Task
from saleroom.bidding import api
from saleroom.bidding.api.asyncapi import area_messages
from saleroom.bidding.api.devices import PUBLICATIONS, CommandHandler
from saleroom.bidding.api.preconditions import EXPLANATIONS
from saleroom.bidding.api.vocabulary import VOCABULARY
from saleroom.bidding.domain.categories import read_categories
from saleroom.bidding.service import reading, signing
from saleroom.bidding.service.closing import Closer
from saleroom.bidding.service.desk import Desk
from saleroom.bidding.service.photo_sweep import PhotoSweep
from saleroom.bidding.service.photos import Photos
from saleroom.bidding.service.signing import SigningKey
from saleroom.bidding.services import BiddingServices
from saleroom.bidding.settings import BiddingSettings
from saleroom.bidding.storage.area_tables import TABLES
from saleroom.bidding.storage.auctions import CHANGED
from saleroom.bidding.storage.event_log import LOG
from saleroom.bidding.storage.photo_store import PHOTO_STORE
from saleroom.bidding.storage.photos import newest_is_in_store
from saleroom.bidding.web.operations import OPERATIONS
from saleroom.bidding.web.pages import area_pages
from saleroom.feed.feed import Feed
from saleroom.feed.sessions import SessionStreams
from saleroom.http.endpoints import Rows
from saleroom.kernel.figures import Figure, Kind, gauge
from saleroom.log.store import owed_counts
from saleroom.mqtt.relay import Relay
from saleroom.storage.batching import SharedRead, SharedReads
from saleroom.storage.database import Database

log = structlog.get_logger(__name__)


def _open(settings: BiddingSettings, platform: Platform) -> AreaParts:
    database, broker, key = platform.database, platform.broker, SigningKey()
    closer = Closer(database, reopens=settings.outage_reopens)
    services = BiddingServices(
        database=database,
        tokens=platform.tokens,
        desk=Desk(database, key),
        signing_key=key,
        auction_views=SharedRead(database, reading.shown),
        shared_reads=SharedReads(database),
        photos=Photos(database, settings.photo_bytes_max),
        feed=Feed(database, LOG, settings.followers_max),
        cursors=platform.cursors,
        currency=settings.currency,
        auctions_per_user_max=settings.auctions_per_user_max,
        sellers=settings.sellers,
        categories=read_categories(settings.categories),
    )
    taken = None if broker is None else CommandHandler(services, broker.prefix)
    relay = None if broker is None else Relay(database, platform.published, broker, taken)
    logs, owed = tuple(each.log for each in platform.published), SharedRead(database, owed_counts)

    store = database.provided(PHOTO_STORE)

    def figures() -> Sequence[Figure]:
        followers = gauge("saleroom_followers", "Readers of server-sent events.", len(services.feed))
        stored = () if store is None else store.figures()
        return (*services.desk.figures(), *closer.figures(), followers, *stored)

    async def relay_figures() -> Sequence[Figure]:
        backlog, about = await owed.ask(logs), "Events that the MQTT broker has still to get."
        connected = float(relay is not None and relay.status == "connected")
        return (
            gauge("saleroom_relay_owed", about, backlog, Kind.STATE),
            gauge("saleroom_relay_connected", "Whether a process is connected to the MQTT broker.", connected),
        )

    async def begin() -> Mapping[str, Task]:
        """Settle the auctions that fell due while no process served, and notice an outage."""
        found = dict(tasks(database, closer, services.feed, relay))
        found["sessions"] = SessionStreams(services.feed, platform.tokens).run
        if store is not None:
            found["photo store"] = PhotoSweep(database, store).run
        elif await database.read(newest_is_in_store):
            log.error("photos are in a store, and photo_store names none; they are not shown until it does")
        await _take_key(database, settings.signing_key_file, key)
        await closer.begin()
        return found

    return AreaParts(
        pages=area_pages(services),
        rows=(Rows(services, api.ENDPOINTS, EXPLANATIONS), Rows(services.feed, api.STREAMS)),
        begin=begin,
        close=services.photos.close,
        figures=figures,
        asked=(relay_figures,) if relay is not None else (),
        relay=relay,
        owed=lambda: owed.ask(logs),
        look=services.feed.wake,
    )


def tasks(database: Database, closer: Closer, feed: Feed, relay: Relay | None) -> Mapping[str, Task]:
    """Return the tasks that run beside the requests, by name; the closer and the feed hear of commits from here on."""
    found: dict[str, Task] = {"closer": closer.run, "feed": feed.run}
    if relay is not None:
        found["relay"] = relay.run

    database.after_commit(CHANGED, closer.expect)
    database.after_commit(LOG.appended, lambda _: feed.wake())
    if relay is not None:
        feed.after_rewind.append(relay.begin_again)
    return found


async def _prepare(settings: BiddingSettings, database: Database) -> None:
    """Make the key if its file is missing, before several processes read it."""
    await _take_key(database, settings.signing_key_file, SigningKey())


async def _take_key(database: Database, file: Path | None, key: SigningKey) -> None:
    """Sign receipts with the key in `file`, if the setting names one."""
    if file is None:
        return
    signer = signing.from_file(file)
    key.use(signer)
    # Most starts find the key stored already and write nothing, as the database may be read-only for now.
    if not await database.read(signing.is_alone, signer):
        await database.write(signing.make_alone, signer)


BIDDING: Area[BiddingSettings] = Area(
    tables=TABLES,
    endpoints=(*api.ENDPOINTS, *api.STREAMS),
    vocabulary=VOCABULARY,
    operations=OPERATIONS,
    open=_open,
    prepare=_prepare,
    messages=(area_messages,),
    published=(PUBLICATIONS,),
    urgent=("/bids", "/bid"),
)
