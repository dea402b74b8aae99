"""A lot as its seller writes it in a form: read into the API's own shape, so that no rule is written twice, and back.

What was written is kept as it is, so that a form comes back with it whatever was wrong.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import Struct, structs

from saleroom.bidding.api.terms import SECONDS_MAX
from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.errors import TermsChanged
from saleroom.bidding.domain.increments import DEFAULT_LADDER, TIERS_MAX, Tier
from saleroom.bidding.domain.preconditions import Precondition
from saleroom.bidding.domain.selling import DEFAULT_SOFT_CLOSE
from saleroom.http.forms import Form
from saleroom.kernel.errors import Fault, Invalid
from saleroom.kernel.instants import instant
from saleroom.site.language import N_, Language, Said
from saleroom.site.local_times import read_local, write_local

SPARE_TIERS = 2
"""Empty rows that a ladder is shown with, for what comes next."""
_VERSION = re.compile(r"[1-9][0-9]{0,8}")
_MINUTES = re.compile(r"[0-9]{1,5}(?:[.,][0-9]{1,9})?")
_PRICES = ("startingPrice", "reservePrice", "buyNowPrice")
DEFAULTS = {
    "name": "",
    "description": "",
    "startingPrice": "",
    "reservePrice": "",
    "buyNowPrice": "",
    "startsAt": "",
    "ending": "at",
    "endsAt": "",
    "cap": "",
    "increment": "default",
    "step": "",
    "softClose": "on",
    "window": "2",
    "extension": "2",
    "zone": "UTC",
    "version": "",
}
"""The fields of the form that have one value each, and what a new form has in them. `version` is that of the lot."""


class Written(Struct, frozen=True, kw_only=True):
    """What is in the form: its `texts` by field, the rows of the ladder, and the ids of the photos in their order.

    `known` are instants (RFC 3339) that the texts stand for in UTC and that scripts write in the reader's zone instead.
    """

    texts: Mapping[str, str]
    tiers: Sequence[tuple[str, str]] = ()
    photos: Sequence[str] = ()
    known: Mapping[str, str] = {}

    def __getitem__(self, field: str) -> str:
        return self.texts.get(field, DEFAULTS[field])


class Read(Struct, frozen=True):
    """What the form says: `values` by the domain's names, and the `notes` that its reader must see."""

    values: dict[str, Any]
    notes: list[str]


def empty(ends_at: datetime, language: Language) -> Written:
    """Return a new form. Its end is a time by the clock on the wall, in whichever zone the form is then read."""
    texts = DEFAULTS | {"endsAt": write_local(ends_at)}
    return Written(texts=texts, tiers=_rows(DEFAULT_LADDER.tiers, language))


def of_auction(auction: Auction, photos: Sequence[str], language: Language) -> Written:
    """Return the form filled in with a lot as it is."""
    rule = auction.soft_close or DEFAULT_SOFT_CLOSE
    instants = {"startsAt": auction.starts_at, "endsAt": auction.ends_at, "cap": rule.cap}
    known = {field: at for field, at in instants.items() if at is not None}
    prices = (auction.starting_price, auction.reserve_price, auction.buy_now_price)
    texts = {
        **DEFAULTS,
        "name": auction.name,
        "description": auction.description,
        **{field: _price(amount, language) for field, amount in zip(_PRICES, prices, strict=True)},
        **{field: write_local(at) for field, at in known.items()},
        "ending": "open" if auction.ends_at is None else "at",
        "softClose": "off" if auction.soft_close is None else "on",
        "window": _minutes(rule.window),
        "extension": _minutes(rule.extension),
        "version": str(auction.version),
    }
    return Written(texts=texts, photos=photos, known={field: instant(at) for field, at in known.items()})


def read(written: Written, form: Form, language: Language) -> Read:
    """Return what a form says, checked as `form` of the API. Raises Invalid with every fault by the form's fields."""
    reader = _Reader(written, language)
    members = reader.members(with_increment=any(field.name == "increment" for field in form.fields))
    try:
        values = form.read(msgspec.json.encode(members))
    except Invalid as invalid:
        raise Invalid({**invalid.faults, **reader.faults}) from None
    if reader.faults:
        raise Invalid(reader.faults)
    return Read(values, reader.notes)


def changes(auction: Auction, written: Written, values: dict[str, Any]) -> dict[str, Any]:
    """Return what `values` change of an auction. A form has whole seconds: an instant that agrees in those stays."""
    kept = {name: value for name, value in values.items() if name != "starts_at" or "startsAt" in written.texts}
    for name in kept.keys() & {"starts_at", "ends_at"}:
        kept[name] = _unmoved(getattr(auction, name), kept[name])
    rule = kept.get("soft_close")
    if rule is not None and auction.soft_close is not None:
        kept["soft_close"] = structs.replace(rule, cap=_unmoved(auction.soft_close.cap, rule.cap))
    return kept


