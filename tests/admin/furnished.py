"""A house with some of everything, all of which a copy must keep."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, time, timedelta
from decimal import Decimal
from typing import TypeVar

from sqlalchemy import func, insert, select

from saleroom.accounts.domain.mails import Purpose
from saleroom.accounts.domain.rights import Right, Role
from saleroom.accounts.domain.sanctions import Sanction
from saleroom.accounts.service import accounts, contacts, invitations, roles_of_users, sanctions
from saleroom.accounts.storage import mail_addresses, mail_links, passkeys, rate_limits, second_factors
from saleroom.accounts.storage.tables import auth_tokens
from saleroom.admin import ledger_check
from saleroom.areas import TABLES
from saleroom.bidding.domain import selling
from saleroom.bidding.domain.drafts import DraftForm
from saleroom.bidding.domain.selling import Draft
from saleroom.bidding.service import auctions, calendars, drafts, photos, questions, remarks, watching
from saleroom.bidding.service.bidding import buy_now
from saleroom.bidding.service.closing import settle_due
from saleroom.bidding.service.recording import begin_ledger
from saleroom.bidding.service.renditions import make
from saleroom.bidding.storage.tables import archived, bidder_names, signing_keys
from saleroom.notices.domain.choices import QuietHours
from saleroom.notices.domain.webhooks import Scope
from saleroom.notices.service import choosing, subscribing, webhooks
from saleroom.notices.service.choosing import ChoiceChange
from saleroom.outbox import places
from saleroom.outbox import store as outbox
from saleroom.outbox.message import MAIL, PUSH, Message
from saleroom.storage import heartbeats, leases, outages, processes
from saleroom.storage.database import Database, Transaction
from saleroom.storage.processes import Report
from tests.bidding.domain.examples import eur
from tests.bidding.service.people import Person, bid, once_of, person, sells
from tests.fixtures_database import T0, FakeClock
from tests.notices.push_service import Browser
from tests.pictures import plain
from tests.sales import rows as sale_rows
from tests.settlement import rows as settlement_rows

R = TypeVar("R")

HOSTILE = "<script>alert('1')</script>\"=1+1\"\u200fטקסט\u2028 \U0001f3a8 é e\u0301 \ufeff\\"
"""The name of a lot, with characters that are special in JSON, HTML, CSV and terminals."""
DEAREST = Decimal("99999999999999999.999")
QUIET = QuietHours(time(22), time(7, 30), "Europe/Berlin")
OLD_KEYS = [{"kid": kid, "public": "public", "private": None, "created_at": T0} for kid in ("b", "_a", "C", "-B", "a")]
"""Keys that people and bytes sort differently."""
TOKENS = {"ada": "ada-token", "ben": "ben-token", "cyd": "cyd-token"}


def furnish(url: str) -> str:
    """Fill the empty house at `url` and return the gid of a running lot of ada's."""
    return asyncio.run(furnish_it(url))


def a_passkey(user_id: int, now: datetime) -> passkeys.PasskeyRow:
    """A passkey of a user whose name for it is hostile."""
    return passkeys.PasskeyRow(
        user_id=user_id,
        credential_id=b"\x00credential",
        public_key=b"key",
        handle=b"handle",
        party="bids.example",
        sign_count=7,
        name=HOSTILE[:40],
        created_at=now,
    )


