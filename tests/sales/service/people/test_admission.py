"""Limits over many bids on many lots, in batches as the desk decides them; and what they cost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, Engine, event

from saleroom.bidding.service.bidding import place_bids
from saleroom.bidding.service.signing import SigningKey
from saleroom.kernel.errors import Refusal
from saleroom.sales.service.people import participants
from saleroom.storage.database import Database
from tests.bidding.domain.examples import eur
from tests.bidding.service.people import outcome, person
from tests.fixtures_hypothesis import on_a_database
from tests.sales.service.evenings import evening

FEW = on_a_database(12)
LIMIT = eur("500")
BIDS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(100, 501)), min_size=1, max_size=8)


@pytest.mark.databases("sqlite")
@FEW
@given(st.lists(BIDS, min_size=1, max_size=3))
async def test_no_history_leads_beyond_a_limit(database: Database, batches: list[list[tuple[int, int, int]]]) -> None:
    """After each batch everybody owes and leads by at most their limit, and a refusal says truly what was left."""
    house = await evening(database, limit_default=LIMIT)
    bidders = [await person(database) for _ in range(3)]
    for one in bidders:
        await database.write(participants.register, one.token, house.sale.gid)
    for batch in batches:
        asked = [bidders[who].bids(house.lots[lot], f"up to {most}") for who, lot, most in batch]
        for (_, _, most), answer in zip(batch, await database.write(place_bids, asked), strict=True):
            if isinstance(answer, Refusal) and answer.code == "beyond_limit":
                assert answer.facts["asked"] == eur(str(most)) > answer.facts["left"]  # type: ignore[operator]  # an amount
        for one in bidders:
            known = await database.read(participants.own, one.token, house.sale.gid)
            assert known is not None and known.exposure.total <= LIMIT


async def test_the_statements_of_bids_in_a_sale(database: Database) -> None:
    """Bids on lots of a sale cost at most six statements more than others, however many share the transaction."""
    house = await evening(database, 8, limit_default=eur("100000"))
    bidders = [await person(database) for _ in range(4)]
    for one in bidders:
        await database.write(participants.register, one.token, house.sale.gid)
    statements: list[str] = []
    key = SigningKey()

    def count(connection: Connection, _: object, statement: str, *_rest: object) -> None:
        if connection.engine.url.database == database.url.database:  # houses of other tests still run in this process
            statements.append(statement)

    async def cost(amount: int, lots: list[str]) -> int:
        places = [(turn, number, lot) for turn in range(2) for number, lot in enumerate(lots, turn)]
        bids = [bidders[number % 4].bids(lot, str(amount + 100 * turn)) for turn, number, lot in places]
        statements.clear()
        answers = await database.write(place_bids, bids, key)
        assert ["accepted"] * len(bids) == [outcome(answer) for answer in answers]
        return len(statements)

    await cost(100, house.lots)  # which fills the memory of this process
    event.listen(Engine, "before_cursor_execute", count)
    try:
        for_few, for_many = await cost(1000, house.lots[:1]), await cost(2000, house.lots)
    finally:
        event.remove(Engine, "before_cursor_execute", count)
    assert for_few <= 6 + 6
    assert for_many - for_few <= (6 if database.kind == "sqlite" else 0)
