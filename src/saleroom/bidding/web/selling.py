"""The pages of a seller: write, preview and publish a lot; then amend it, cancel it, announce its end, or close it."""

from __future__ import annotations

import re
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, time, timedelta
from typing import Any

import msgspec
from markupsafe import Markup
from msgspec import Struct, structs
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import Response

from saleroom.bidding.api import uploads
from saleroom.bidding.api.preconditions import with_changes
from saleroom.bidding.api.terms import AMEND, CLOSE, CREATE
from saleroom.bidding.domain.errors import AuctionChanged, TermsChanged
from saleroom.bidding.domain.increments import DEFAULT_LADDER
from saleroom.bidding.domain.photos import PER_LOT_MAX, Photo
from saleroom.bidding.domain.preconditions import Precondition
from saleroom.bidding.domain.selling import Draft
from saleroom.bidding.service import auctions, photos, selling
from saleroom.bidding.service.places import Sender
from saleroom.bidding.service.selling import Offer
from saleroom.bidding.services import BiddingServices
from saleroom.bidding.web import lot_form, words
from saleroom.bidding.web.lot_form import FormValues, LotForm
from saleroom.bidding.web.lots import lot_gid
from saleroom.http.endpoints import digest
from saleroom.http.forgery import OF_ANOTHER_SESSION
from saleroom.http.problems import ForgeryRefusal
from saleroom.http.requests import client_address, session_token
from saleroom.kernel.errors import Fault, Invalid, Refusal, Unauthenticated
from saleroom.kernel.identifiers import GID, IdempotencyKey
from saleroom.kernel.instants import instant
from saleroom.site.language import N_, Language, TranslatedFault
from saleroom.site.local_times import read_local
from saleroom.site.site import Site, Viewer, fields, go_to, login_address, to_log_in
from saleroom.storage.database import Transaction

DAYS, HOUR = 7, time(20)
"""The suggested end of a new lot: in a week, in the evening."""
NAME_SHOWN_MAX = 80
LOGGED_OUT = N_("You are logged out. Log in again in another tab, then send this form again. Nothing in it is lost.")
NOT_AS_SHOWN = N_("What you sent differs from the preview. Check it again.")
FULL = N_("A lot has at most %(count)s photos.")
_MOVE = re.compile(r"(earlier|later|remove) ([A-Za-z0-9_-]{1,64})")
_KEY = re.compile(r"[A-Za-z0-9_-]{20,100}")


class Submission(Struct, frozen=True):
    """A form as it arrived: `do` is the pressed button, `key` that of the preview, `shown` a digest of what it showed."""

    form: LotForm
    do: str
    key: str
    shown: str
    files: list[UploadFile]
    sender: Sender


class Feedback(Struct, frozen=True, kw_only=True):
    """The messages beside a form: why it comes back, and which photos were refused.

    `elsewhere`: the refusal belongs to another form on the page, which shows it.
    """

    refused: Refusal | None = None
    bad_photos: Sequence[str] = ()
    elsewhere: bool = False


