"""Forms of sellers as they arrive: received with their files, whose photos are stored."""

from __future__ import annotations

import re
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime

import msgspec
from markupsafe import Markup
from msgspec import Struct, structs
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request

from saleroom.bidding.api import uploads
from saleroom.bidding.api.terms import CLOSE
from saleroom.bidding.domain.errors import PhotosUnavailable
from saleroom.bidding.domain.photos import PER_LOT_MAX, Photo
from saleroom.bidding.service.places import Sender
from saleroom.bidding.services import BiddingServices
from saleroom.bidding.web import lot_form
from saleroom.bidding.web.lot_form import FormValues, LotForm
from saleroom.http.endpoints import digest
from saleroom.http.requests import client_address, session_token
from saleroom.kernel.errors import Fault, Invalid, MissingRight, Refusal
from saleroom.kernel.identifiers import GID, GID_BYTES
from saleroom.kernel.instants import instant
from saleroom.site.language import N_, Language, TranslatedFault
from saleroom.site.local_times import read_local
from saleroom.site.site import Site

NAME_SHOWN_MAX = 80
FULL = N_("A lot has at most %(count)s photos.")
_MOVE = re.compile(r"(earlier|later|remove) ([A-Za-z0-9_-]{1,64})")


def new_draft() -> str:
    """Return the gid of a new draft."""
    return secrets.token_urlsafe(GID_BYTES)


class Submission(Struct, frozen=True):
    """A form as it arrived: `do` is the pressed button, `key` that of the preview, `shown` a digest of what it showed.

    `draft` is the gid of its draft.
    """

    form: LotForm
    do: str
    key: str
    shown: str
    draft: str
    files: list[UploadFile]
    sender: Sender


class StoredFiles(Struct, frozen=True):
    """The photos of a form's files, and a sentence for each refused file.

    `refused` gives the answer its status. A refusal that is not about a file comes before those that are.
    """

    photos: list[Photo]
    sentences: list[str]
    refused: Refusal | None


NO_FILES = StoredFiles([], [], None)


@asynccontextmanager
async def received(
    site: Site, services: BiddingServices, request: Request, draft: str = ""
) -> AsyncIterator[Submission]:
    """The form of a request. Its files exist until the end of the block."""
    # A user whose session has ended keeps the texts of the form. A stranger must not fill the disk.
    viewer = await site.viewer(request)
    sender = Sender.at(None if viewer is None else viewer.username, client_address(request))
    photos_max = 1 if viewer is None else uploads.FORM_PHOTOS_MAX
    async with uploads.form(request, services.photos, sender, photos_max=photos_max) as data:
        sent_draft = _text(data, "draft") or ""
        yield _read(data, sender, draft or (sent_draft if GID.fullmatch(sent_draft) else new_draft()))


async def stored(site: Site, services: BiddingServices, request: Request, sent: Submission) -> StoredFiles:
    """Store the files of a form. Raises MissingRight."""
    language, token = site.language(request), session_token(request) or ""
    found: list[Photo] = []
    sentences: list[str] = []
    refusals: list[Refusal] = []
    for file in sent.files:
        name = (file.filename or "")[:NAME_SHOWN_MAX]
        try:
            if refusals and isinstance(refusals[-1], PhotosUnavailable):
                raise refusals[-1]  # Another try could take as long again, and the seller would wait for each.
            if len(sent.form.photos) + len(found) >= PER_LOT_MAX:
                raise Invalid(
                    {"photo": [TranslatedFault("too_many_photos", language.gettext(FULL, count=PER_LOT_MAX))]}
                )
            # One byte more than allowed is enough to refuse a file.
            data = await file.read(services.photos.bytes_max + 1)
            found.append(await uploads.store(request, services.photos, token, sent.sender, data))
        except MissingRight:
            raise
        except Refusal as refused:
            why = site.words.field_faults(language, refused).get("photo")
            sentences.append(Markup("{}: {}").format(name, why or site.words.refusal(language, refused)))
            refusals.append(refused)
    worst = min(refusals, key=lambda one: isinstance(one, Invalid), default=None)
    return StoredFiles(found, sentences, worst)


def _read(data: FormData, sender: Sender, draft: str) -> Submission:
    texts = {name: text for name in lot_form.DEFAULTS if (text := _text(data, name)) is not None}
    rows = zip(data.getlist("tierFrom"), data.getlist("tierStep"), strict=False)
    tiers = [(start, step) for start, step in rows if isinstance(start, str) and isinstance(step, str)]
    ids = dict.fromkeys(one for one in data.getlist("photo") if isinstance(one, str) and GID.fullmatch(one))
    # A field for files in which none was chosen comes as one file without a name.
    files = [one for one in data.getlist("files") if isinstance(one, UploadFile) and one.filename]
    form = LotForm(texts=texts, tiers=tiers, photos=list(ids))
    key, shown = (_text(data, name) or "" for name in ("key", "shown"))
    return Submission(form, _text(data, "do") or "preview", key, shown, draft, files, sender)


def shown_digest(form: LotForm, values: FormValues) -> str:
    """Return a digest of the content of a preview: the terms by their meaning, not by their spelling."""
    return digest("POST", "/sell", "", {**values.values, "photos": form.photos}).hex()


def changed(form: LotForm, do: str) -> LotForm:
    """Return the form after a button has moved or removed a photo. Other buttons change nothing."""
    match = _MOVE.fullmatch(do)
    ids = list(form.photos)
    if match is None or match[2] not in ids:
        return form
    place = ids.index(match[2])
    ids.pop(place)
    if match[1] != "remove":
        ids.insert(max(0, place - 1) if match[1] == "earlier" else place + 1, match[2])
    return structs.replace(form, photos=ids)


def announced(sent: dict[str, str], language: Language) -> datetime:
    """Return the announced end. Raises Invalid, field `endsAt`."""
    found = read_local(sent.get("endsAt", "").strip(), sent.get("zone", "UTC"))
    if isinstance(found, Fault):
        raise Invalid({"endsAt": [TranslatedFault(found.code, language.gettext(found.message))]})
    ends_at: datetime = CLOSE.read(msgspec.json.encode({"endsAt": instant(found.at)}))["ends_at"]
    return ends_at


def _text(data: FormData, name: str) -> str | None:
    found = data.get(name)
    # A browser sends line breaks of a text as CR LF.
    return found.replace("\r\n", "\n") if isinstance(found, str) else None
