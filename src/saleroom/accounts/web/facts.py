"""The words of the pages for what acts have changed: the names of facts, and their values as people write them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from decimal import Decimal, InvalidOperation

from msgspec import Struct

from saleroom.accounts.domain.audit import Entry
from saleroom.accounts.web.words import ROLES, STATES
from saleroom.site.language import N_, Language
from saleroom.site.site import Thing

Things = Mapping[str, Thing]
Codes = Mapping[str, Mapping[str, str]]
NAMES: Mapping[str, str] = {
    "act": N_("step"),
    "admission": N_("admission"),
    "amount": N_("amount"),
    "back": N_("paid back by"),
    "bank": N_("transfer"),
    "barred": N_("standing"),
    "card": N_("card"),
    "cash": N_("cash"),
    "changed": N_("changed"),
    "consignor": N_("consignor"),
    "doubtful": N_("in doubt"),
    "estimateFrom": N_("estimate from"),
    "estimateTo": N_("estimate to"),
    "following": N_("late bids move all later lots"),
    "from": N_("the user who was merged"),
    "hidden": N_("hidden"),
    "host": N_("host"),
    "iban": N_("IBAN"),
    "key": N_("key"),
    "kind": N_("kind of sale"),
    "label": N_("lot"),
    "leader": N_("the leading user"),
    "level": N_("stage"),
    "limit": N_("limit"),
    "limitDefault": N_("limit of newcomers"),
    "lot": N_("lot"),
    "lots": N_("lots"),
    "mark": N_("number of the mark"),
    "member": N_("member"),
    "name": N_("name"),
    "names": N_("bidders are shown by"),
    "new": N_("new"),
    "number": N_("number"),
    "offer": N_("offer"),
    "online": N_("card, online"),
    "opensAt": N_("opens"),
    "other": N_("other means"),
    "paddle": N_("paddle"),
    "paid": N_("paid"),
    "passkeys": N_("passkeys"),
    "payouts": N_("payouts"),
    "photos": N_("photos"),
    "pledge": N_("number of the pledge"),
    "price": N_("price"),
    "rates": N_("rate card"),
    "reason": N_("reason"),
    "registration": N_("registration"),
    "rejected": N_("refused by the bank"),
    "report": N_("report"),
    "reservePrice": N_("reserve"),
    "role": N_("role"),
    "sale": N_("sale"),
    "seller": N_("approved as a seller"),
    "since": N_("since"),
    "spacing": N_("time between two ends"),
    "startingPrice": N_("starting price"),
    "startsAt": N_("begins"),
    "state": N_("state"),
    "status": N_("status"),
    "subject": N_("invoice"),
    "sure": N_("paid although an earlier payout was in doubt"),
    "taken": N_("taken as payments"),
    "title": N_("title"),
    "total": N_("total"),
    "until": N_("until"),
    "user": N_("user"),
    "venue": N_("venue"),
    "version": N_("version"),
    "voided": N_("number of the voided bid's event"),
    "words": N_("mails"),
}
"""The names of facts, for `gettext`."""
_MONEY = frozenset(
    {
        *("amount", "bank", "card", "cash", "estimateFrom", "estimateTo", "limit", "limitDefault", "online", "other"),
        *("price", "reservePrice", "startingPrice", "total"),
    }
)
_INSTANTS = frozenset({"opensAt", "since", "startsAt", "until"})
_THINGS = frozenset({"offer", "rates", "sale", "subject"})
_USERS = frozenset({"from", "leader", "user"})
"""The facts that are the number of a user, as the log has no names of users."""
USER = "user "
"""What the key of a user begins with, before the number."""
_RESULT = re.compile(r"(sold|conditional) ([0-9.]+), user ([0-9]+)")
_OF_LOT = "lot "
_YES, _NO = N_("yes"), N_("no")
_LOT, _PASSED, _EVERYBODY = N_("lot %(label)s"), N_("passed"), N_("everybody")
_SOLD = N_("sold for %(price)s to %(user)s")
_CONDITIONAL = N_("conditionally sold for %(price)s to %(user)s")
_SUBJECTS: Mapping[str, str] = {
    "bank": N_("bank"),
    "consignor %s": N_("consignor %(name)s"),
    "everybody": _EVERYBODY,
    "house": N_("house"),
    "invitation %s": N_("invitation %(name)s"),
    "outbox": N_("outbox"),
    "receipts": N_("receipts"),
    "webhook %s": N_("webhook %(name)s"),
    "word %s": N_("mail %(name)s"),
}
"""The things that an act can be on and that no area names, by their first word; `%s` stands for a word after it."""


class FactChange(Struct, frozen=True):
    """A fact that an act has changed: its name, and its value before and after. A value of None was not there."""

    name: str
    before: Thing | None
    after: Thing | None


def keys(entry: Entry) -> set[str]:
    """Return what an entry names by a key, such as the gid of a sale, or `user 7`."""
    facts = (_key(name, value) for facts in (entry.before, entry.after) for name, value in facts.items())
    return {value for value in (entry.subject, *facts) if value}


def users_of(keys: Collection[str]) -> dict[str, int]:
    """Return those of these keys that are of users, with the number of each."""
    found = ((key, key.removeprefix(USER)) for key in keys if key.startswith(USER))
    return {key: int(number) for key, number in found if number.isascii() and number.isdigit()}


def _key(name: str, value: str | int | bool | None) -> str | None:
    if name in _USERS and isinstance(value, int):
        return f"{USER}{value}"
    if name.startswith(_OF_LOT) and isinstance(value, str) and (sold := _RESULT.fullmatch(value)):
        return f"{USER}{sold[3]}"
    return value if name in _THINGS and isinstance(value, str) else None


def subject(language: Language, entry: Entry, things: Things) -> Thing | None:
    """Return what an entry is on, by its title or name; None if it is on a user."""
    named = entry.subject
    if not named:
        return None
    if named in things:
        return things[named]
    kind, _, name = named.partition(" ")
    said = _SUBJECTS.get(f"{kind} %s" if name else kind)
    return Thing(language.gettext(said, name=name) if said else named)


def changes(language: Language, entry: Entry, codes: Codes, things: Things) -> list[FactChange]:
    """Return what an act has changed. `codes` are the words for values that are codes, by the fact's name."""
    return [
        FactChange(
            _name(language, name),
            _value(language, name, entry.before.get(name), codes, things),
            _value(language, name, entry.after.get(name), codes, things),
        )
        for name in dict.fromkeys((*entry.before, *entry.after))
    ]


