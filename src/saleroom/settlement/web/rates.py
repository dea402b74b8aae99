"""Rate cards in the back office: made, changed, tried out with a hammer price, and chosen for sales, lots and consignors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.domain.rights import Right
from saleroom.bidding.domain.events import Channel
from saleroom.http.forms import Form, read_fields
from saleroom.http.requests import session_token
from saleroom.kernel.errors import Declined, Fault, Invalid, Refusal
from saleroom.kernel.identifiers import GID
from saleroom.kernel.money import ZERO
from saleroom.sales.domain.consignors import parse_code
from saleroom.sales.domain.errors import UnknownConsignor, UnknownLot, UnknownSale
from saleroom.sales.domain.labels import parse_label
from saleroom.sales.web.words import CHANNELS
from saleroom.settlement.api.forms import BY_CHANNEL, CHANGE, CHOOSE, MAKE, TRIAL, card_of
from saleroom.settlement.domain.errors import UnknownRateCard
from saleroom.settlement.domain.rates.bills import RateCard
from saleroom.settlement.domain.rates.cards import NAME_MAX, RateCardView, ScaleView
from saleroom.settlement.service import rates
from saleroom.settlement.service.rates import CardTarget, Trial
from saleroom.settlement.services import SettlementServices
from saleroom.settlement.web.forms import tried_values
from saleroom.settlement.web.words import COUNTRIES, GOODS, ITEMS, PAYERS, SCHEMES
from saleroom.site.language import N_, Language
from saleroom.site.site import Section, Site, fields, for_users, go_to

RATES = Section("/admin/rates", N_("Rates"), Right.SET_RATES)
_AMOUNTS = ("entryFee", "photoFee", "unsoldFee", "insurance", "donation")
_WORDS = ("resaleRight", "country", "goods", "taxScheme")
_SCALES = ("premium", "commission", "memberPremium", "memberCommission")
_OF_MEMBERS = ("memberPremium", "memberCommission")
"""The scales that a card need not have; a mark beside each says whether it does."""
Sent = dict[str, str]
_Members = Callable[[Language, Sent, dict[str, list[Fault]]], dict[str, Any]]


class RatePages:
    """The pages of rate cards, and their forms."""

    def __init__(self, site: Site, services: SettlementServices) -> None:
        self._site = site
        self._services = services

    async def all(self, request: Request) -> Response:
        """GET /admin/rates: the rate cards, and the forms of a new one and of a choice."""
        return await self._all(request)

    @for_users
    async def make(self, request: Request) -> Response:
        """POST /admin/rates: make a rate card without rates, and go on to it."""
        sent, house = await fields(request), self._services.letterhead.house
        try:
            values = MAKE.read(msgspec.json.encode({"name": sent.get("name", "")}))
            body = await self._write(
                request, rates.make, values["name"], RateCard.first_of(house.country, house.vat_id)
            )
        except Declined as refused:
            return await self._all(request, refused, sent)
        return go_to(f"{RATES.path}/{msgspec.json.decode(body)['card']}")

    @for_users
    async def choose(self, request: Request) -> Response:
        """POST /admin/rates/choice: choose a card for a sale, one of its lots, or a consignor."""
        sent = await fields(request)
        try:
            card = CHOOSE.read(msgspec.json.encode({"card": sent.get("card", "") or None}))["card"]
            await self._write(request, rates.choose, _chosen(sent), card)
        except Declined as refused:
            return await self._all(request, refused, sent)
        return go_to(f"{RATES.path}?done=1")

    async def one(self, request: Request) -> Response:
        """GET /admin/rates/{gid}?price=&channel=&taxScheme=: a rate card, and what a hammer price would cost and bring."""
        return await self._one(request)

    @for_users
    async def change(self, request: Request) -> Response:
        """POST /admin/rates/{gid}/terms: give a rate card other terms."""
        sent, gid = await fields(request), _gid(request)
        try:
            values = self._read(request, sent, CHANGE, _terms)
            await self._write(request, rates.change, gid, card_of(values))
        except UnknownRateCard:
            raise
        except Declined as refused:
            return await self._one(request, refused, sent)
        return go_to(f"{RATES.path}/{gid}?done=1")

    async def _write(self, request: Request, use_case: Callable[..., Any], *args: Any) -> Any:
        work: Awaitable[Any] = self._services.tokens.write(use_case, session_token(request) or "", *args)
        return await work

    def _read(self, request: Request, sent: Sent, form: Form, members: _Members) -> dict[str, Any]:
        """Return what a form of the API reads from the fields. Raises Invalid with all faults."""
        faults: dict[str, list[Fault]] = {}
        said = members(self._site.language(request), sent, faults)
        return form.read_beside(msgspec.json.encode(said), faults)

    @for_users
    async def _all(self, request: Request, refused: Refusal | None = None, sent: Sent | None = None) -> Response:
        viewer, found = await self._site.read(request, rates.overview)
        names = {one.card: one.card_name for one in found.cards}
        context = {
            "found": found,
            "names": names,
            "name_max": NAME_MAX,
            "done": refused is None and "done" in request.query_params,
            "sent": sent or {},
            **self._said(request, refused),
        }
        return self._site.page(request, "rates.html", viewer, context, refused=refused)

    @for_users
    async def _one(self, request: Request, refused: Refusal | None = None, sent: Sent | None = None) -> Response:
        gid, language = _gid(request), self._site.language(request)
        tried, bill = dict(request.query_params), None
        viewer, card = await self._site.read(request, rates.shown, gid)
        if refused is None and "price" in tried:
            try:
                trial = Trial(**({"price": None} | tried_values(language, tried, TRIAL)))
                _, bill = await self._site.read(request, rates.preview, gid, trial, self._services.places)
            except Invalid as invalid:
                refused = invalid
        context = {
            "card": card,
            "w": _written(language, card) | (sent or {}),
            "tried": tried,
            "bill": bill,
            "items": _labels(language, ITEMS),
            "schemes": _labels(language, SCHEMES),
            "countries": _labels(language, COUNTRIES),
            "goods": _labels(language, GOODS),
            "payers": _labels(language, PAYERS),
            "channels": _labels(language, CHANNELS),
            "done": refused is None and "done" in tried,
            **self._said(request, refused),
        }
        return self._site.page(request, "rate_card.html", viewer, context, refused=refused)

    def _said(self, request: Request, refused: Refusal | None) -> dict[str, Any]:
        language, words = self._site.language(request), self._site.words
        return {
            "faults": words.field_faults(language, refused),
            "message": words.message(language, refused),
        }


def _terms(language: Language, sent: Sent, faults: dict[str, list[Fault]]) -> dict[str, Any]:
    """Return the members of a rate card from its form; add the faults of amounts to `faults`."""

    def amount(name: str) -> str:
        text = sent.get(name, "").strip()
        found = language.parse_money(text or "0")
        if isinstance(found, Fault):
            faults[name] = [found]
            return "0"
        return str(found)

    members: dict[str, Any] = {name: amount(name) for name in _AMOUNTS}
    members |= {name: sent[name] for name in _WORDS if name in sent}
    for name in _SCALES:
        if name in _OF_MEMBERS and sent.get(f"{name}-own") != "on":
            if sent.get(name, "").strip():
                faults[name] = [Fault("tick_missing", "must be empty, unless it is ticked that members have it")]
            members[name] = None
            continue
        found = _tiers(language, sent.get(name, ""))
        if isinstance(found, Fault):
            faults[name] = [found]
            found = []
        cumulative = sent.get(f"{name}-cumulative") == "on"
        members[name] = {"tiers": found, "cumulative": cumulative, "minimum": amount(f"{name}-minimum")}
    surcharges = {one.value: amount(f"surcharge-{one.value}") for one in Channel}
    members["surcharges"] = {name: percent for name, percent in surcharges.items() if percent != str(ZERO)}
    try:  # each has a field of its own here, and one member of the API has them all
        texts = {name: msgspec.json.encode(percent) for name, percent in members["surcharges"].items()}
        read_fields(BY_CHANNEL, texts, strict=True)
    except Invalid as refused:
        faults |= {f"surcharge-{name}": list(found) for name, found in refused.faults.items()}
        members["surcharges"] = {}
    return members


def _tiers(language: Language, text: str) -> list[dict[str, str]] | Fault:
    """Read tiers, each on a line of its own: `0: 25`."""
    tiers = []
    for line in filter(None, (line.strip() for line in text.splitlines())):
        above, _, percent = line.partition(":")
        read = [language.parse_money(part.strip(" %\u00a0")) for part in (above, percent)]
        if any(isinstance(part, Fault) for part in read):
            return Fault("tier_format", "must have tiers such as 0: 25, each on a line of its own")
        tiers.append({"above": str(read[0]), "percent": str(read[1])})
    return tiers


def _chosen(sent: Sent) -> CardTarget:
    """Return what the form chooses a card for. Raises UnknownConsignor, UnknownSale or UnknownLot."""
    if code := sent.get("consignor", "").strip():
        found = parse_code(code)
        if isinstance(found, Fault):
            raise UnknownConsignor
        return CardTarget(consignor=found)
    gid, text = sent.get("sale", ""), sent.get("lot", "").strip()
    if GID.fullmatch(gid) is None:
        raise UnknownSale
    label = parse_label(text) if text else None
    if isinstance(label, Fault):
        raise UnknownLot
    return CardTarget(sale=gid, lot=label)


def _written(language: Language, card: RateCardView) -> dict[str, str]:
    """Return the fields of a rate card as its form has them."""
    written = {name: str(getattr(card, field)) for name, field in zip(_WORDS, _WORD_FIELDS, strict=True)}
    written |= {
        name: language.amount(getattr(card, field)) for name, field in zip(_AMOUNTS, _AMOUNT_FIELDS, strict=True)
    }
    written |= {f"surcharge-{name}": language.amount(percent) for name, percent in card.surcharges.items()}
    scales = (card.premium, card.commission, card.member_premium, card.member_commission)
    for name, scale in zip(_SCALES, scales, strict=True):
        if scale is not None:
            written |= _scale(name, language, scale) | {f"{name}-own": "on"}
    return written


_WORD_FIELDS = ("resale_right", "country", "goods", "tax_scheme")
_AMOUNT_FIELDS = ("entry_fee", "photo_fee", "unsold_fee", "insurance", "donation")


def _scale(name: str, language: Language, scale: ScaleView) -> dict[str, str]:
    lines = [f"{language.amount(tier.above)}: {language.percent(tier.percent)}" for tier in scale.tiers]
    cumulative = "on" if scale.cumulative else ""
    return {name: "\n".join(lines), f"{name}-cumulative": cumulative, f"{name}-minimum": language.amount(scale.minimum)}


def _labels(language: Language, words: Mapping[Any, str]) -> dict[str, str]:
    return {str(one): language.gettext(said) for one, said in words.items()}


def _gid(request: Request) -> str:
    found = str(request.path_params["gid"])
    if GID.fullmatch(found) is None:
        raise UnknownRateCard
    return found
