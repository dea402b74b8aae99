"""The pages of a seller: write, preview and publish a lot; then amend it, cancel it, announce its end, or close it."""

from __future__ import annotations

import re
import secrets
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, time, timedelta
from typing import Any

import msgspec
from msgspec import Struct, structs
from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.domain.rights import Sellers
from saleroom.bidding.api.auctions import gid_of
from saleroom.bidding.api.preconditions import with_changes
from saleroom.bidding.api.remarks import REMARK
from saleroom.bidding.api.terms import AMEND, CREATE
from saleroom.bidding.domain.drafts import SavedDraft
from saleroom.bidding.domain.errors import AuctionChanged, TermsChanged, UnknownAuction
from saleroom.bidding.domain.increments import DEFAULT_LADDER
from saleroom.bidding.domain.photos import PER_LOT_MAX, Photo
from saleroom.bidding.domain.preconditions import Precondition
from saleroom.bidding.domain.remarks import REMARK_CHARACTERS_MAX
from saleroom.bidding.domain.selling import Draft
from saleroom.bidding.service import auctions, drafts, lot, photos, remarks, selling
from saleroom.bidding.service.selling import Offer
from saleroom.bidding.services import BiddingServices
from saleroom.bidding.web import lot_form, submissions, words
from saleroom.bidding.web.drafts import DraftPages, address, draft_gid, draft_rows
from saleroom.bidding.web.lot_form import FormValues, LotForm
from saleroom.bidding.web.lots import lot_gid
from saleroom.bidding.web.submissions import Submission, announced, changed, new_draft, shown_digest
from saleroom.http.endpoints import digest
from saleroom.http.forgery import OF_ANOTHER_SESSION
from saleroom.http.problems import ForgeryRefusal
from saleroom.http.requests import session_token
from saleroom.kernel.errors import Invalid, Refusal, Unauthenticated
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.site.language import N_
from saleroom.site.site import Site, fields, go_to
from saleroom.storage.database import Transaction

DAYS, HOUR = 7, time(20)
"""The suggested end of a new lot: in a week, in the evening."""
LOGGED_OUT = N_("You are logged out. Log in again in another tab, then send this form again. Nothing is lost.")
TOO_MANY = N_("You have too many drafts, so this form was not saved as one. Put one on sale or delete one.")
NOT_AS_SHOWN = N_("What you sent differs from the preview. Check it again.")
_KEY = re.compile(r"[A-Za-z0-9_-]{20,100}")


class Feedback(Struct, frozen=True, kw_only=True):
    """The messages beside a form: why it comes back, and which of its `files` were refused.

    `elsewhere`: the refusal belongs to another form on the page, which shows it. `saved`: it is a draft.
    """

    refused: Refusal | None = None
    files: submissions.StoredFiles = submissions.NO_FILES
    elsewhere: bool = False
    saved: bool = True


