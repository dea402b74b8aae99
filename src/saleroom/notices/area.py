"""The area of notices: its tables, endpoints, pages, and the tasks that post and send words."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path

from saleroom import __version__
from saleroom.area import Area, AreaParts, Platform, Task
from saleroom.http.endpoints import Rows
from saleroom.http.secret import Purpose
from saleroom.notices import api
from saleroom.notices.api.vocabulary import VOCABULARY
from saleroom.notices.service import delivering, hooking, posting, pushing, sending
from saleroom.notices.service.delivering import Deliverer
from saleroom.notices.service.hooking import Hooker
from saleroom.notices.service.posting import Poster
from saleroom.notices.service.pushing import Pusher
from saleroom.notices.service.sending import Sender, Server
from saleroom.notices.service.shown import ShownMails
from saleroom.notices.service.under_way import UnderWay
from saleroom.notices.service.webhooks_off import OFF_MAIL, off_context
from saleroom.notices.services import NoticeServices, PushService
from saleroom.notices.settings import NoticeSettings
from saleroom.notices.storage import webhooks
from saleroom.notices.storage.tables import TABLES
from saleroom.notices.web.mails import Letterhead, Mails
from saleroom.notices.web.pages import area_pages
from saleroom.notices.web.pushes import Pushes
from saleroom.outbox import store
from saleroom.outbox.hooks import HookClient
from saleroom.outbox.kinds import MailKind, Sign
from saleroom.outbox.message import MAIL, PUSH, WEBHOOK
from saleroom.outbox.smtp import SHOW, SmtpServer
from saleroom.outbox.web_push import HouseKey
from saleroom.site.language import Languages
from saleroom.storage.database import Database
from saleroom.storage.duty import Duty

SENDER = "saleroom@localhost"
"""The sender of mails that are only shown, if the settings name none."""
_FOLDER = Path(__file__).parent / "web"


def mail_server(settings: NoticeSettings) -> SmtpServer | None:
    """Return the mail server that the settings name; None if none is, or mails are shown. Raises ValueError."""
    if settings.smtp_url is None or settings.smtp_url == SHOW:
        return None
    return SmtpServer.from_url(settings.smtp_url, ca_file=settings.smtp_ca_file)


def mails(settings: NoticeSettings, platform: Platform, sign: Sign) -> Mails:
    """Return what writes the mails of a house."""
    folders = {kind.folder for kind in platform.mails.values()}
    return Mails(
        [_FOLDER, *sorted(folders)],
        Languages(settings.currency),
        sign,
        Letterhead(
            house=settings.house_name,
            origin=platform.origin,
            sender=settings.mail_sender or SENDER,
            signature=settings.mail_signature,
            zone=settings.time_zone,
        ),
    )


def _open(settings: NoticeSettings, platform: Platform) -> AreaParts:
    database = platform.database
    sign = partial(platform.secret.sign, Purpose.MAILS)
    shown = ShownMails() if settings.smtp_url == SHOW else None
    server: Server | None = shown or mail_server(settings)
    contact = push_contact(settings)
    push = (
        None
        if contact is None
        else PushService(key=partial(_house_key, platform), private=settings.web_push == "anywhere")
    )
    services = NoticeServices(
        database=database,
        tokens=platform.tokens,
        cursors=platform.cursors,
        sign=sign,
        languages=tuple(language.catalogue for language in Languages(settings.currency)),
        zone=settings.time_zone,
        shown=shown,
        mails=server is not None,
        push=push,
        webhook_key=partial(platform.secret.key, Purpose.WEBHOOKS),
        webhooks=settings.webhooks,
    )

    async def begin() -> Mapping[str, Task]:
        tasks: dict[str, Task] = {
            "outbox sweeper": partial(sending.sweep, database, () if push is not None else (PUSH,))
        }
        channels = [*([MAIL] if server is not None else []), *([PUSH] if push is not None else [])]
        for channel in channels:
            database.switch_on(store.SENT_BY[channel])
        poster = Poster(database, timedelta(seconds=settings.notices_gather_seconds), channels)
        sender = None
        if server is not None:
            write = mails(settings, platform, sign).write
            sender = Sender(database, server, settings.mail_sender or SENDER, write, platform.mails, sign)
        if channels:
            tasks |= duties(database, poster, sender)
        if push is not None and contact is not None:
            tasks["pushes"] = push_duty(database, _pusher(settings, platform, push, contact, sign))
        if settings.webhooks != "off":
            agent = f"saleroom/{__version__}"
            client = HookClient(private=settings.webhooks == "anywhere", ca_file=settings.webhooks_ca_file, agent=agent)
            deliverer = Deliverer(database, client, services.webhook_key, sign, platform.origin, platform.mails)
            tasks |= webhook_duties(database, deliverer)
        return tasks

    return AreaParts(pages=area_pages(services), rows=(Rows(services, api.ENDPOINTS),), begin=begin, close=lambda: None)


def duties(database: Database, poster: Poster, sender: Sender | None) -> Mapping[str, Task]:
    """Return the tasks that post words and send mails; each hears of commits from here on."""
    tasks: dict[str, Task] = {"words": Duty(database, posting.LEASE, poster.round).run}
    if sender is not None:
        tasks["mails"] = sends(database, sending.LEASE, sender.round).run
    return tasks


def sends(database: Database, lease: str, round_: Callable[[], Awaitable[float]]) -> Duty:
    """Return the duty that sends words; it hears of those that are posted from here on."""
    duty = Duty(database, lease, round_)
    database.after_commit(store.POSTED, lambda _: duty.wake())
    return duty


def _pusher(settings: NoticeSettings, platform: Platform, push: PushService, contact: str, sign: Sign) -> Pusher:
    client, brief = HookClient(private=push.private), mails(settings, platform, sign).brief
    write = Pushes(Languages(settings.currency), zone=settings.time_zone, brief=brief).write
    return Pusher(platform.database, client, push.key, contact, write, platform.mails, sign)


def push_duty(database: Database, pusher: Pusher) -> Task:
    """Return the task that sends messages to browsers; it hears of commits from here on."""
    return partial(posts, sends(database, pushing.LEASE, pusher.round), pusher.posts)


async def posts(duty: Duty, under_way: UnderWay) -> None:
    """Do a duty that posts until cancelled; end its posts then."""
    under_way.wake = duty.wake
    try:
        await duty.run()
    finally:
        await under_way.close()


def webhook_duties(database: Database, deliverer: Deliverer) -> Mapping[str, Task]:
    """Return the tasks that post events to the outbox for webhooks, and deliver them; each hears of commits from here on."""
    database.switch_on(store.SENT_BY[WEBHOOK])
    hooks = Duty(database, hooking.LEASE, Hooker(database).round, webhooks.any_on)
    delivers = Duty(database, delivering.LEASE, deliverer.round, delivering.is_needed)
    database.after_commit(webhooks.SWITCHED_ON, lambda _: hooks.wake())
    database.after_commit(store.POSTED, lambda _: delivers.wake())
    return {"events for webhooks": hooks.run, "webhooks": partial(posts, delivers, deliverer.posts)}


def push_contact(settings: NoticeSettings) -> str | None:
    """Return whom push services may write to, which some of them ask for; None if no browser gets messages."""
    if settings.web_push == "off":
        return None
    if settings.mail_sender is not None:
        return f"mailto:{settings.mail_sender}"
    return settings.public_url if settings.is_https else None


def _house_key(platform: Platform) -> HouseKey:
    return HouseKey(platform.secret.key(Purpose.PUSHES))


NOTICES: Area[NoticeSettings] = Area(
    tables=TABLES,
    endpoints=api.ENDPOINTS,
    vocabulary=VOCABULARY,
    operations={},
    open=_open,
    mails=(MailKind(name=OFF_MAIL, folder=_FOLDER, template="mail/webhook_off.html", context=off_context),),
)
