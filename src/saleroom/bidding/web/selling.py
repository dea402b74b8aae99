"""To sell: the form, the preview, publish; and afterwards, one's own lot: amend, cancel, announce its end, close."""

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

from saleroom.accounts.domain.accounts import Account
from saleroom.bidding.api import uploads
from saleroom.bidding.api.conditions import explained
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
from saleroom.bidding.web import drafts, labels
from saleroom.bidding.web.drafts import Read, Written
from saleroom.http.endpoints import digest
from saleroom.http.forgery import OF_ANOTHER_SESSION
from saleroom.http.problems import ForgeryRefused
from saleroom.http.requests import client_address, session_token
from saleroom.kernel.errors import Fault, Invalid, Refused, Unauthenticated
from saleroom.kernel.identifiers import GID, IdempotencyKey
from saleroom.kernel.instants import instant
from saleroom.site import words
from saleroom.site.language import N_, Language, Said
from saleroom.site.local_times import read_local
from saleroom.site.site import Site, fields, go_to, lot_gid, to_log_in
from saleroom.storage.database import Transaction

DAYS, HOUR = 7, time(20)
"""When a new lot ends unless its seller says otherwise: in a week, in the evening."""
NAME_SHOWN_MAX = 80
LOGGED_OUT = N_(
    "You are logged out. Log in once more in another tab, then send this form again: nothing of it is lost."
)
NOT_AS_SHOWN = N_("What you sent is not what the preview showed. Look at it once more.")
FULL = N_("A lot has at most %(count)s photos.")
_MOVE = re.compile(r"(earlier|later|remove) ([A-Za-z0-9_-]{1,64})")
_KEY = re.compile(r"[A-Za-z0-9_-]{20,100}")


class Sent(Struct, frozen=True):
    """A form as it came: what is written in it, which button was pressed, the key of the preview, a digest of what the
    preview showed, files, and from whom.
    """

    written: Written
    do: str
    key: str
    shown: str
    files: list[UploadFile]
    sender: Sender


class Shown(Struct, frozen=True, kw_only=True):
    """What a form is shown with beside what is written in it: why it comes back, and which photos were refused.

    `elsewhere`: what was refused is not of this form, but of another one on the page, which tells it.
    """

    refused: Refused | None = None
    bad_photos: Sequence[str] = ()
    elsewhere: bool = False