class SellingPages:
    """The pages of a seller."""

    def __init__(self, site: Site, services: BiddingServices) -> None:
        self._site = site
        self._services = services

    async def form(self, request: Request) -> Response:
        """GET /sell: a new form."""
        viewer, now = await self._site.read(request, _now)
        if viewer is None:
            return to_log_in(request)
        ends_at = datetime.combine(now.date() + timedelta(days=DAYS), HOUR)
        return await self._form(request, lot_form.empty(ends_at, self._site.language(request)))

    async def submit(self, request: Request) -> Response:
        """POST /sell: a preview, the form again, or the new lot."""
        async with self._sent(request) as sent:
            return await self._step(request, sent, None)

    async def manage(self, request: Request) -> Response:
        """GET /sell/{gid}: the seller's own lot as a form, or why it can no longer be changed."""
        return await self._manage(request)

    async def save(self, request: Request) -> Response:
        """POST /sell/{gid}: a preview, the form again, or the lot as amended."""
        async with self._sent(request) as sent:
            return await self._step(request, sent, lot_gid(request))

    async def upload(self, request: Request) -> Response:
        """POST /sell/photos: a script sends one file, and gets the photo as the form shows it."""
        async with self._sent(request) as sent:
            found, bad = await self._stored(request, sent)
            context = {"photos": found, "bad_photos": bad}
            refused = Invalid.one("photo", "refused", bad[0]) if bad else None
            viewer = await self._site.viewer(request)
            return self._site.page(request, "parts/sell_photos.html", viewer, context, refused=refused)

    async def cancel(self, request: Request) -> Response:
        """POST /sell/{gid}/cancel."""
        gid, sent = lot_gid(request), await fields(request)
        try:
            seen = Precondition(version=lot_form.version_of(sent.get("version")))
            await self._services.tokens.write(auctions.cancel, session_token(request) or "", gid, seen)
        except Refusal as refused:
            return await self._manage(request, refused)
        return go_to(f"/lots/{gid}")

    async def close(self, request: Request) -> Response:
        """POST /sell/{gid}/close: close now, or announce the end."""
        gid, sent = lot_gid(request), await fields(request)
        try:
            version, now = lot_form.version_of(sent.get("version")), sent.get("do") == "now"
            ends_at = None if now else _announced(sent, self._site.language(request))
            # The page has named the winner and the price. Both hold for this state only.
            seen = Precondition(version=version, tags=frozenset({f"{version}-{sent.get('head', '')}"}) if now else None)
            await self._services.tokens.write(auctions.close, session_token(request) or "", gid, ends_at, None, seen)
        except Refusal as refused:
            return await self._manage(request, refused, sent.get("endsAt", ""))
        return go_to(f"/lots/{gid}")

    async def _manage(self, request: Request, refused: Refusal | None = None, announced: str = "") -> Response:
        """Return the seller's own lot, with the actions that are possible, and with the latest refusal (`refused`)."""
        gid, language = lot_gid(request), self._site.language(request)
        if isinstance(refused, AuctionChanged):
            refused = await with_changes(self._services, gid, refused)
        try:
            viewer, (offer, fixed) = await self._site.read(request, _managed, gid)
        except Unauthenticated:
            return go_to(login_address(f"/sell/{gid}"))
        end_fault = self._site.words.field_faults(language, refused).get("endsAt")
        more = {"announced": announced, "end_fault": end_fault}
        if fixed is None:
            form = lot_form.of_auction(offer.auction, [photo.id for photo in offer.photos], language)
            feedback = Feedback(refused=refused, elsewhere=end_fault is not None)
            return await self._form(request, form, feedback, gid=gid, offer=offer, more=more)
        message = None if refused is None or end_fault else self._site.words.refusal(language, refused)
        context = {
            "offer": offer,
            "a": offer.view,
            "gid": gid,
            "why": self._site.words.refusal(language, fixed),
            "message": message,
            "changes": words.changes(language, refused),
            **more,
        }
        return self._site.page(request, "sell_fixed.html", viewer, context, refused=refused)

    async def _step(self, request: Request, sent: Submission, gid: str | None) -> Response:
        """Do the action of the pressed button. A refusal leads back to the form with all its content."""
        token = session_token(request) or ""
        viewer = await self._site.viewer(request)
        if viewer is None:
            return await self._form(request, sent.form, Feedback(refused=Unauthenticated()), gid=gid)
        if OF_ANOTHER_SESSION in request.scope:
            # The form is shown. Nothing is stored or published before it is sent again.
            if sent.files:
                raise ForgeryRefusal
            sent = structs.replace(sent, do="preview" if sent.do == "publish" else sent.do)
        stored, bad = await self._stored(request, sent)
        form = lot_form.with_photos(sent.form, [photo.id for photo in stored])
        offer = None if gid is None else await self._services.database.read(selling.offered, token, gid)
        try:
            if bad or sent.do not in ("preview", "publish"):
                return await self._form(
                    request, _changed(form, sent.do), Feedback(bad_photos=bad), gid=gid, offer=offer
                )
            return await self._go_on(request, viewer, sent, form, offer)
        except AuctionChanged as changed:
            assert gid is not None and offer is not None, "only a lot that exists can have changed"
            told = await with_changes(self._services, gid, changed)
            # This answer names the changes, so the seller has seen them when the form comes again.
            form = lot_form.at_version(form, offer.view.version)
            return await self._form(request, form, Feedback(refused=told), gid=gid, offer=offer)
        except Refusal as refused:
            if offer is not None and not isinstance(refused, Invalid):
                return await self._manage(request, refused)
            return await self._form(request, form, Feedback(refused=refused), gid=gid, offer=offer)

    async def _go_on(
        self, request: Request, seller: Viewer, sent: Submission, form: LotForm, offer: Offer | None
    ) -> Response:
        """Show the preview, or do what the preview has shown."""
        values = lot_form.read(form, CREATE if offer is None else AMEND, self._site.language(request))
        if sent.do == "preview":
            return await self._preview(request, seller, form, values, offer)
        if sent.shown != _digest(form, values):
            # The same form has another meaning in another language, or from another account.
            return await self._preview(request, seller, form, values, offer, refused=TermsChanged())
        return await self._publish(session_token(request) or "", sent, form, values, offer)

    async def _preview(
        self,
        request: Request,
        seller: Viewer,
        form: LotForm,
        values: FormValues,
        offer: Offer | None,
        refused: Refusal | None = None,
    ) -> Response:
        if offer is None:
            draft = Draft(**values.values)
            viewer, made = await self._site.read(request, selling.preview, draft, form.photos)
        else:
            changes = lot_form.changes(offer.auction, form, values.values)
            gid = offer.auction.gid
            viewer, made = await self._site.read(
                request, selling.preview_amended, gid, changes, form.photos, lot_form.seen(form)
            )
        language = self._site.language(request)
        context = {
            "w": form,
            "offer": made,
            "a": made.view,
            "notes": [*([] if refused is None else [language.gettext(NOT_AS_SHOWN)]), *values.notes],
            "shown": _digest(form, values),
            "key": secrets.token_urlsafe(24),
            "gid": None if offer is None else offer.auction.gid,
            "usual_steps": made.auction.ladder == DEFAULT_LADDER,
        }
        return self._site.page(request, "sell_preview.html", viewer, context, refused=refused)

    async def _publish(
        self, token: str, sent: Submission, form: LotForm, values: FormValues, offer: Offer | None
    ) -> Response:
        write = self._services.database.write
        if offer is not None:
            changes = lot_form.changes(offer.auction, form, values.values)
            await write(selling.amend, token, offer.auction.gid, changes, form.photos, lot_form.seen(form))
            return go_to(f"/lots/{offer.auction.gid}")
        asked = digest("POST", "/sell", "", {**values.values, "photos": form.photos})
        once = IdempotencyKey(sent.key, asked) if _KEY.fullmatch(sent.key) else None
        most = self._services.auctions_per_user_max
        made = await write(auctions.create, token, Draft(**values.values), once, tuple(form.photos), most)
        return go_to(f"/lots/{msgspec.json.decode(made, type=_Gid).gid}?listed")

    async def _form(
        self,
        request: Request,
        form: LotForm,
        feedback: Feedback | None = None,
        *,
        gid: str | None = None,
        offer: Offer | None = None,
        more: dict[str, Any] | None = None,
    ) -> Response:
        """Return the form with its content and its faults."""
        feedback, language = feedback or Feedback(), self._site.language(request)
        viewer, pictures = await self._site.read(request, _pictures, form.photos)
        refused = feedback.refused
        faults = {} if feedback.elsewhere else self._site.words.field_faults(language, refused)
        if feedback.bad_photos:
            refused = Invalid.one("photos", "refused", feedback.bad_photos[0])
        message = None
        if feedback.refused is not None and not faults and not feedback.elsewhere:
            logged_out = isinstance(feedback.refused, Unauthenticated)
            message = (
                language.gettext(LOGGED_OUT) if logged_out else self._site.words.refusal(language, feedback.refused)
            )
        context = {
            "w": form,
            "tiers": lot_form.with_spare_rows(form.tiers),
            "faults": faults,
            "problems": [
                (lot_form.anchor(field), lot_form.labelled_fault(language, field, faults[field]))
                for field in lot_form.ordered(faults)
            ],
            "labels": {field: language.gettext(label) for field, label in lot_form.LABELS.items()},
            "more_open": gid is not None or lot_form.has_more_terms(form) or any(map(lot_form.is_more, faults)),
            "message": message,
            "changes": words.changes(language, feedback.refused),
            "bad_photos": feedback.bad_photos,
            "photos": pictures,
            "gid": gid,
            "offer": offer,
            "most": PER_LOT_MAX,
            **({"announced": "", "end_fault": None} | (more or {})),
        }
        return self._site.page(request, "sell.html", viewer, context, refused=refused)

    async def _stored(self, request: Request, sent: Submission) -> tuple[list[Photo], list[str]]:
        """Store the files of a form. Return the photos, and a sentence for each refused file."""
        language, token = self._site.language(request), session_token(request) or ""
        found: list[Photo] = []
        bad: list[str] = []
        for file in sent.files:
            name = (file.filename or "")[:NAME_SHOWN_MAX]
            try:
                if len(sent.form.photos) + len(found) >= PER_LOT_MAX:
                    raise Invalid(
                        {"photo": [TranslatedFault("too_many_photos", language.gettext(FULL, count=PER_LOT_MAX))]}
                    )
                # One byte more than allowed is enough to refuse a file.
                data = await file.read(self._services.photos.bytes_max + 1)
                found.append(await uploads.store(request, self._services.photos, token, sent.sender, data))
            except Refusal as refused:
                why = self._site.words.field_faults(language, refused).get("photo")
                bad.append(Markup("{}: {}").format(name, why or self._site.words.refusal(language, refused)))
        return found, bad

    @asynccontextmanager
    async def _sent(self, request: Request) -> AsyncIterator[Submission]:
        """The form of a request. Its files exist until the end of the block."""
        # A user whose session has ended keeps the texts of the form. A stranger must not fill the disk.
        viewer = await self._site.viewer(request)
        sender = Sender.at(None if viewer is None else viewer.username, client_address(request))
        photos_max = 1 if viewer is None else uploads.FORM_PHOTOS_MAX
        async with uploads.form(request, self._services.photos, sender, photos_max=photos_max) as data:
            yield _read(data, sender)


