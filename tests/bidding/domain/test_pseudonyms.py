"""Pseudonyms in ledgers: names stand beside what is hashed, and can be taken out."""

import json
from io import BytesIO
from typing import Any

import msgspec
import pytest
from hypothesis import given

from saleroom.accounts.domain.accounts import USERNAME_PATTERN, parse_username
from saleroom.bidding.domain.event_types import EVENTS
from saleroom.bidding.domain.ledger import event_hash
from saleroom.bidding.domain.pseudonyms import InvalidNames, is_pseudonym, pseudonym, salts_in, without_name
from saleroom.kernel.chain import Chain, canonical, name_salt
from saleroom.kernel.errors import Fault
from saleroom.tools.verify.reading import read
from tests.bidding.domain.playing import play
from tests.histories import PEOPLE, History, histories
from tests.tools.verify.ledgers import lines_of


def erased_lines(lines: list[bytes], name: str) -> list[bytes]:
    """A ledger as it is once somebody was erased."""
    entries = [msgspec.json.decode(line) for line in lines]
    for entry in entries:
        if name in salts_in(entry["event"]["data"]):
            entry["event"] = msgspec.json.decode(without_name(entry["event"], name))
    return [canonical(entry) + b"\n" for entry in entries]


@given(histories())
def test_a_ledger_stays_whole_without_any_of_its_names(history: History) -> None:
    """Without one name after the other, the ledger verifies as before, with the same hashes, and says the names no more."""
    lines = lines_of(play(history).log)
    whole = read(BytesIO(b"".join(lines)))
    for name in PEOPLE:
        lines = erased_lines(lines, name)
        left = read(BytesIO(b"".join(lines)))
        assert (whole.hashes, len(whole.events)) == (left.hashes, len(left.events))
        assert all(f'"{name}"'.encode() not in line for line in lines)
        assert whole.trace is None or left.trace is not None
    assert all("salts" not in json.loads(line)["event"]["data"] for line in lines)


@given(histories())
def test_a_name_is_in_salted_members_alone(history: History) -> None:
    """No public event says a name in a member that is not among those with a salt."""
    for line in lines_of(play(history).log):
        data = json.loads(line)["event"]["data"]
        named = {value for value in data.values() if value in PEOPLE}
        assert named == data.get("salts", {}).keys()


def test_a_pseudonym_is_a_username_that_nobody_can_have_chosen() -> None:
    """It fits the form that every reader of names knows, and begins as those do that nobody registers."""
    made = pseudonym(name_salt("p" + "5a" * 32, "ada"), "ada")
    assert is_pseudonym(made) and not isinstance(parse_username(made), Fault), USERNAME_PATTERN
    assert not any(map(is_pseudonym, ("ada", "erased.5f1c09ab37de2416", made[1:], made + "A")))


def test_it_differs_by_lot_and_by_name() -> None:
    """Nobody can tell from pseudonyms that two lots had the same bidder."""
    one, other = "p" + "5a" * 32, "p" + "5b" * 32
    made = {pseudonym(name_salt(seed, name), name) for seed in (one, other) for name in ("ada", "bob")}
    assert 4 == len(made)
    assert Chain(one).hides_names and not Chain("5a" * 32).hides_names


@pytest.mark.parametrize(
    "data",
    [
        {"bidder": "ada", "salts": {"ada": "5a"}},
        {"bidder": "ada", "salts": {"ada": None}},
        {"bidder": "ada", "salts": ["ada"]},
        {"bidder": "ada", "salts": {}},
        {"bidder": ["ada"], "salts": {"ada": "5a" * 16}},
    ],
)
def test_names_of_another_form_are_said(data: Any) -> None:
    """A verifier is given anything at all."""
    with pytest.raises(InvalidNames):
        event_hash("0" * 64, {"data": data})


def test_the_members_that_name_users() -> None:
    """A text member of a public event is a name with a salt, or one of these: a new one must be sorted here."""
    texts = {
        wire
        for kind in EVENTS.values()
        for name, wire in zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)
        if kind.PUBLIC and name not in kind.PRIVATE and "str" in str(kind.__annotations__.get(name, ""))
    }
    assert {"author", "bidder", "currentBidder", "winner"} == texts - {
        "gid",
        "name",
        "description",
        "status",
        "reason",
        "act",
    }
