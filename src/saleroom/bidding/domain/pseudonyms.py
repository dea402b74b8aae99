"""Names in ledgers: hashes cover a pseudonym in place of each name, so that a name can go and the chain stays (docs/ledger.md).

The `salts` beside the names of an event prove which name a pseudonym stands for. Once somebody is erased, their name and salt
are gone, and the event shows what was hashed.
"""

from __future__ import annotations

import hashlib
import re
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from typing import Any

import msgspec

from saleroom.bidding.domain.event_types import EVENTS
from saleroom.kernel.chain import Chain, canonical, name_salt
from saleroom.kernel.parties import ERASED

NAMED = ("author", "bidder", "currentBidder", "winner")
"""The members of an event's data that are names."""
NAMING = tuple(kind.TYPE for kind in EVENTS.values() if not set(NAMED).isdisjoint(kind.__struct_encode_fields__))
"""The types of the events that have such members."""
SALTS = "salts"
"""The member of an event's data with the salt of each name in it."""
_SALT = re.compile(r"[0-9a-f]{32}")
_BYTES = 18
_LENGTH = len(ERASED) + _BYTES * 4 // 3


class InvalidNames(ValueError):
    """The names of an event are not as a house writes them; the message says how."""


def pseudonym(salt: str, name: str) -> str:
    """Return the pseudonym of `name`: it has the form of a username, and nobody can register it."""
    digest = hashlib.sha256(f"{salt}\n{name}".encode()).digest()
    return ERASED + urlsafe_b64encode(digest[:_BYTES]).decode()


def is_pseudonym(name: str) -> bool:
    """Whether `name` stands in a ledger for somebody who was erased."""
    return name.startswith(ERASED) and len(name) == _LENGTH


def names_in(data: Mapping[str, Any]) -> list[str]:
    """Return the names in the data of an event, without pseudonyms."""
    return [name for member in NAMED if (name := data.get(member)) is not None and not is_pseudonym(name)]


def hide_names(chain: Chain, data: dict[str, Any]) -> dict[str, Any]:
    """Return the data of an event as its hash covers them, and add the salts of its names to `data`.

    A ledger that hashes the names themselves gets no salts, and neither does an event without names. Each bid comes here.
    """
    if not chain.hides_names:
        return data
    salts: dict[str, str] = {}
    hidden: dict[str, str] = {}
    for member in NAMED:
        name = data.get(member)
        if name is not None and not is_pseudonym(name):
            salt = salts[name] = salts.get(name) or name_salt(chain.seed, name)
            hidden[member] = pseudonym(salt, name)
    if not salts:
        return data
    hashed = data | hidden
    data[SALTS] = salts
    return hashed


def salts_in(data: Mapping[str, Any]) -> dict[str, str]:
    """Return the salts in data from anywhere. Raises InvalidNames if names and salts have not the form of a house's."""
    if not all(isinstance(data.get(member), str | None) for member in NAMED):
        raise InvalidNames("its names are not texts")
    salts = data.get(SALTS, {})
    if not isinstance(salts, dict) or (SALTS in data and not salts):
        raise InvalidNames("its salts are not an object with the salt of each name")
    if not all(isinstance(salt, str) and _SALT.fullmatch(salt) for salt in salts.values()):
        raise InvalidNames("a salt of a name is not 32 hexadecimal digits")
    return salts


def as_hashed(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data of an event as its hash covers them: pseudonyms in place of names that have a salt, and no salts."""
    hashed = dict(data)
    salts = hashed.pop(SALTS, {})
    for member in NAMED:
        name = hashed.get(member)
        if name is not None and name in salts:
            hashed[member] = pseudonym(salts[name], name)
    return hashed


def without_name(event: Mapping[str, Any], name: str) -> bytes:
    """Return an event of the log as canonical JSON, with the pseudonym in place of `name`. Its hash stays true."""
    data = dict(event["data"])
    salts = dict(data.pop(SALTS))
    hidden = pseudonym(salts.pop(name), name)
    data |= {member: hidden for member in NAMED if data.get(member) == name}
    return canonical({**event, "data": data | ({SALTS: salts} if salts else {})})


def with_pseudonyms(payload: bytes) -> bytes:
    """Return a public event of the log as its hash covers it, without names and salts. Its hash stays true."""
    event = msgspec.json.decode(payload)
    return canonical({**event, "data": as_hashed(event["data"])}) if SALTS in event["data"] else payload


def with_names(payload: bytes, salts: Mapping[str, tuple[str, str]]) -> bytes:
    """Put names back into an event of `with_pseudonyms`: `salts` has the name and its salt by pseudonym.

    A pseudonym that is not in `salts` stays: it is of somebody who was erased.
    """
    if ERASED.encode() not in payload:
        return payload
    event = msgspec.json.decode(payload)
    data = event["data"]
    known = {member: salts[name] for member in NAMED if (name := data.get(member)) in salts}
    if not known:
        return payload
    named = {member: name for member, (name, _) in known.items()}
    return canonical({**event, "data": {**data, **named, SALTS: dict(known.values())}})
