"""The form of a lot: its fields and labels, reading it into the shape of the API, and filling it in from a lot.

The API's own form checks the values, so that no rule is written twice. The texts are kept as the seller wrote them, so that
the form comes back unchanged whatever was wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import Struct, structs

from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.errors import TermsChanged
from saleroom.bidding.domain.events import SOFT_CLOSE_SECONDS_MAX
from saleroom.bidding.domain.increments import DEFAULT_LADDER, TIERS_MAX, Tier
from saleroom.bidding.domain.preconditions import Precondition
from saleroom.bidding.domain.selling import DEFAULT_SOFT_CLOSE
from saleroom.bidding.service.selling import Amendment
from saleroom.http.forms import Form
from saleroom.kernel.errors import Fault
from saleroom.kernel.instants import instant
from saleroom.site.language import N_, Language, TranslatedFault
from saleroom.site.local_times import read_local, write_local

SPARE_TIERS = 2
"""Empty rows at the end of a ladder, to fill in."""
_VERSION = re.compile(r"[1-9][0-9]{0,8}")
_MINUTES = re.compile(r"[0-9]{1,5}(?:[.,][0-9]{1,9})?")
_PRICES = ("startingPrice", "reservePrice", "buyNowPrice")
DEFAULTS = {
    "name": "",
    "description": "",
    "category": "",
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
    "startsAtKnown": "",
    "endsAtKnown": "",
    "capKnown": "",
    "zone": "UTC",
    "version": "",
}
"""The fields with one value each, and their values in a new form. `version` is that of the lot, and each `Known` the instant
that a field was filled in from (`read_local`)."""
_TIMES = ("startsAt", "endsAt", "cap")
LABELS = {
    "name": N_("Name of the lot"),
    "description": N_("Description"),
    "category": N_("Category"),
    "photos": N_("Photos"),
    "startingPrice": N_("Starting price"),
    "endsAt": N_("End of the sale"),
    "reservePrice": N_("Reserve price"),
    "buyNowPrice": N_("Buy now price"),
    "startsAt": N_("Start of the sale"),
    "increment": N_("Bid increments"),
    "step": N_("The same step at every price"),
    "softClose": N_("Late bids"),
    "window": N_("A bid is late in the last"),
    "extension": N_("Time left after a late bid"),
    "cap": N_("The end never moves past"),
}
"""The fields and their labels, in the order of the page."""
_LABELLED_FAULT = N_("%(field)s: %(fault)s")


class LotForm(Struct, frozen=True, kw_only=True):
    """A form as it is filled in: `texts` by field, the rows of the ladder, and the ids of the photos in their order.

    `known` are the instants (RFC 3339) of texts in UTC, which scripts write in the reader's time zone.
    """

    texts: Mapping[str, str]
    tiers: Sequence[tuple[str, str]] = ()
    photos: Sequence[str] = ()
    known: Mapping[str, str] = {}

    def __getitem__(self, field: str) -> str:
        return self.texts.get(field, DEFAULTS[field])


class FormValues(Struct, frozen=True):
    """The content of a form: `values` by the domain's names, and `notes` for its reader."""

    values: dict[str, Any]
    notes: list[str]


def empty(ends_at: datetime, language: Language) -> LotForm:
    """Return a new form. `ends_at` is a local time in the time zone of its reader."""
    texts = DEFAULTS | {"endsAt": write_local(ends_at)}
    return LotForm(texts=texts, tiers=_rows(DEFAULT_LADDER.tiers, language))


def of_auction(auction: Auction, photos: Sequence[str], language: Language) -> LotForm:
    """Return the form filled in from a lot."""
    rule = auction.soft_close or DEFAULT_SOFT_CLOSE
    instants = {"startsAt": auction.starts_at, "endsAt": auction.ends_at, "cap": rule.cap}
    known = {field: at for field, at in instants.items() if at is not None}
    prices = (auction.starting_price, auction.reserve_price, auction.buy_now_price)
    texts = {
        **DEFAULTS,
        "name": auction.name,
        "description": auction.description,
        "category": auction.category or "",
        **{field: _price(amount, language) for field, amount in zip(_PRICES, prices, strict=True)},
        **{field: write_local(at) for field, at in known.items()},
        **{f"{field}Known": instant(at) for field, at in known.items()},
        "ending": "open" if auction.ends_at is None else "at",
        "softClose": "off" if auction.soft_close is None else "on",
        "window": _minutes(rule.window),
        "extension": _minutes(rule.extension),
        "version": str(auction.version),
    }
    return LotForm(texts=texts, photos=photos, known={field: instant(at) for field, at in known.items()})