def _name(language: Language, name: str) -> str:
    if name.startswith(_OF_LOT):
        return language.gettext(_LOT, label=name.removeprefix(_OF_LOT))
    return language.gettext(NAMES[name]) if name in NAMES else name


def _value(language: Language, name: str, value: str | int | bool | None, codes: Codes, things: Things) -> Thing | None:
    if value is None:
        return None
    text = str(value)
    if isinstance(value, bool):
        return Thing(language.gettext(_YES if value else _NO))
    if name.startswith(_OF_LOT):
        return Thing(_result(language, text, things))
    if key := _key(name, value):
        return things.get(key, Thing(text))
    return Thing(_said(language, name, text, codes))


def _said(language: Language, name: str, text: str, codes: Codes) -> str:
    if name in _INSTANTS:
        return " ".join(language.when(text))
    if name in _MONEY:
        return _money(language, text)
    if name == "spacing":
        return language.duration(int(text))
    if (name, text) == ("user", "all"):
        return language.gettext(_EVERYBODY)
    said = {**ROLES, **STATES}.get(text) if name in ("role", "barred") else codes.get(name, {}).get(text)
    return text if said is None else language.gettext(said)


def _result(language: Language, text: str, things: Things) -> str:
    found = _RESULT.fullmatch(text)
    if found is None:
        return language.gettext(_PASSED) if text == "passed" else text
    said = _SOLD if found[1] == "sold" else _CONDITIONAL
    buyer = things.get(f"{USER}{found[3]}", Thing(found[3]))
    return language.gettext(said, price=_money(language, found[2]), user=buyer.name)


def _money(language: Language, text: str) -> str:
    try:
        return language.money(Decimal(text))
    except InvalidOperation:
        return text
