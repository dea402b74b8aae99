"""A house that sends words over a real mail server, round by round, with a clock that tests set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

from saleroom.accounts.storage import mail_addresses
from saleroom.http.secret import HouseSecret, Purpose
from saleroom.notices.area import _FOLDER
from saleroom.notices.service.posting import Poster
from saleroom.notices.service.sending import Sender
from saleroom.notices.web.mails import Letterhead, Mails
from saleroom.outbox import store
from saleroom.outbox.kinds import MailKind
from saleroom.outbox.message import MAIL
from saleroom.outbox.smtp import SmtpServer
from saleroom.site.language import Languages
from saleroom.storage.database import Database
from tests.bidding.service.people import Person, person
from tests.outbox.mail_server import Post

ORIGIN = "https://house.example"
SENDER = "bids@house.example"


@dataclass
class Postman:
    """The poster and the sender of one process."""

    database: Database
    port: int
    post: Post
    kinds: Mapping[str, MailKind] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.secret = HouseSecret()
        self.secret.learn("11" * 32)
        self.sign = partial(self.secret.sign, Purpose.MAILS)
        terms: dict[str, Any] = {
            "house": "Müller & Söhne",
            "origin": ORIGIN,
            "sender": SENDER,
            "signature": "Müller & Söhne\nAm Markt 1",
            "zone": "Europe/Berlin",
        }
        folders = {_FOLDER, *(kind.folder for kind in self.kinds.values())}
        self.mails = Mails(sorted(folders), Languages("EUR"), self.sign, Letterhead(**terms | self.options))
        server = SmtpServer("127.0.0.1", self.port, "none")
        self.database.switch_on(store.SENT_BY[MAIL])
        self.poster = Poster(self.database, timedelta(seconds=60))
        self.sender = Sender(self.database, server, SENDER, self.mails.write, self.kinds, self.sign)

    async def rounds(self) -> None:
        """Post what is due, and send it."""
        await self.poster.round()
        await self.sender.round()

    async def known(self, name: str, language: str = "en") -> Person:
        """A user with a verified mail address."""
        one = await person(self.database, name)
        await self.database.write(self._verified, one.account.id, f"{name}@example.org", language)
        return one

    @staticmethod
    def _verified(tx: Any, user_id: int, address: str, language: str) -> None:
        mail_addresses.give(tx, user_id, address, language, tx.now())
        mail_addresses.verify(tx, user_id, address, tx.now())

    def text(self, number: int = -1) -> str:
        """The plain text of a mail."""
        part: Any = self.post.mails[number].get_body(("plain",))
        return str(part.get_content())

    def html(self, number: int = -1) -> str:
        """The HTML of a mail."""
        part: Any = self.post.mails[number].get_body(("html",))
        return str(part.get_content())