def offered_again(auction: Auction, photos: Sequence[str], ends_at: datetime, language: Language) -> LotForm:
    """Return a new form filled in from a lot, all but its dates. `ends_at` is a local time in the time zone of its reader."""
    form, new, ladder = of_auction(auction, photos, language), empty(ends_at, language), auction.ladder
    increment = "fixed" if len(ladder.tiers) == 1 else "ladder"
    if ladder == DEFAULT_LADDER:
        increment = "default"
    texts = {
        **form.texts,
        **{field: new[field] for field in (*_TIMES, *(f"{field}Known" for field in _TIMES), "version")},
        "increment": increment,
        "step": language.amount(ladder.tiers[0].step) if increment == "fixed" else "",
    }
    return LotForm(
        texts=texts, tiers=_rows(ladder.tiers, language) if increment == "ladder" else new.tiers, photos=photos
    )


def read(form: LotForm, api_form: Form, language: Language) -> FormValues:
    """Return the values of a form, checked by `api_form`. Raises Invalid with every fault, by field."""
    reader = _Reader(form, language)
    members = reader.members(with_increment=any(field.name == "increment" for field in api_form.fields))
    return FormValues(api_form.read_beside(msgspec.json.encode(members), reader.faults), reader.notes)


def amendment(auction: Auction, form: LotForm, values: dict[str, Any]) -> Amendment:
    """Return the changes of an auction and its photos that a form asks for. Raises TermsChanged if it names no version."""
    return Amendment(_changes(auction, form, values), form.photos, Precondition(version=version_of(form["version"])))


def _changes(auction: Auction, form: LotForm, values: dict[str, Any]) -> dict[str, Any]:
    """Return the `values` that change an auction. A form has whole seconds: an instant that agrees to the second stays."""
    kept = {name: value for name, value in values.items() if name != "starts_at" or "startsAt" in form.texts}
    for name in kept.keys() & {"starts_at", "ends_at"}:
        kept[name] = _unmoved(getattr(auction, name), kept[name])
    rule = kept.get("soft_close")
    if rule is not None and auction.soft_close is not None:
        kept["soft_close"] = structs.replace(rule, cap=_unmoved(auction.soft_close.cap, rule.cap))
    return kept


class _Reader:
    """Reads a form's texts into the members of the API's object. `faults` has what cannot be read, by field."""

    def __init__(self, form: LotForm, language: Language) -> None:
        self._form = form
        self._language = language
        self.faults: dict[str, list[Fault]] = {}
        self.notes: list[str] = []

    def members(self, *, with_increment: bool) -> dict[str, Any]:
        """Return the object."""
        form = self._form
        found: dict[str, Any] = {"name": form["name"], "description": form["description"]}
        if "category" in form.texts:
            found["category"] = form["category"] or None
        for field in _PRICES:
            if (amount := self._amount(field, form[field])) is not None:
                found[field] = amount
            elif field != "startingPrice":
                found[field] = None
        found["startsAt"] = self._instant("startsAt")
        found["endsAt"] = self._instant("endsAt") if form["ending"] == "at" else None
        if form["ending"] == "at" and not form["endsAt"].strip():
            self._fault("endsAt", "required", N_("Say when the auction ends, or choose to end it yourself."))
        found["softClose"] = None if form["softClose"] == "off" else self._soft_close()
        if with_increment:
            found |= self._increment()
        return found

    def _increment(self) -> dict[str, Any]:
        kind = self._form["increment"]
        if kind == "fixed":
            step = self._amount("step", self._form["step"])
            if step is None and "step" not in self.faults:
                self._fault("step", "required", N_("Say by how much the next bid must be higher."))
            return {} if step is None else {"increment": step}
        return {"increment": self._tiers()} if kind == "ladder" else {}

    def _tiers(self) -> list[dict[str, str]]:
        rows = [(start.strip(), step.strip()) for start, step in self._form.tiers]
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
        text = self._form[field].strip()
        if _MINUTES.fullmatch(text) is None:
            self._fault(field, "minutes_format", N_("Enter a number of minutes, such as 2."))
            return 1
        # A form has minutes and the house whole seconds: 1.6667 minutes are 100 of them.
        seconds = int((Decimal(text.replace(",", ".")) * 60).to_integral_value())
        if not 1 <= seconds <= SOFT_CLOSE_SECONDS_MAX:
            self._fault(field, "out_of_range", N_("Enter more than 0 and at most 1440 minutes."))
            return 1
        return seconds

    def _amount(self, field: str, text: str) -> str | None:
        if not text.strip():
            return None
        amount = self._language.parse_money(text)
        if isinstance(amount, Fault):
            self.faults[field] = [amount]
            return None
        doubt = self._language.doubt(text, amount)
        self.notes += [] if doubt is None else [doubt]
        return str(amount)

    def _instant(self, field: str) -> str | None:
        text = self._form[field].strip()
        if not text:
            return None
        found = read_local(text, self._form["zone"], self._form[f"{field}Known"])
        if isinstance(found, Fault):
            self._fault(field, found.code, found.message)
            return None
        self.notes += [self._language.gettext(note) for note in found.notes]
        return instant(found.at)

    def _fault(self, field: str, code: str, message: str) -> None:
        self.faults[field] = [TranslatedFault(code, self._language.gettext(message))]