class _Gid(Struct):
    gid: str


def _read(data: FormData, sender: Sender) -> Submission:
    texts = {name: text for name in lot_form.DEFAULTS if (text := _text(data, name)) is not None}
    rows = zip(data.getlist("tierFrom"), data.getlist("tierStep"), strict=False)
    tiers = [(start, step) for start, step in rows if isinstance(start, str) and isinstance(step, str)]
    ids = dict.fromkeys(one for one in data.getlist("photo") if isinstance(one, str) and GID.fullmatch(one))
    # A field for files in which none was chosen comes as one file without a name.
    files = [one for one in data.getlist("files") if isinstance(one, UploadFile) and one.filename]
    form = LotForm(texts=texts, tiers=tiers, photos=list(ids))
    key, shown = (_text(data, name) or "" for name in ("key", "shown"))
    return Submission(form, _text(data, "do") or "preview", key, shown, files, sender)


def _digest(form: LotForm, values: FormValues) -> str:
    """Return a digest of the content of a preview: the terms by their meaning, not by their spelling."""
    return digest("POST", "/sell", "", {**values.values, "photos": form.photos}).hex()


def _text(data: FormData, name: str) -> str | None:
    found = data.get(name)
    # A browser sends line breaks of a text as CR LF.
    return found.replace("\r\n", "\n") if isinstance(found, str) else None


