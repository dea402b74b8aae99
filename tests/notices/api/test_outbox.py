"""The outbox over HTTP, for those who run the house."""

import pytest

from saleroom.accounts.domain.rights import Role
from saleroom.accounts.storage import accounts, audit
from saleroom.accounts.storage.audit import EntryFilter
from saleroom.outbox import store
from saleroom.outbox.message import MAIL, Message, State
from saleroom.storage.database import Transaction
from tests.fixtures_house import House, User


@pytest.fixture
def house(sqlite_house: House) -> House:
    """A house on SQLite: differences between the databases are tested in the service."""
    return sqlite_house


@pytest.fixture
def clerk(house: House) -> User:
    """A clerk."""
    user = house.newcomer()
    house.write(lambda tx: accounts.set_role(tx, number(tx, user), Role.CLERK))
    return user


def number(tx: Transaction, user: User) -> int:
    """A user's number."""
    login = accounts.find_login(tx, user.name)
    assert login is not None
    return login.account.id


def post(house: House, receiver: User, key: str) -> None:
    """Post a word to a user."""

    def words(tx: Transaction) -> None:
        store.post(tx, Message(kind="won", key=key, receiver=number(tx, receiver), about="lot", facts={"secret": 1}))

    house.write(words)


def give_up(tx: Transaction) -> None:
    """Give up all words."""
    for letter in store.due(tx, MAIL, 100):
        store.claim(tx, letter, 0.5)
        store.settle(tx, letter, State.GIVEN_UP, "550 no such user")


def send(tx: Transaction) -> None:
    """Send all words."""
    for letter in store.due(tx, MAIL, 100):
        store.settle(tx, letter, State.SENT)


def test_staff_see_what_failed_and_send_it_again(house: House, clerk: User) -> None:
    """A clerk sees why a word was given up, without what it says, and lets it be tried again, alone or with all others."""
    receiver = house.newcomer()
    post(house, receiver, receiver.name)
    house.write(give_up)
    [word] = [
        one for one in clerk.json("GET", "/staff/outbox?state=given_up")["words"] if one["receiver"] == receiver.name
    ]
    assert ("won", "given_up", 1, "550 no such user", "lot") == (
        word["kind"],
        word["state"],
        word["tries"],
        word["lastError"],
        word["about"],
    )
    assert "secret" not in str(word)
    assert 204 == clerk.post(f"/staff/outbox/{word['id']}/retry").status_code
    waiting = clerk.json("GET", "/staff/outbox?state=waiting")
    assert word["id"] in {one["id"] for one in waiting["words"]}
    assert waiting["counts"]["waiting"] >= 1
    assert clerk.json("POST", "/staff/outbox/retry")["again"] >= 1
    found, _ = house.read(lambda tx: (audit.newest(tx, EntryFilter(clerk.name, None), 10, None), None))
    assert [("words.sent_again", "outbox"), ("words.sent_again", f"word {word['id']}")] == [
        (one.act, one.subject) for one in found if one.by == clerk.name
    ]
    house.write(send)
    assert 404 == clerk.post(f"/staff/outbox/{word['id']}/retry").status_code
    assert 404 == clerk.post("/staff/outbox/0/retry").status_code


def test_the_outbox_comes_by_pages(house: House, clerk: User) -> None:
    """A long outbox is read page by page, the latest word first."""
    for n in range(3):
        post(house, clerk, f"{clerk.name} {n}")
    first = clerk.json("GET", "/staff/outbox?limit=2")
    second = clerk.json("GET", f"/staff/outbox?limit=2&cursor={first['next']}")
    numbers = [word["id"] for word in first["words"] + second["words"]]
    assert sorted(numbers, reverse=True) == numbers
    assert 400 == clerk.get("/staff/outbox?state=lost").status_code


def test_members_see_nothing_of_it(house: House) -> None:
    """Without the right, the outbox is neither shown nor sent."""
    member = house.newcomer()
    for method, path in (("GET", "/staff/outbox"), ("POST", "/staff/outbox/retry"), ("POST", "/staff/outbox/1/retry")):
        answer = member.request(method, path)
        assert (403, "read_outbox") == (answer.status_code, answer.json()["right"])
        assert 401 == house.anyone.request(method, path).status_code