def has_more_terms(form: LotForm) -> bool:
    """Whether a form has more terms than every lot needs."""
    usual = ("reservePrice", "buyNowPrice", "startsAt", "increment", "softClose", "window", "extension", "cap")
    return any(form[field] != DEFAULTS[field] for field in usual)


def version_of(text: str | None) -> int:
    """Return the version in a form's field. Raises TermsChanged if there is none."""
    if text is None or _VERSION.fullmatch(text) is None:
        raise TermsChanged
    return int(text)


def at_version(form: LotForm, version: int) -> LotForm:
    """Return the form with a newer version. The page that shows it names the changes."""
    return structs.replace(form, texts={**form.texts, "version": str(version)})


def with_photos(form: LotForm, ids: Sequence[str]) -> LotForm:
    """Return the form with further photos after its own."""
    return structs.replace(form, photos=[*form.photos, *ids])


def with_spare_rows(tiers: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return a ladder's filled rows and some empty ones, up to the limit."""
    filled = [row for row in tiers if any(text.strip() for text in row)]
    return [*filled, *[("", "")] * min(SPARE_TIERS, TIERS_MAX - len(filled))]


def ordered(faults: Iterable[str]) -> list[str]:
    """Return fields in the order of the page."""
    order = list(LABELS)
    return sorted(faults, key=lambda field: (order.index(_labelled(field)), field))


def labelled_fault(language: Language, field: str, fault: str) -> str:
    """Return the sentence on a fault of a field, after the label of the field."""
    label = language.gettext(LABELS[_labelled(field)])
    return language.gettext(_LABELLED_FAULT, field=label, fault=fault)


def _labelled(field: str) -> str:
    """Return the field with a label that a fault belongs to: a row of the ladder has none, and the whole form has none."""
    if field.startswith("tier-"):
        return "increment"
    return field if field in LABELS else "name"


def anchor(field: str) -> str:
    """Return the id of the element on the page where a fault of this field is corrected."""
    return field if field.startswith("tier-") else _labelled(field)


def is_more(field: str) -> bool:
    """Whether a field is in the part of the form that is folded at first."""
    return list(LABELS).index(_labelled(field)) > list(LABELS).index("endsAt")


def _rows(tiers: Sequence[Tier], language: Language) -> list[tuple[str, str]]:
    return [(language.amount(tier.start), language.amount(tier.step)) for tier in tiers]


def _price(amount: Decimal | None, language: Language) -> str:
    return "" if amount is None else language.amount(amount)


def _minutes(seconds: int) -> str:
    return f"{Decimal(seconds) / 60:.4f}".rstrip("0").rstrip(".")


def _unmoved(before: datetime | None, after: datetime | None) -> datetime | None:
    return before if before is not None and before.replace(microsecond=0) == after else after
