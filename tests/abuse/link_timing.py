"""What links in mails give away by their time: who has an account, and which links there are.

Run it by `python -m tests.abuse.link_timing`. A round has a request of each kind, in random order, each from a different
address, as `timing.py` does for logins. The mail server is away, so mails wait in the outbox as at any busy time. All answers
of a door must be equal to the byte, except the date and the number of the request.
"""

import asyncio
import random
import sys
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import click
from sqlalchemy import update

from saleroom.accounts.domain.mails import Purpose
from saleroom.accounts.domain.rights import Role
from saleroom.accounts.storage import invitations, mail_addresses, mail_links
from saleroom.accounts.storage import tables as accounts
from saleroom.opening import with_tables
from saleroom.storage.database import Database, Transaction
from tests.abuse.timing import report, timed
from tests.bidding.service.people import person
from tests.process import ServeProcess

TRIES = 500
MAIL = {"smtp_url": "smtp://127.0.0.1:9", "mail_sender": "house@example.org"}
SECRET = "A" * 22
"""In the form of the secret of a link, and that of none."""
STATES = ("no such link", "a good link", "a used link", "an expired link")
Sent = dict[str, Any]


def links(tx: Transaction, user_id: int) -> dict[str, list[int]]:
    """Store a good, a used and an expired link of each kind; return their numbers, after that of no link."""
    now = tx.now()
    long_ago = {"expires_at": now - timedelta(hours=1)}
    found: dict[str, list[int]] = {}
    for purpose in Purpose:
        made = [mail_links.add(tx, user_id, purpose, "ada@example.org", now).id for _ in range(3)]
        mail_links.use(tx, made[0], now)
        tx.execute(
            update(accounts.mail_links).where(accounts.mail_links.c.id == made[1]).values(used_at=None, **long_ago)
        )
        tx.execute(update(accounts.mail_links).where(accounts.mail_links.c.id == made[2]).values(used_at=None))
        found[purpose] = [10**9, made[2], made[0], made[1]]
    some = [invitations.add(tx, Role.CLERK, None, None, now).id for _ in range(3)]
    invitations.use(tx, some[1], user_id, now)
    tx.execute(update(accounts.invitations).where(accounts.invitations.c.id == some[2]).values(**long_ago))
    found["invitation"] = [10**9, *some]
    return found


async def furnish(url: str) -> dict[str, list[int]]:
    """Make a database with ada, who has a verified address, ben, who has none, and links."""
    database = Database(url)
    await with_tables(database)
    ada, _ = await person(database, "ada"), await person(database, "ben")

    def fill(tx: Transaction) -> dict[str, list[int]]:
        mail_addresses.give(tx, ada.account.id, "ada@example.org", None, tx.now())
        mail_addresses.verify(tx, ada.account.id, "ada@example.org", tx.now())
        return links(tx, ada.account.id)

    found = await database.write(fill)
    await database.close()
    return found


def doors(numbers: dict[str, list[int]]) -> dict[str, tuple[str, int, dict[str, Sent]]]:
    """Return each door by what it is for: its path, the status of its answers, and the requests of each kind."""
    asked = {"nobody": "nobody.at.all", "has an address": "ada", "has none": "ben"}
    asked |= {"an unknown address": "nobody@example.org", "a known address": "ada@example.org"}
    more: dict[str, tuple[str, str, int, Sent]] = {
        "set a password": (Purpose.RESET, "/password-resets", 422, {"newPassword": "battery staple"}),
        "verify an address": (Purpose.VERIFICATION, "/mail-address-confirmations", 422, {}),
        "join": ("invitation", "/invited-users", 422, {"username": "eva", "password": "battery staple"}),
    }
    return {
        "ask for a link": ("/password-requests", 202, {kind: {"account": name} for kind, name in asked.items()}),
        **{
            what: (path, status, {
                state: {"code": f"{number}.{SECRET}", **sent}
                for state, number in zip(STATES, numbers[kind], strict=True)
            })
            for what, (kind, path, status, sent) in more.items()
        },
    }  # fmt: skip


def measure(house: ServeProcess, path: str, status: int, kinds: dict[str, Sent], count: int, start: int) -> None:
    """Send `count` rounds to a door, and print the times of each kind."""
    chance = random.Random(6)
    taken: dict[str, list[tuple[float, float]]] = {kind: [] for kind in kinds}
    said: set[bytes] = set()
    for number in range(count):
        for place, kind in enumerate(chance.sample(list(kinds), len(kinds))):
            answer, times = timed(house, start + number * len(kinds) + place, path, json=kinds[kind])
            taken[kind].append(times)
            said.add(b"%d %s" % (answer.status_code, answer.content))
    assert 1 == len(said) and next(iter(said)).startswith(b"%d " % status), said
    report(taken, next(iter(kinds)))


@click.command
@click.option("--tries", "count", default=TRIES, show_default=True, help="Requests of each kind.")
def main(count: int) -> None:
    """Measure each door, and print medians and quartiles of each kind, and of the differences within a round."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/house.db"
        numbers = asyncio.run(furnish(url))
        house = ServeProcess(Path(folder), mqtt="off", database=url, **MAIL)
        start = 0
        try:
            for what, (path, status, kinds) in doors(numbers).items():
                sys.stdout.write(f"\n{what}: POST {path}\n")
                measure(house, path, status, kinds, count, start)
                start += count * len(kinds)
        finally:
            house.kill()


if __name__ == "__main__":
    main()