class Selling:
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
        return await self._form(request, drafts.empty(ends_at, self._language(request)))

    async def submit(self, request: Request) -> Response:
        """POST /sell: a preview, the form again, or the new lot."""
        async with self._sent(request) as sent:
            return await self._step(request, sent, None)

    async def manage(self, request: Request) -> Response:
        """GET /sell/{gid}: one's own lot as a form, or why it can no longer be changed."""
        return await self._manage(request)

    async def save(self, request: Request) -> Response:
        """POST /sell/{gid}: a preview, the form again, or the lot as amended."""
        async with self._sent(request) as sent:
            return await self._step(request, sent, lot_gid(request))

    async def upload(self, request: Request) -> Response:
        """POST /sell/photos: what scripts send at once, one file; back comes the photo as the form shows it."""
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
            seen = Precondition(version=drafts.version_of(sent.get("version")))
            await self._services.tokens.write(auctions.cancel, session_token(request) or "", gid, seen)
        except Refused as refused:
            return await self._manage(request, refused)
        return go_to(f"/lots/{gid}")

    async def close(self, request: Request) -> Response:
        """POST /sell/{gid}/close: now, or at an end that is announced with it."""
        gid, sent = lot_gid(request), await fields(request)
        try:
            version, now = drafts.version_of(sent.get("version")), sent.get("do") == "now"
            ends_at = None if now else _announced(sent, self._language(request))
            # Who closes now is told who gets the lot at which price: that holds for this state only.
            seen = Precondition(version=version, tags=frozenset({f"{version}-{sent.get('head', '')}"}) if now else None)
            await self._services.tokens.write(auctions.close, session_token(request) or "", gid, ends_at, None, seen)
        except Refused as refused:
            return await self._manage(request, refused, sent.get("endsAt", ""))
        return go_to(f"/lots/{gid}")

    async def _manage(self, request: Request, refused: Refused | None = None, announced: str = "") -> Response:
        """Return one's own lot as it is, with what may be done to it; and what was `refused` of that just now."""
        gid, language = lot_gid(request), self._language(request)
        if isinstance(refused, AuctionChanged):
            refused = await explained(self._services, gid, refused)
        try:
            viewer, (offer, fixed) = await self._site.read(request, _managed, gid)
        except Unauthenticated:
            return go_to(f"/login?next=/sell/{gid}")
        end_fault = words.faults(language, refused).get("endsAt") if isinstance(refused, Invalid) else None
        more = {"announced": announced, "end_fault": end_fault}
        if fixed is None:
            written = drafts.of_auction(offer.auction, [photo.id for photo in offer.photos], language)
            shown = Shown(refused=refused, elsewhere=end_fault is not None)
            return await self._form(request, written, shown, gid=gid, offer=offer, more=more)
        message = None if refused is None or end_fault else words.refusal(language, refused)
        context = {
            "offer": offer,
            "a": offer.view,
            "gid": gid,
            "why": words.refusal(language, fixed),
            "message": message,
            "changes": words.changes(language, refused),
            **more,
        }
        return self._site.page(request, "sell_fixed.html", viewer, context, refused=refused)

    async def _step(self, request: Request, sent: Sent, gid: str | None) -> Response:
        """Do what the pressed button asks for; whatever is refused leads back to the form with all that is in it."""
        token = session_token(request) or ""
        viewer = await self._site.viewer(request)
        if viewer is None:
            return await self._form(request, sent.written, Shown(refused=Unauthenticated()), gid=gid)
        if OF_ANOTHER_SESSION in request.scope:
            # It is shown, and nothing is stored or published before it is sent once more.
            if sent.files:
                raise ForgeryRefused
            sent = structs.replace(sent, do="preview" if sent.do == "publish" else sent.do)
        stored, bad = await self._stored(request, sent)
        written = drafts.with_photos(sent.written, [photo.id for photo in stored])
        offer = None if gid is None else await self._services.database.read(selling.offered, token, gid)
        try:
            if bad or sent.do not in ("preview", "publish"):
                return await self._form(
                    request, _changed(written, sent.do), Shown(bad_photos=bad), gid=gid, offer=offer
                )
            return await self._go_on(request, viewer, sent, written, offer)
        except AuctionChanged as changed:
            assert gid is not None and offer is not None, "a lot that is not there yet has not changed"
            told = await explained(self._services, gid, changed)
            # What the seller is told of now is what they have seen when they send the form once more.
            written = drafts.at_version(written, offer.view.version)
            return await self._form(request, written, Shown(refused=told), gid=gid, offer=offer)
        except Refused as refused:
            if offer is not None and not isinstance(refused, Invalid):
                return await self._manage(request, refused)
            return await self._form(request, written, Shown(refused=refused), gid=gid, offer=offer)

    async def _go_on(
        self, request: Request, seller: Account, sent: Sent, written: Written, offer: Offer | None
    ) -> Response:
        """Show the preview, or do what the preview has shown."""
        read = drafts.read(written, CREATE if offer is None else AMEND, self._language(request))
        if sent.do == "preview":
            return await self._preview(request, seller, written, read, offer)
        if sent.shown != _digest(written, read):
            # In another language, or by another account, the same form says something else than its preview did.
            return await self._preview(request, seller, written, read, offer, refused=TermsChanged())
        return await self._publish(session_token(request) or "", sent, written, read, offer)

    async def _preview(
        self,
        request: Request,
        seller: Account,
        written: Written,
        read: Read,
        offer: Offer | None,
        refused: Refused | None = None,
    ) -> Response:
        if offer is None:
            draft = Draft(**read.values)
            viewer, made = await self._site.read(request, selling.preview, draft, written.photos)
        else:
            changes = drafts.changes(offer.auction, written, read.values)
            gid = offer.auction.gid
            viewer, made = await self._site.read(
                request, selling.preview_amended, gid, changes, written.photos, drafts.seen(written)
            )
        context = {
            "w": written,
            "offer": made,
            "a": made.view,
            "notes": [*([] if refused is None else [self._language(request).gettext(NOT_AS_SHOWN)]), *read.notes],
            "shown": _digest(written, read),
            "key": secrets.token_urlsafe(24),
            "gid": None if offer is None else offer.auction.gid,
            "usual_steps": made.auction.ladder == DEFAULT_LADDER,
        }
        return self._site.page(request, "sell_preview.html", viewer, context, refused=refused)

    async def _publish(self, token: str, sent: Sent, written: Written, read: Read, offer: Offer | None) -> Response:
        write = self._services.database.write
        if offer is not None:
            changes = drafts.changes(offer.auction, written, read.values)
            await write(selling.amend, token, offer.auction.gid, changes, written.photos, drafts.seen(written))
            return go_to(f"/lots/{offer.auction.gid}")
        asked = digest("POST", "/sell", "", {**read.values, "photos": written.photos})
        once = IdempotencyKey(sent.key, asked) if _KEY.fullmatch(sent.key) else None
        most = self._services.auctions_per_user_max
        made = await write(auctions.create, token, Draft(**read.values), once, tuple(written.photos), most)
        return go_to(f"/lots/{msgspec.json.decode(made, type=_Gid).gid}?listed")

    async def _form(
        self,
        request: Request,
        written: Written,
        shown: Shown | None = None,
        *,
        gid: str | None = None,
        offer: Offer | None = None,
        more: dict[str, Any] | None = None,
    ) -> Response:
        """Return the form with what is written in it, and with what was wrong."""
        shown, language = shown or Shown(), self._language(request)
        viewer, pictures = await self._site.read(request, _pictures, written.photos)
        refused = shown.refused
        faults = words.faults(language, refused) if isinstance(refused, Invalid) and not shown.elsewhere else {}
        if shown.bad_photos:
            refused = Invalid.one("photos", "refused", shown.bad_photos[0])
        message = None
        if shown.refused is not None and not faults and not shown.elsewhere:
            logged_out = isinstance(shown.refused, Unauthenticated)
            message = language.gettext(LOGGED_OUT) if logged_out else words.refusal(language, shown.refused)
        context = {
            "w": written,
            "tiers": drafts.with_spare_rows(written.tiers),
            "faults": faults,
            "problems": [
                (labels.anchor(field), labels.problem(language, field, faults[field]))
                for field in labels.ordered(faults)
            ],
            "labels": {field: language.gettext(label) for field, label in labels.LABELS.items()},
            "more_open": gid is not None or drafts.has_more_terms(written) or any(map(labels.is_more, faults)),
            "message": message,
            "changes": words.changes(language, shown.refused),
            "bad_photos": shown.bad_photos,
            "photos": pictures,
            "gid": gid,
            "offer": offer,
            "most": PER_LOT_MAX,
            **({"announced": "", "end_fault": None} | (more or {})),
        }
        return self._site.page(request, "sell.html", viewer, context, refused=refused)

    async def _stored(self, request: Request, sent: Sent) -> tuple[list[Photo], list[str]]:
        """Store the files that came with a form; return their photos, and a sentence for each that was refused."""
        language, token = self._language(request), session_token(request) or ""
        found: list[Photo] = []
        bad: list[str] = []
        for file in sent.files:
            name = (file.filename or "")[:NAME_SHOWN_MAX]
            try:
                if len(sent.written.photos) + len(found) >= PER_LOT_MAX:
                    raise Invalid({"photo": [Said("too_many_photos", language.gettext(FULL, count=PER_LOT_MAX))]})
                # One byte more than allowed is enough to refuse a file.
                data = await file.read(self._services.photos.bytes_max + 1)
                found.append(await uploads.store(request, self._services.photos, token, sent.sender, data))
            except Refused as refused:
                why = words.faults(language, refused).get("photo") if isinstance(refused, Invalid) else None
                bad.append(Markup("{}: {}").format(name, why or words.refusal(language, refused)))
        return found, bad

    @asynccontextmanager
    async def _sent(self, request: Request) -> AsyncIterator[Sent]:
        """The form of a request, with its files for as long as it is looked at."""
        # A user who has been logged out keeps what is written; a stranger does not fill the disk.
        viewer = await self._site.viewer(request)
        sender = Sender.at(None if viewer is None else viewer.username, client_address(request))
        photos_max = 1 if viewer is None else uploads.FORM_PHOTOS_MAX
        async with uploads.form(request, self._services.photos, sender, photos_max=photos_max) as form:
            yield _read(form, sender)

    def _language(self, request: Request) -> Language:
        return self._site.renderer.language(request)


