"""The specification's tables: columns by name, type, precision, nullability and constraint, as the database has them."""

from typing import Any

import pytest
from sqlalchemy import Table, insert, inspect, select
from sqlalchemy.exc import IntegrityError

from saleroom.accounts.storage.tables import auth_tokens, users
from saleroom.bidding.storage.tables import auctions
from saleroom.storage.database import Database, Transaction
from tests.bidding.domain.playing import T0, money

# From docs/specification.md, "Resources and their fields": column, type, required.
SPECIFIED = {
    "users": [("id", "KEY", True), ("username", "VARCHAR", True), ("password_digest", "VARCHAR", False)],
    "auth_tokens": [
        ("id", "KEY", True),
        ("user_id", "BIGINT", True),
        ("token", "VARCHAR", True),
        ("created_at", "TIMESTAMP", True),
        ("expires_at", "TIMESTAMP", True),
    ],
    "auctions": [
        ("id", "KEY", True),
        ("name", "VARCHAR", True),
        ("gid", "VARCHAR", True),
        ("author_id", "BIGINT", True),
        ("starting_price", "DECIMAL(20, 3)", True),
        ("current_bid", "DECIMAL(20, 3)", False),
        ("current_bidder_id", "BIGINT", False),
        ("current_bid_at", "TIMESTAMP", False),
        ("created_at", "TIMESTAMP", True),
    ],
}
UNIQUE = [("users", "username"), ("auth_tokens", "token"), ("auctions", "gid")]
REFERENCES = [
    ("auth_tokens", "user_id", "users.id"),
    ("auctions", "author_id", "users.id"),
    ("auctions", "current_bidder_id", "users.id"),
]
# How each database spells a type. SQLite has no decimals, so 20 digits and a point are text there; its INTEGER has 64 bits.
SPELT = {
    "postgresql": {"KEY": "BIGINT", "DECIMAL(20, 3)": "NUMERIC(20, 3)", "TIMESTAMP": "TIMESTAMP WITH TIME ZONE"},
    "sqlite": {"KEY": "INTEGER", "DECIMAL(20, 3)": "VARCHAR(21)", "TIMESTAMP": "DATETIME"},
}


def _columns(tx: Transaction, table: str) -> dict[str, tuple[str, bool]]:
    found = inspect(tx.connection).get_columns(table)
    return {c["name"]: (c["type"].compile(tx.connection.dialect), not c["nullable"]) for c in found}


async def test_columns(database: Database) -> None:
    """Every column of the specification is there, by name, type, precision and whether it is required."""
    for table, columns in SPECIFIED.items():
        found = await database.read(_columns, table)
        expected = {name: (SPELT[database.kind].get(kind, kind), required) for name, kind, required in columns}
        assert expected == {name: found.get(name) for name in expected}


async def test_constraints(database: Database) -> None:
    """`id` is the primary key, usernames, tokens and gids are unique, and every reference to a user is to `users.id`."""

    def ask(tx: Transaction) -> tuple[list[Any], list[Any], list[Any]]:
        found = inspect(tx.connection)
        return (
            [found.get_pk_constraint(table)["constrained_columns"] for table in SPECIFIED],
            [(t, u["column_names"][0]) for t in SPECIFIED for u in found.get_unique_constraints(t)],
            [
                (t, key["constrained_columns"][0], f"{key['referred_table']}.{key['referred_columns'][0]}")
                for t in SPECIFIED
                for key in found.get_foreign_keys(t)
            ],
        )

    keys, unique, references = await database.read(ask)
    assert [["id"]] * 3 == keys
    assert sorted(UNIQUE) == sorted(unique)
    assert sorted(REFERENCES) == sorted(references)


def _rows(**changes: Any) -> dict[str, Any]:
    return {
        "name": "clock",
        "gid": "gid",
        "author_id": 1,
        "starting_price": money(1),
        "created_at": T0,
        "description": "",
        "increment": "[]",
        "status": "open",
        "bid_count": 0,
        "version": 1,
        "position": 1,
        "price": money(1),
        "ending_rank": 0,
    } | changes


USER = {"username": "ada", "created_at": T0}
TOKEN = {"user_id": 1, "token": "t", "created_at": T0, "expires_at": T0}
TWICE: list[tuple[Table, dict[str, Any], dict[str, Any]]] = [
    (users, USER, {}),
    (auth_tokens, TOKEN, {"user_id": 2}),
    (auctions, _rows(), {"name": "another", "author_id": 2}),
]


@pytest.mark.parametrize(("table", "row", "other"), TWICE, ids=["username", "token", "gid"])
async def test_no_two_alike(database: Database, table: Table, row: dict[str, Any], other: dict[str, Any]) -> None:
    """The database itself refuses a second username, token or gid, and generates the ids."""

    def keep(tx: Transaction, into: Table, values: dict[str, Any]) -> int:
        return int(tx.execute(insert(into).returning(into.c.id), values).scalar_one())

    people = [await database.write(keep, users, {"username": name, "created_at": T0}) for name in ("x", "y")]
    assert [1, 2] == people
    kept = await database.write(keep, table, row)
    with pytest.raises(IntegrityError):
        await database.write(keep, table, row | other)
    found = await database.read(lambda tx: tx.execute(select(table.c.id).where(table.c.id >= kept)).scalars().all())
    assert [kept] == found


FAULTY: list[tuple[Table, dict[str, Any]]] = [
    (auctions, _rows(author_id=99)),
    (auctions, _rows(current_bidder_id=99)),
    (auth_tokens, TOKEN | {"user_id": 99}),
    *((auctions, _rows(**{name: None})) for name, _, required in SPECIFIED["auctions"] if required and name != "id"),
    *((auth_tokens, TOKEN | {name: None}) for name, *_ in SPECIFIED["auth_tokens"] if name != "id"),
    (users, USER | {"username": None}),
]


async def test_the_tables_refuse_missing_users_and_values(database: Database) -> None:
    """A user that is not there and a required value that is missing are refused by the database itself."""

    def keep(tx: Transaction, into: Table, row: dict[str, Any]) -> None:
        tx.execute(insert(into), row)

    await database.write(keep, users, {"username": "somebody", "created_at": T0})
    await database.write(keep, auctions, _rows())
    for table, row in FAULTY:
        with pytest.raises(IntegrityError):
            await database.write(keep, table, row | ({"gid": row["gid"] and "another"} if table is auctions else {}))