async def furnish_it(url: str) -> str:
    """Do the same as `furnish` in a running event loop."""
    clock = FakeClock()
    database = Database(url, clock=clock)
    for channel in (MAIL, PUSH):
        database.switch_on(outbox.SENT_BY[channel])
    try:
        ada, ben, cyd = [await _known(database, name) for name in TOKENS]
        running = await sells(database, ada, reserve_price="500", description=f"\r\n\t{HOSTILE}")
        await _lots(database, clock, ada, ben, cyd)
        photo = await database.write(photos.keep, ada.token, make(plain()))
        await database.write(photos.keep, ada.token, make(plain()))
        await database.write(photos.arrange, ada.token, running, [photo.id])
        in_sale = await database.write(photos.keep, ada.token, make(plain()))
        sale = await database.write(sale_rows.furnish, ada.account.party, in_sale.id, HOSTILE, cyd.account.id)
        await database.write(sale_rows.admit, sale, cyd.account.party, HOSTILE)
        await database.write(sale_rows.merge, sale, ben.account.party, cyd.account.party)
        await database.write(sale_rows.enter_in_book, sale, ben.account.party, ada.account.party)
        await database.write(settlement_rows.furnish, sale, ada.account.party, HOSTILE)
        written = DraftForm({"name": HOSTILE + "\x00\x7f", "startingPrice": "1"}, [("0", "5")], [photo.id])
        await database.write(roles_of_users.set_role, "ben", Role.CLERK, HOSTILE[:200])
        await database.write(remarks.add, ada.token, running, f"\r\n\t{HOSTILE}")
        texts = ("Open?", f"\r\n\t{HOSTILE}", "Declined?")
        asked = [await database.write(questions.ask, cyd.token, running, text) for text in texts]
        await database.write(questions.answer, ada.token, running, asked[1].number, f"{HOSTILE}\r\n")
        await database.write(questions.answer, ada.token, running, asked[2].number, None)
        await database.write(drafts.save, ada.token, "draft", written)
        await database.write(watching.watch, cyd.token, running)
        terms = Draft(name="Lot of a sale", starting_price=eur("100"))
        lot = selling.create("lot-of-a-sale", ada.account.party, terms, clock.now, auctions.new_seed())
        await database.write(begin_ledger, lot, sale_id=7)
        paddle = insert(bidder_names).values(sale_id=7, user_id=cyd.account.id, name="#12")
        await database.write(lambda tx: tx.execute(paddle))
        await database.write(calendars.renew, cyd.token)
        await database.write(contacts.change, cyd.token, "Cyd, 0171 123")
        await database.write(second_factors.begin, cyd.account.id, b"sealed", clock.now)
        await database.write(second_factors.replace_recovery_codes, cyd.account.id, ["digest", "another"])
        await database.write(passkeys.add, a_passkey(cyd.account.id, clock.now))
        await database.write(passkeys.use_challenge, "digest", clock.now)
        await bid(database, ben.bids(running, "up to 300", key="once"), cyd.bids(running, "150"))
        await bid(database, ben.bids(running, "up to 400"))
        await database.write(lambda tx: tx.execute(insert(signing_keys), OLD_KEYS))
        await database.write(outbox.post, Message(kind="test", key="\x7f", facts={"lot": HOSTILE}, receiver=3))
        await database.write(places.begin, "test", 7)
        await database.write(choosing.choose, cyd.token, ChoiceChange(mail={"won": False}, quiet=(QUIET,)))
        await database.write(subscribing.subscribe, cyd.token, Browser("cyd").subscription("https://push.example"))
        hook = ("https://example.org/hook", ("notice.won", "bid.placed"), Scope.OWN)
        await database.write(webhooks.make, cyd.token, lambda: b"key", *hook)
        await database.write(mail_addresses.give, cyd.account.id, "cyd@xn--bcher-kva.example", "de", clock.now)
        await database.write(mail_links.add, cyd.account.id, Purpose.RESET, "cyd@xn--bcher-kva.example", clock.now)
        await database.write(mail_links.ask, "cyd", "de", clock.now)
        await database.write(invitations.invite_by_house, Role.CASHIER, str)
        await database.write(sanctions.impose, "cyd", Sanction.WARNING, "Be polite.")
        await database.write(leases.hold, "relay", "somebody", 10)
        await database.write(heartbeats.record)
        long_ago = clock.now - timedelta(days=1000)  # so that no lot is touched
        await database.write(outages.begin, long_ago, long_ago)
        await database.write(processes.beat, "a process", Report("hall", 7, "1", "off", ()))
        await database.write(rate_limits.lock, rate_limits.digest("network", "192.0.2.1"), clock.now)
        return running
    finally:
        await database.close()