class _Reader:
    """Reads a form's texts into the members of the API's object; what cannot be read is in `faults`, by field."""

    def __init__(self, written: Written, language: Language) -> None:
        self._written = written
        self._language = language
        self.faults: dict[str, list[Fault]] = {}
        self.notes: list[str] = []

    def members(self, *, with_increment: bool) -> dict[str, Any]:
        """Return the object."""
        written = self._written
        found: dict[str, Any] = {"name": written["name"], "description": written["description"]}
        for field in _PRICES:
            if (amount := self._amount(field, written[field])) is not None:
                found[field] = amount
            elif field != "startingPrice":
                found[field] = None
        found["startsAt"] = self._instant("startsAt")
        found["endsAt"] = self._instant("endsAt") if written["ending"] == "at" else None
        if written["ending"] == "at" and not written["endsAt"].strip():
            self._fault("endsAt", "required", N_("Say when the sale ends, or choose to close it yourself."))
        found["softClose"] = None if written["softClose"] == "off" else self._soft_close()
        if with_increment:
            found |= self._increment()
        return found

    def _increment(self) -> dict[str, Any]:
        kind = self._written["increment"]
        if kind == "fixed":
            step = self._amount("step", self._written["step"])
            if step is None and "step" not in self.faults:
                self._fault("step", "required", N_("Say by how much the next bid must be higher."))
            return {} if step is None else {"increment": step}
        return {"increment": self._tiers()} if kind == "ladder" else {}

    def _tiers(self) -> list[dict[str, str]]:
        rows = [(start.strip(), step.strip()) for start, step in self._written.tiers]
        found = []
        for number, row in enumerate(rows, 1):
            if not any(row):
                continue
            amounts = [self._amount(f"tier-{number}", text) for text in row]
            if all(row) and None not in amounts:
                found.append({"from": str(amounts[0]), "step": str(amounts[1])})
            elif not all(row):
                self._fault(f"tier-{number}", "required", N_("Fill in both amounts of this row, or neither."))
        return found

    def _soft_close(self) -> dict[str, Any]:
        seconds = {field: self._seconds(field) for field in ("window", "extension")}
        return {**seconds, "cap": self._instant("cap")}

    def _seconds(self, field: str) -> int:
        text = self._written[field].strip()
        if _MINUTES.fullmatch(text) is None:
            self._fault(field, "minutes_format", N_("Write a number of minutes, such as 2."))
            return 1
        # A form has minutes and the house whole seconds: 1.6667 minutes are 100 of them.
        seconds = int((Decimal(text.replace(",", ".")) * 60).to_integral_value())
        if not 1 <= seconds <= SECONDS_MAX:
            self._fault(field, "out_of_range", N_("Write more than 0 minutes, and no more than 1440."))
            return 1
        return seconds

    def _amount(self, field: str, text: str) -> str | None:
        if not text.strip():
            return None
        amount = self._language.parse_money(text)
        if isinstance(amount, Fault):
            self.faults[field] = [amount]
            return None
        return str(amount)

    def _instant(self, field: str) -> str | None:
        text = self._written[field].strip()
        if not text:
            return None
        found = read_local(text, self._written["zone"])
        if isinstance(found, Fault):
            self._fault(field, found.code, found.message)
            return None
        self.notes += [self._language.gettext(note) for note in found.notes]
        return instant(found.at)

    def _fault(self, field: str, code: str, message: str) -> None:
        self.faults[field] = [Said(code, self._language.gettext(message))]


def has_more_terms(written: Written) -> bool:
    """Whether a form says more than what every lot needs."""
    usual = ("reservePrice", "buyNowPrice", "startsAt", "increment", "softClose", "window", "extension", "cap")
    return any(written[field] != DEFAULTS[field] for field in usual)


def seen(written: Written) -> Precondition:
    """Return the version of the lot that its seller has seen. Raises TermsChanged where a form does not say it."""
    return Precondition(version=version_of(written["version"]))


def version_of(text: str | None) -> int:
    """Return the version that a form of the house carries. Raises TermsChanged where it carries none."""
    if text is None or _VERSION.fullmatch(text) is None:
        raise TermsChanged
    return int(text)


def at_version(written: Written, version: int) -> Written:
    """Return the form as of a newer version, whose changes its seller is told with it."""
    return structs.replace(written, texts={**written.texts, "version": str(version)})


def with_photos(written: Written, ids: Sequence[str]) -> Written:
    """Return the form with further photos after its own."""
    return structs.replace(written, photos=[*written.photos, *ids])


def with_spare_rows(tiers: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return a ladder's rows with some empty ones after them, as many as it may still have."""
    filled = [row for row in tiers if any(text.strip() for text in row)]
    return [*filled, *[("", "")] * min(SPARE_TIERS, TIERS_MAX - len(filled))]


def _rows(tiers: Sequence[Tier], language: Language) -> list[tuple[str, str]]:
    return [(language.amount(tier.start), language.amount(tier.step)) for tier in tiers]


def _price(amount: Decimal | None, language: Language) -> str:
    return "" if amount is None else language.amount(amount)


def _minutes(seconds: int) -> str:
    return f"{Decimal(seconds) / 60:.4f}".rstrip("0").rstrip(".")


def _unmoved(before: datetime | None, after: datetime | None) -> datetime | None:
    return before if before is not None and before.replace(microsecond=0) == after else after
