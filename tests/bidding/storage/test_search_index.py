"""Searches: both databases give the same answers, by an index that changes with the text."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from saleroom.bidding.domain import selling
from saleroom.bidding.domain.errors import HasBids
from saleroom.bidding.storage import auctions, search_index
from saleroom.bidding.storage.listing import Filter, ListPlace, Sort, count, page
from saleroom.kernel.folding import fold, sought, words
from saleroom.storage.database import Database, Transaction
from tests.bidding.domain.examples import after
from tests.fixtures_hypothesis import on_a_database
from tests.storage.rows import add_auction, add_author, go_on

_letters = st.text(st.sampled_from("abAäßsSéеё한화\u0308 \n"), min_size=1, max_size=6)


async def _found(database: Database, **which: Any) -> list[str]:
    """The names of all auctions that a search finds, by pages of two, oldest first. Fails if the count differs."""
    names: list[str] = []
    mark: ListPlace | None = None
    while True:
        some, mark = await database.read(page, Filter(**which), Sort.ENDING, 2, mark)
        names += [one.name for one in some]
        if mark is None:
            assert len(names) == await database.read(count, Filter(**which), 100)
            return names


SOLD = (
    "Straße",
    "Ёлка",
    "Émaillé\nvase",
    "İznik tile",
    "ΟΔΟΣ",
    "花瓶",
    "ＯＡＫ chest",
    "50% walnut",
    "snake_case",
    "e\u0301tui",
)


FOUND = {
    "STRASSE": ["Straße"],
    "straß": ["Straße"],
    "елка": ["Ёлка"],
    "EMAILLE VASE": ["Émaillé\nvase"],
    "E\u0301maille\u0301": ["Émaillé\nvase"],
    "iznik": ["İznik tile"],
    "IZNIK": ["İznik tile"],
    "οδος": ["ΟΔΟΣ"],
    "瓶": ["花瓶"],
    "花瓶": ["花瓶"],
    "oak": ["ＯＡＫ chest"],
    "%": ["50% walnut"],
    "0% w": ["50% walnut"],
    "e_c": ["snake_case"],
    "étui": ["e\u0301tui"],
    "s": ["Straße", "Émaillé\nvase", "ＯＡＫ chest", "snake_case"],
    "nut": ["50% walnut"],
    "nutt": [],
    "x": [],
    "e" * 200: [],
    "\u0301": [*SOLD],
    "walnut 50%": ["50% walnut"],
    "“Walnut, 50%”!": ["50% walnut"],
    "vas emaill": ["Émaillé\nvase"],
    "strasse, ?": [],
    "walnut vase": [],
}
"""What is searched for, and the names of SOLD that are found."""


async def test_a_search_ignores_case_accents_and_order(database: Database) -> None:
    """A search ignores case, accents, marks around words and their order; it takes one character or more."""

    def sell(tx: Transaction) -> None:
        author = add_author(tx)
        for n, name in enumerate(SOLD):
            shown = {"name": name} if n % 2 else {"name": name, "description": name}
            add_auction(tx, author, **shown, ends_at=after(60 + n))

    await database.write(sell)
    found = {wanted: [fold(name) for name in await _found(database, text=wanted)] for wanted in FOUND}
    assert {wanted: [fold(name) for name in names] for wanted, names in FOUND.items()} == found


@on_a_database(15)
@given(st.lists(_letters, max_size=8), st.lists(_letters, min_size=1, max_size=8))
async def test_as_if_every_text_were_read(database: Database, names: list[str], wanted: list[str]) -> None:
    """A search finds exactly the auctions whose folded text contains all its words, each once, in the list's order."""

    def sell(tx: Transaction) -> str:
        author = add_author(tx)
        for name in names:
            add_auction(tx, author, name=name, description=name[::-1])
        return author.name

    author = await database.write(sell)
    for each in wanted:
        expected = [name for name in names if all(word in fold(name) + "\n" + fold(name[::-1]) for word in words(each))]
        assert expected == await _found(database, text=each, author=author)


async def test_words_are_found_in_any_order_and_in_both_fields(database: Database) -> None:
    """A search for two words finds lots with both, even while the last is typed; a lot with only one of them stays out."""

    def sell(tx: Transaction) -> None:
        author = add_author(tx)
        add_auction(tx, author, name="Chair in walnut", ends_at=after(60))
        add_auction(tx, author, name="Chair", description="Nußbaum, WALNUT veneer", ends_at=after(61))
        add_auction(tx, author, name="Walnut table", ends_at=after(62))

    await database.write(sell)
    for wanted in ("walnut chair", "chair walnut", "WALNUT cha", "waln chair chair", "chair,   walnut."):
        assert ["Chair in walnut", "Chair"] == await _found(database, text=wanted)
    assert ["Chair"] == await _found(database, text="chair NUSS")


async def test_an_amended_text_is_found_and_the_one_before_is_not(database: Database) -> None:
    """The index changes with the text, in one transaction; after a rollback the old text is still found."""
    author = await database.write(add_author)
    first = await database.write(lambda tx: add_auction(tx, author, name="Walnut chest", description="of 1790"))

    def amend(tx: Transaction, name: str) -> None:
        auction = auctions.lock(tx, [first.gid])[first.gid]
        go_on(tx, auction, selling.amend(auction, author, {"name": name}, after(1)))

    def amend_in_vain(tx: Transaction) -> None:
        amend(tx, "Rosewood chest")
        raise HasBids

    await database.write(amend, "Cherry chest")
    with pytest.raises(HasBids):
        await database.write(amend_in_vain)
    assert ["Cherry chest"] == await _found(database, text="cherry") == await _found(database, text="1790")
    assert [] == await _found(database, text="walnut") == await _found(database, text="rosewood")
    assert [] == await database.read(_in_index, "walnut") == await database.read(_in_index, "rosewood")
    assert [first.id] == await database.read(_in_index, "cherry")


def _in_index(tx: Transaction, wanted: str) -> list[int]:
    return list(tx.execute(search_index.may_have(tx, words(wanted))).scalars())


async def test_a_text_decides_and_not_its_numbers(database: Database) -> None:
    """An auction that has all runs of a search, but not the search itself, is a candidate and is not found."""
    author = await database.write(add_author)
    other = await database.write(lambda tx: add_auction(tx, author, name="abcde bcdef", description="cdefg"))
    assert [other.id] == await database.read(_in_index, "abcdefg")
    assert [] == await _found(database, text="abcdefg")


async def test_a_search_is_looked_up_in_the_index(database: Database) -> None:
    """Neither database reads all texts for a search, as its query plan shows."""

    def plan(tx: Transaction) -> str:
        if tx.dialect == "postgresql":
            tx.execute(text("SET LOCAL enable_seqscan = off"))  # so few rows would be scanned
        asked = search_index.may_have(tx, ["clock"]).compile(
            tx.connection.engine, compile_kwargs={"literal_binds": True}
        )
        explain = "EXPLAIN" if tx.dialect == "postgresql" else "EXPLAIN QUERY PLAN"
        return "\n".join(str(row) for row in tx.execute(text(f"{explain} {asked}".replace(":", "\\:"))))

    shown = await database.read(plan)
    assert {"sqlite": "VIRTUAL TABLE INDEX", "postgresql": "ix_text_grams"}[database.kind] in shown, shown
    assert 3 == len(sought(["clock"]))
