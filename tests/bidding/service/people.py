"""People with accounts and tokens, and auctions sold by them through the use cases."""

import secrets
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import msgspec

from saleroom.accounts.domain.accounts import Account
from saleroom.accounts.service import accounts
from saleroom.bidding.domain import selling
from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.bidding import BidRequest
from saleroom.bidding.domain.events import Event
from saleroom.bidding.domain.selling import Draft
from saleroom.bidding.service.auctions import create, new_seed
from saleroom.bidding.service.bidding import BidCommand, place_bids
from saleroom.bidding.service.recording import begin_ledger
from saleroom.bidding.storage import auctions, event_log
from saleroom.kernel.errors import Refusal
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.kernel.parties import Party
from saleroom.storage.database import Database, Transaction
from tests.bidding.domain.examples import eur, said
from tests.fixtures_database import unique


@dataclass(frozen=True)
class Person:
    """A user who is logged in."""

    account: Account
    token: str

    def bids(self, gid: str, asked: str, key: str | None = None) -> BidCommand:
        """A command such as `bids(gid, "100")` or `bids(gid, "up to 150", key="k")`."""
        request = said(f"bob {asked}")[1]
        return BidCommand(self.token, gid, request, once_of(key, asked))


def once_of(key: str | None, asked: str = "") -> IdempotencyKey | None:
    """An Idempotency-Key for a request."""
    return None if key is None else IdempotencyKey(key, asked.encode())


async def person(database: Database, name: str | None = None) -> Person:
    """A new user, logged in."""

    def come(tx: Transaction) -> Person:
        account = accounts.register(tx, name or unique("person"), "no digest")
        return Person(account, accounts.issue_token(tx, account.id).value)

    return await database.write(come)


async def sells(database: Database, author: Person, **terms: Any) -> str:
    """An auction that starts at 100 with the default ladder, unless `terms` say otherwise; its gid."""
    money = {name: eur(value) for name, value in terms.items() if name.endswith("_price")}
    draft = Draft(**{"name": "Longcase clock", "starting_price": Decimal("100.000"), **terms, **money})
    return str(read(await database.write(create, author.token, draft, None))["gid"])


async def sells_in_sale(database: Database, author: Person, sale_id: int = 7, **terms: Any) -> str:
    """The same as a lot of a sale."""
    return await database.write(lot_of_sale, author.account.party, sale_id, **terms)


def lot_of_sale(tx: Transaction, /, author: Party, sale_id: int, **terms: Any) -> str:
    """Create a lot of a sale that starts at 100, unless `terms` say otherwise; its gid."""
    draft = Draft(**{"name": "Longcase clock", "starting_price": Decimal("100.000"), **terms})
    gid = secrets.token_urlsafe(9)
    return begin_ledger(tx, selling.create(gid, author, draft, tx.now(), new_seed()), sale_id).gid


async def bid(database: Database, *commands: BidCommand) -> list[str]:
    """Place bids in one transaction; return `accepted` or the code of the refusal for each."""
    return [outcome(answer) for answer in await database.write(place_bids, commands)]


def outcome(answer: bytes | Refusal) -> str:
    """An answer as `accepted` or the code of its refusal."""
    return answer.code if isinstance(answer, Refusal) else "accepted"


def read(answer: bytes | Refusal) -> dict[str, Any]:
    """An accepted answer, decoded from JSON."""
    assert isinstance(answer, bytes), f"refused: {answer}"
    decoded: dict[str, Any] = msgspec.json.decode(answer)
    return decoded


async def stored(database: Database, gid: str) -> Auction:
    """An auction as its row has it, not as this process remembers it."""
    database.cache.clear()
    auction = await database.read(auctions.get, gid)
    assert auction is not None
    return auction


async def logged(database: Database, gid: str) -> list[Event]:
    """An auction's log."""
    return await database.read(event_log.read, (await stored(database, gid)).id)


def asks(amount: int | None, maximum: int | None) -> BidRequest:
    """A bid with its amounts in thousandths."""
    return BidRequest(
        *(None if thousandths is None else Decimal(thousandths).scaleb(-3) for thousandths in (amount, maximum))
    )