class _Gid(Struct):
    gid: str


def _read(form: FormData, sender: Sender) -> Sent:
    texts = {name: text for name in drafts.DEFAULTS if (text := _text(form, name)) is not None}
    rows = zip(form.getlist("tierFrom"), form.getlist("tierStep"), strict=False)
    tiers = [(start, step) for start, step in rows if isinstance(start, str) and isinstance(step, str)]
    ids = dict.fromkeys(one for one in form.getlist("photo") if isinstance(one, str) and GID.fullmatch(one))
    # A field for files in which none was chosen comes as one file without a name.
    files = [one for one in form.getlist("files") if isinstance(one, UploadFile) and one.filename]
    written = Written(texts=texts, tiers=tiers, photos=list(ids))
    key, shown = (_text(form, name) or "" for name in ("key", "shown"))
    return Sent(written, _text(form, "do") or "preview", key, shown, files, sender)


def _digest(written: Written, read: Read) -> str:
    """Return what tells one preview from another: what is sold, as it is read and not as it is written."""
    return digest("POST", "/sell", "", {**read.values, "photos": written.photos}).hex()


def _text(form: FormData, name: str) -> str | None:
    found = form.get(name)
    # A browser sends line breaks of a text as CR LF.
    return found.replace("\r\n", "\n") if isinstance(found, str) else None