def _changed(form: LotForm, do: str) -> LotForm:
    """Return the form after a button has moved or removed a photo. Other buttons change nothing."""
    match = _MOVE.fullmatch(do)
    ids = list(form.photos)
    if match is None or match[2] not in ids:
        return form
    place = ids.index(match[2])
    ids.pop(place)
    if match[1] != "remove":
        ids.insert(max(0, place - 1) if match[1] == "earlier" else place + 1, match[2])
    return msgspec.structs.replace(form, photos=ids)


def _announced(sent: dict[str, str], language: Language) -> datetime:
    """Return the announced end. Raises Invalid, field `endsAt`."""
    found = read_local(sent.get("endsAt", "").strip(), sent.get("zone", "UTC"))
    if isinstance(found, Fault):
        raise Invalid({"endsAt": [TranslatedFault(found.code, language.gettext(found.message))]})
    ends_at: datetime = CLOSE.read(msgspec.json.encode({"endsAt": instant(found.at)}))["ends_at"]
    return ends_at


def _now(tx: Transaction, token: str | None) -> datetime:
    return tx.now()


def _pictures(tx: Transaction, token: str | None, ids: Sequence[str]) -> list[Photo]:
    return [] if token is None else photos.own(tx, token, ids)


def _managed(tx: Transaction, token: str | None, gid: str) -> tuple[Offer, Refusal | None]:
    """Return the seller's own lot, and the refusal that prevents a change, if any."""
    offer = selling.offered(tx, token, gid)
    try:
        selling.refuse_unless_amendable(tx, token, gid)
    except Refusal as refused:
        return offer, refused
    return offer, None
