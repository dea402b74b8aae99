"""The area of notices: its tables, endpoints, pages, and the tasks that post and send words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path

from saleroom.area import Area, AreaParts, Platform, Task
from saleroom.http.endpoints import Rows
from saleroom.http.secret import Purpose
from saleroom.notices import api
from saleroom.notices.api.vocabulary import VOCABULARY
from saleroom.notices.service import posting, sending
from saleroom.notices.service.duty import Duty
from saleroom.notices.service.posting import Poster
from saleroom.notices.service.sending import Sender, Server
from saleroom.notices.service.shown import ShownMails
from saleroom.notices.services import NoticeServices
from saleroom.notices.settings import NoticeSettings
from saleroom.notices.storage.tables import TABLES
from saleroom.notices.web.mails import Mails
from saleroom.notices.web.pages import area_pages
from saleroom.outbox import store
from saleroom.outbox.kinds import Sign
from saleroom.outbox.smtp import SHOW, SmtpServer
from saleroom.site.language import Languages
from saleroom.storage.database import Database

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
        house=settings.house_name,
        origin=platform.origin,
        sender=settings.mail_sender or SENDER,
        signature=settings.mail_signature,
        zone=settings.time_zone,
    )


def _open(settings: NoticeSettings, platform: Platform) -> AreaParts:
    database = platform.database
    sign = partial(platform.secret.sign, Purpose.MAILS)
    shown = ShownMails() if settings.smtp_url == SHOW else None
    server: Server | None = shown or mail_server(settings)
    services = NoticeServices(
        database=database,
        tokens=platform.tokens,
        cursors=platform.cursors,
        sign=sign,
        languages=tuple(language.catalogue for language in Languages(settings.currency)),
        zone=settings.time_zone,
        shown=shown,
        mails=server is not None,
    )

    async def begin() -> Mapping[str, Task]:
        tasks: dict[str, Task] = {"outbox sweeper": partial(sending.sweep, database)}
        if server is not None:
            write = mails(settings, platform, sign).write
            sender = Sender(database, server, settings.mail_sender or SENDER, write, platform.mails, sign)
            tasks |= duties(database, Poster(database, timedelta(seconds=settings.notices_gather_seconds)), sender)
        return tasks

    return AreaParts(pages=area_pages(services), rows=(Rows(services, api.ENDPOINTS),), begin=begin, close=lambda: None)


def duties(database: Database, poster: Poster, sender: Sender) -> Mapping[str, Task]:
    """Return the tasks that post and send words; each hears of commits from here on."""
    posts = Duty(database, posting.LEASE, poster.round)
    sends = Duty(database, sending.LEASE, sender.round)
    database.after_commit(store.POSTED, lambda _: sends.wake())
    return {"words": posts.run, "mails": sends.run}


NOTICES: Area[NoticeSettings] = Area(
    tables=TABLES,
    endpoints=api.ENDPOINTS,
    vocabulary=VOCABULARY,
    operations={},
    open=_open,
)