def _changed(written: Written, do: str) -> Written:
    """Return the form once a button has moved or removed a photo; other buttons change nothing."""
    match = _MOVE.fullmatch(do)
    ids = list(written.photos)
    if match is None or match[2] not in ids:
        return written
    place = ids.index(match[2])
    ids.pop(place)
    if match[1] != "remove":
        ids.insert(max(0, place - 1) if match[1] == "earlier" else place + 1, match[2])
    return msgspec.structs.replace(written, photos=ids)


def _announced(sent: dict[str, str], language: Language) -> datetime:
    """Return the end that is announced. Raises Invalid, field `endsAt`."""
    found = read_local(sent.get("endsAt", "").strip(), sent.get("zone", "UTC"))
    if isinstance(found, Fault):
        raise Invalid({"endsAt": [Said(found.code, language.gettext(found.message))]})
    ends_at: datetime = CLOSE.read(msgspec.json.encode({"endsAt": instant(found.at)}))["ends_at"]
    return ends_at


def _now(tx: Transaction, token: str | None) -> datetime:
    return tx.now()


def _pictures(tx: Transaction, token: str | None, ids: Sequence[str]) -> list[Photo]:
    return [] if token is None else photos.own(tx, token, ids)


def _managed(tx: Transaction, token: str | None, gid: str) -> tuple[Offer, Refused | None]:
    """Return one's own lot, and what keeps one from changing it."""
    offer = selling.offered(tx, token, gid)
    try:
        selling.refuse_unless_amendable(tx, token, gid)
    except Refused as refused:
        return offer, refused
    return offer, None
