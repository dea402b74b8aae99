"""What posts for webhooks and delivers to them, in one process, to a real server."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from saleroom.http.secret import HouseSecret, Purpose
from saleroom.notices.domain.webhooks import Scope
from saleroom.notices.service import webhooks
from saleroom.notices.service.delivering import Deliverer
from saleroom.notices.service.hooking import Hooker
from saleroom.notices.service.webhooks import WithSecret
from saleroom.outbox import store
from saleroom.outbox.hooks import HookClient
from saleroom.outbox.kinds import MailKind
from saleroom.outbox.message import WEBHOOK, Word
from saleroom.storage.database import Database
from tests.bidding.service.people import Person, person
from tests.notices.equipment import ORIGIN
from tests.notices.receiver import Receiver

ALL = ("*",)


class Hooks:
    """What posts for webhooks and delivers to them, in one process."""

    def __init__(self, database: Database, receiver: Receiver, kinds: Sequence[MailKind] = ()) -> None:
        database.switch_on(store.SENT_BY[WEBHOOK])
        secret = HouseSecret()
        secret.learn("11" * 32)
        self.database = database
        self.receiver = receiver
        self.key = partial(secret.key, Purpose.WEBHOOKS)
        self.hooker = Hooker(database)
        self.client = HookClient(private=True)
        sign, known = partial(secret.sign, Purpose.MAILS), {kind.name: kind for kind in kinds}
        self.deliverer = Deliverer(database, self.client, self.key, sign, ORIGIN, known)

    async def made(self, owner: Person, *kinds: str, scope: Scope = Scope.OWN, path: str = "/hook") -> WithSecret:
        """A webhook of somebody."""
        url = self.receiver.url(path)
        return await self.database.write(webhooks.make, owner.token, self.key, url, kinds or ALL, scope)

    async def rounds(self, count: int = 1) -> None:
        """Post what follows from the log, and deliver what is due."""
        for _ in range(count):
            await self.hooker.round()
            await self.deliver()

    async def deliver(self) -> None:
        """Deliver what is due; words for all webhooks of somebody need two rounds."""
        await self.deliverer.round()
        await self.deliverer.posts.drain()
        await self.deliverer.round()
        await self.deliverer.posts.drain()

    async def words(self, owner: Person, made: WithSecret) -> list[Word]:
        """What was posted to a webhook, the first first."""
        found = await self.database.read(webhooks.deliveries, owner.token, made.webhook.id, 100)
        return list(found.words)[::-1]


async def people(database: Database) -> tuple[Person, Person, Person]:
    """A seller and two bidders."""
    return await person(database, "ada"), await person(database, "ben"), await person(database, "cyd")