class SellingPages:
    """The pages of a seller."""

    def __init__(self, site: Site, services: BiddingServices, drafts: DraftPages) -> None:
        self._site = site
        self._services = services
        self._drafts = drafts

    async def form(self, request: Request) -> Response:
        """GET /sell: a new form, at the address of its draft, so that the way back from the preview leads to it."""
        viewer, _ = await self._site.read(request, _offering, self._services.sellers)
        return self._site.to_log_in(request) if viewer is None else go_to(f"/sell/drafts/{new_draft()}")

    async def draft(self, request: Request) -> Response:
        """GET /sell/drafts/{draft}: the form as its seller left it, or a new one.

        With the gid of an unsold lot, the new one has the terms of that lot.
        """
        gid = draft_gid(request)
        viewer, now = await self._site.read(request, _offering, self._services.sellers)
        if viewer is None:
            return self._site.to_log_in(request)
        found = await self._drafts.saved(request, gid)
        # A draft of changes to a lot has the version of the lot.
        if found is not None and not found["version"]:
            return await self._form(request, found, gid)
        ends_at, language = datetime.combine(now.date() + timedelta(days=DAYS), HOUR), self._site.language(request)
        try:
            offer = await self._offer(request, gid)
        except UnknownAuction:
            return await self._form(request, lot_form.empty(ends_at, language), gid)
        if offer is None or not offer.auction.unsold:
            return go_to(f"/sell/{gid}")
        form = lot_form.offered_again(offer.auction, [photo.id for photo in offer.photos], ends_at, language)
        return await self._form(request, form, gid, more={"again": gid})

    async def preview(self, request: Request) -> Response:
        """GET /sell/drafts/{draft}/preview and /sell/{gid}/preview: the lot as its draft would make it."""
        gid = lot_gid(request) if "gid" in request.path_params else None
        draft = gid or draft_gid(request)
        viewer = await self._site.viewer(request)
        if viewer is None:
            return self._site.to_log_in(request)
        form = await self._drafts.saved(request, draft)
        if form is None or bool(form["version"]) != (gid is not None):
            return go_to(address(gid, draft))
        offer = await self._offer(request, gid)

        async def show() -> Response:
            values = lot_form.read(form, CREATE if gid is None else AMEND, self._site.language(request))
            return await self._preview(request, form, draft, values, offer)

        return await self._or_form(request, form, draft, offer, show)

    async def submit(self, request: Request) -> Response:
        """POST /sell: a preview, the form again, or the new lot."""
        async with submissions.received(self._site, self._services, request) as sent:
            return await self._step(request, sent, None)

    async def manage(self, request: Request) -> Response:
        """GET /sell/{gid}: the seller's own lot as a form, or why it can no longer be changed."""
        return await self._manage(request)

    async def save(self, request: Request) -> Response:
        """POST /sell/{gid}: a preview, the form again, or the lot as amended."""
        async with submissions.received(self._site, self._services, request, lot_gid(request)) as sent:
            return await self._step(request, sent, lot_gid(request))

    async def upload(self, request: Request) -> Response:
        """POST /sell/photos: a script sends one file, and gets the photo as the form shows it."""
        async with submissions.received(self._site, self._services, request) as sent:
            viewer = await self._site.viewer(request)
            if viewer is None:
                raise Unauthenticated
            files = await submissions.stored(self._site, self._services, request, sent)
            context = {"photos": files.photos, "bad_photos": files.sentences}
            return self._site.page(request, "parts/sell_photos.html", viewer, context, refused=files.refused)

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
            ends_at = None if now else announced(sent, self._site.language(request))
            # The page has named the winner and the price. Both hold for this state only.
            seen = Precondition(version=version, tags=frozenset({f"{version}-{sent.get('head', '')}"}) if now else None)
            await self._services.tokens.write(auctions.close, session_token(request) or "", gid, ends_at, None, seen)
        except Refusal as refused:
            return await self._manage(request, refused, sent.get("endsAt", ""))
        return go_to(f"/lots/{gid}")

    async def remark(self, request: Request) -> Response:
        """POST /sell/{gid}/remark: add a remark to a lot that can no longer be changed."""
        gid, sent = lot_gid(request), await fields(request)
        text = sent.get("text", "").replace("\r\n", "\n")
        try:
            values = REMARK.read(msgspec.json.encode({"text": text}))
            await self._services.tokens.write(remarks.add, session_token(request) or "", gid, values["text"])
        except Refusal as refused:
            return await self._manage(request, refused, remark=text)
        return go_to(f"/lots/{gid}#remarks")

    async def _manage(
        self, request: Request, refused: Refusal | None = None, announced: str = "", remark: str = ""
    ) -> Response:
        """Return the seller's own lot, with the actions that are possible, and with the latest refusal (`refused`)."""
        gid, language = lot_gid(request), self._site.language(request)
        if isinstance(refused, AuctionChanged):
            refused = await with_changes(self._services, gid, refused)
        try:
            viewer, (offer, fixed) = await self._site.read(request, _managed, gid)
        except Unauthenticated:
            return go_to(self._site.login_address(f"/sell/{gid}"))
        faults, asks = self._site.words.field_faults(language, refused), _asked(offer)
        end_fault = faults.get("endsAt") if "endsAt" in asks else None
        more: dict[str, Any] = {"announced": announced, "end_fault": end_fault}
        if fixed is None:
            saved = None if refused else await self._drafts.saved(request, gid)
            form = saved or lot_form.of_auction(offer.auction, [photo.id for photo in offer.photos], language)
            feedback = Feedback(refused=refused, elsewhere=end_fault is not None)
            more["unsaved"] = saved is not None
            return await self._form(request, form, gid, feedback, offer=offer, more=more)
        context = {
            "offer": offer,
            "a": offer.view,
            "gid": gid,
            "why": self._site.words.refusal(language, fixed),
            "message": self._site.words.above(language, refused, asks),
            "changes": words.changes(language, refused),
            "remarks": await self._services.database.read(remarks.of_lot, gid),
            "remark": remark,
            "remark_fault": faults.get("text"),
            "remark_most": REMARK_CHARACTERS_MAX,
            **more,
        }
        return self._site.page(request, "sell_fixed.html", viewer, context, refused=refused)

    async def _step(self, request: Request, sent: Submission, gid: str | None) -> Response:
        """Do the action of the pressed button. A refusal leads back to the form with all its content."""
        viewer = await self._site.viewer(request)
        if viewer is None:
            return await self._form(request, sent.form, sent.draft, Feedback(refused=Unauthenticated()), gid=gid)
        if OF_ANOTHER_SESSION in request.scope:
            # The form is shown. Nothing is stored or published before it is sent again.
            if sent.files:
                raise ForgeryRefusal
            sent = structs.replace(sent, do="preview" if sent.do == "publish" else sent.do)
        files = await submissions.stored(self._site, self._services, request, sent)
        form = changed(lot_form.with_photos(sent.form, [photo.id for photo in files.photos]), sent.do)
        offer = await self._offer(request, gid)
        if sent.do == "publish" and not files.refused:
            return await self._or_form(
                request, form, sent.draft, offer, lambda: self._go_on(request, sent, form, offer)
            )
        saved = await self._drafts.save(request, sent.draft, form)
        if files.refused or sent.do not in ("preview", "edit"):
            return await self._form(request, form, sent.draft, Feedback(files=files, saved=saved), offer=offer)
        if sent.do == "edit":
            if saved:
                return go_to(address(gid, sent.draft))
            return await self._form(request, form, sent.draft, Feedback(saved=saved), offer=offer)

        async def show() -> Response:
            values = lot_form.read(form, CREATE if offer is None else AMEND, self._site.language(request))
            shown = await self._preview(request, form, sent.draft, values, offer)
            return go_to(f"{address(gid, sent.draft)}/preview") if saved else shown

        return await self._or_form(request, form, sent.draft, offer, show)

    async def _or_form(
        self,
        request: Request,
        form: LotForm,
        draft: str,
        offer: Offer | None,
        answer: Callable[[], Awaitable[Response]],
    ) -> Response:
        """Return the answer. If it is refused, return the form with all its content and the refusal."""
        try:
            return await answer()
        except AuctionChanged as changed:
            assert offer is not None, "only a lot that exists can have changed"
            told = await with_changes(self._services, offer.auction.gid, changed)
            # This answer names the changes, so the seller has seen them when the form comes again.
            form = lot_form.at_version(form, offer.view.version)
            return await self._form(request, form, draft, Feedback(refused=told), offer=offer)
        except Refusal as refused:
            if offer is not None and not isinstance(refused, Invalid):
                return await self._manage(request, refused)
            return await self._form(request, form, draft, Feedback(refused=refused), offer=offer)

    async def _go_on(self, request: Request, sent: Submission, form: LotForm, offer: Offer | None) -> Response:
        """Do what the preview has shown."""
        values = lot_form.read(form, CREATE if offer is None else AMEND, self._site.language(request))
        if sent.shown != shown_digest(form, values):
            # The same form has another meaning in another language, or from another account.
            return await self._preview(request, form, sent.draft, values, offer, refused=TermsChanged())
        return await self._publish(session_token(request) or "", sent, form, values, offer)

    async def _preview(
        self,
        request: Request,
        form: LotForm,
        draft: str,
        values: FormValues,
        offer: Offer | None,
        refused: Refusal | None = None,
    ) -> Response:
        gid, rules = None if offer is None else offer.auction.gid, self._services.offering
        if offer is None:
            viewer, made = await self._site.read(request, selling.preview, Draft(**values.values), form.photos, rules)
        else:
            wanted = (offer.auction.gid, lot_form.amendment(offer.auction, form, values.values), rules.categories)
            viewer, made = await self._site.read(request, selling.preview_amended, *wanted)
        language = self._site.language(request)
        context = {
            "w": form,
            "offer": made,
            "a": made.view,
            "lot": lot.as_bidders_see(made.auction, made.photos),
            "notes": [*([] if refused is None else [language.gettext(NOT_AS_SHOWN)]), *values.notes],
            "shown": shown_digest(form, values),
            "key": secrets.token_urlsafe(24),
            "gid": gid,
            "draft": draft,
            "usual_steps": made.auction.ladder == DEFAULT_LADDER,
        }
        return self._site.page(request, "sell_preview.html", viewer, context, refused=refused)

    async def _publish(
        self, token: str, sent: Submission, form: LotForm, values: FormValues, offer: Offer | None
    ) -> Response:
        write, rules = self._services.database.write, self._services.offering
        if offer is not None:
            gid, wanted = offer.auction.gid, lot_form.amendment(offer.auction, form, values.values)
            await write(selling.amend, token, gid, wanted, rules.categories)
            return go_to(f"/lots/{gid}")
        asked = digest("POST", "/sell", "", {**values.values, "photos": form.photos})
        once = IdempotencyKey(sent.key, asked) if _KEY.fullmatch(sent.key) else None
        made = await write(selling.publish, token, sent.draft, Draft(**values.values), once, form.photos, rules)
        return go_to(f"/lots/{gid_of(made)}?listed")

    async def _offer(self, request: Request, gid: str | None) -> Offer | None:
        """Return the seller's own lot, or None for a new one. Raises as `selling.offered`."""
        return None if gid is None else await self._services.database.read(selling.offered, session_token(request), gid)

    async def _form(
        self,
        request: Request,
        form: LotForm,
        draft: str,
        feedback: Feedback | None = None,
        *,
        gid: str | None = None,
        offer: Offer | None = None,
        more: dict[str, Any] | None = None,
    ) -> Response:
        """Return the form with its content and its faults."""
        feedback, language = feedback or Feedback(), self._site.language(request)
        gid = gid if offer is None else offer.auction.gid
        viewer, (pictures, saved) = await self._site.read(request, _pictures_and_drafts, form.photos)
        refused = feedback.refused or feedback.files.refused
        faults = {} if feedback.elsewhere else self._site.words.field_faults(language, feedback.refused)
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
            "bad_photos": feedback.files.sentences,
            "photos": pictures,
            "gid": gid,
            "draft": draft,
            "drafts": [] if gid is not None else draft_rows(saved, but=draft),
            "too_many": None if feedback.saved else language.gettext(TOO_MANY),
            "offer": offer,
            "most": PER_LOT_MAX,
            "choices": self._services.category_choices(form["category"]),
            **({"announced": "", "end_fault": None, "unsaved": False, "again": None} | (more or {})),
        }
        return self._site.page(request, "sell.html", viewer, context, refused=refused)


def _offering(tx: Transaction, token: str | None, sellers: Sellers) -> datetime:
    """Return the time. Raises as `service.selling.refuse_to_offer` if the reader is logged in and may not offer lots."""
    if token is not None:
        selling.refuse_to_offer(tx, token, sellers)
    return tx.now()


def _pictures_and_drafts(
    tx: Transaction, token: str | None, ids: Sequence[str]
) -> tuple[list[Photo], list[SavedDraft]]:
    return ([], []) if token is None else (photos.own(tx, token, ids), drafts.newest(tx, token))


def _asked(offer: Offer) -> tuple[str, ...]:
    """Return the fields that the page of a lot asks for beside its terms: none once it is over, no end if it has one."""
    if offer.auction.over:
        return ()
    return ("text",) if offer.view.ends_at is not None else ("text", "endsAt")


def _managed(tx: Transaction, token: str | None, gid: str) -> tuple[Offer, Refusal | None]:
    """Return the seller's own lot, and the refusal that prevents a change, if any."""
    offer = selling.offered(tx, token, gid)
    try:
        selling.refuse_unless_amendable(tx, token, gid)
    except Refusal as refused:
        return offer, refused
    return offer, None