async def _known(database: Database, name: str) -> Person:
    """Add a user with a token that tests know, from a named device."""
    one = await person(database, name)

    def issue(tx: Transaction) -> None:
        row = {
            "user_id": one.account.id,
            "token": accounts.token_digest(TOKENS[name]),
            "created_at": tx.now(),
            "expires_at": tx.now() + timedelta(days=36500),
            "agent": "Firefox",
        }
        tx.execute(insert(auth_tokens), row)

    await database.write(issue)
    return Person(one.account, TOKENS[name])


async def _lots(database: Database, clock: FakeClock, ada: Person, ben: Person, cyd: Person) -> None:
    """Create lots that are sold, unsold, cancelled, bought, amended, scheduled, and one at the highest price."""
    soon = clock.now + timedelta(minutes=5)
    sold = await sells(database, ada, name=HOSTILE, ends_at=soon)
    await sells(database, ben, name="Nobody wants it", ends_at=soon, reserve_price="200")
    gone = await sells(database, ada)
    bought = await sells(database, ada, buy_now_price="700")
    dearest = await sells(database, cyd, starting_price=DEAREST)
    await database.write(auctions.amend, cyd.token, dearest, {"category": HOSTILE}, None, (HOSTILE,))
    await sells(database, cyd, starts_at=T0 + timedelta(days=36500))
    await bid(database, ben.bids(sold, "up to 1000"), cyd.bids(sold, "up to 900"), ben.bids(dearest, f"{DEAREST}"))
    await database.write(auctions.amend, ada.token, gone, {"reserve_price": eur("333")})
    photo = await database.write(photos.keep, ada.token, make(plain()))
    await database.write(photos.arrange, ada.token, gone, [photo.id])
    await database.write(auctions.cancel, ada.token, gone)
    await database.write(photos.arrange, ada.token, await sells(database, ada), [photo.id])  # as a copy
    await database.write(buy_now, cyd.token, bought, once_of("bought", "bought"))
    clock.advance(minutes=10)
    await database.write(settle_due, reopens=False)
    # As after a run of `saleroom archive` that was killed before the events went.
    begun = {"auction_id": 2, "events": 3, "digest": "0" * 64, "archived_at": clock.now}
    await database.write(lambda tx: tx.execute(insert(archived), begun))


def counted(url: str) -> dict[str, int]:
    """Return the number of rows of each table."""

    def count(tx: Transaction) -> dict[str, int]:
        return {table.name: tx.execute(select(func.count()).select_from(table)).scalar_one() for table in TABLES.tables}

    return asked(url, count)


def faults(url: str) -> list[str]:
    """Return the faults of the ledgers."""
    return asked(url, ledger_check.faults_of)


def bids_more(url: str, gid: str, who: str = "cyd", amount: str = "5000") -> str:
    """Bid on a lot with a token of `furnish`, and return `accepted`, or the code of the refusal."""

    async def work(database: Database) -> str:
        found = await database.read(accounts.authenticate, TOKENS[who], Right.READ)
        return (await bid(database, Person(found, TOKENS[who]).bids(gid, amount)))[0]

    return _with(url, work)


def sells_more(url: str) -> str:
    """Create one more lot of ada's, and return its gid."""

    async def work(database: Database) -> str:
        found = await database.read(accounts.authenticate, TOKENS["ada"], Right.READ)
        return await sells(database, Person(found, TOKENS["ada"]))

    return _with(url, work)


def asked(url: str, use_case: Callable[[Transaction], R]) -> R:
    """Return the result of a use case that reads."""
    return _with(url, lambda database: database.read(use_case))


def _with(url: str, work: Callable[[Database], Awaitable[R]]) -> R:
    async def run() -> R:
        database = Database(url)
        try:
            return await work(database)
        finally:
            await database.close()

    return asyncio.run(run())
