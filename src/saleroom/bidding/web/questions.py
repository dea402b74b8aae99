"""Questions on a lot's page: asked by its readers, answered or declined by its seller."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import structs
from starlette.requests import Request
from starlette.responses import Response

from saleroom.bidding.api.questions import ANSWER, QUESTION
from saleroom.bidding.domain.errors import UnknownAuction
from saleroom.bidding.service import questions
from saleroom.bidding.services import BiddingServices
from saleroom.bidding.web.bid_form import NUMBER
from saleroom.bidding.web.lots import Asking, LotPages, lot_gid
from saleroom.http.forgery import OF_ANOTHER_SESSION
from saleroom.http.forms import Form
from saleroom.http.problems import ForgeryRefusal
from saleroom.http.requests import session_token
from saleroom.kernel.errors import Declined
from saleroom.site.language import N_
from saleroom.site.site import Site, fields, for_users, go_to, is_fragment

_ANOTHER_LOGIN = N_("You have logged in since this page was opened. Nothing was sent yet: read it once more.")
_ASKED = N_("Your question has been sent. Only you and the seller see it until it is answered here.")
_ANSWERED = N_("Your answer is published.")
_DECLINED = N_("Declined. Only its asker still sees the question, and reads that you do not answer it.")


class QuestionPages:
    """The forms of questions, which are on the pages of lots."""

    def __init__(self, site: Site, services: BiddingServices, lots: LotPages) -> None:
        self._site = site
        self._services = services
        self._lots = lots

    async def ask(self, request: Request) -> Response:
        """POST /lots/{gid}/questions: ask the seller."""
        text = _text(await fields(request))
        return await self._do(request, Asking(text=text), QUESTION, {"text": text}, questions.ask, _ASKED)

    async def answer(self, request: Request) -> Response:
        """POST /lots/{gid}/answers: answer a question, or decline it."""
        sent = await fields(request)
        declined, text, number = sent.get("do") == "decline", _text(sent), sent.get("question", "")
        asking = Asking(number=int(number) if NUMBER.fullmatch(number) else 0, text=text)
        said = {"question": asking.number, "text": None if declined else text}
        return await self._do(request, asking, ANSWER, said, questions.answer, _DECLINED if declined else _ANSWERED)

    @for_users
    async def _do(
        self,
        request: Request,
        asking: Asking,
        form: Form,
        sent: dict[str, Any],
        use_case: Callable[..., Any],
        done: str,
    ) -> Response:
        gid, language = lot_gid(request), self._site.language(request)
        try:
            if OF_ANOTHER_SESSION in request.scope and session_token(request) is not None:
                raise ForgeryRefusal(language.gettext(_ANOTHER_LOGIN))
            values = form.read(msgspec.json.encode(sent))
            await self._services.tokens.write(use_case, session_token(request) or "", gid, *values.values())
        except UnknownAuction:
            raise
        except Declined as refused:
            fault = self._site.words.field_faults(language, refused).get("text")
            told = (
                refused.message if isinstance(refused, ForgeryRefusal) else self._site.words.refusal(language, refused)
            )
            message = None if fault else told
            return await self._lots.asked(request, structs.replace(asking, fault=fault, message=message), refused)
        if not is_fragment(request):
            return go_to(f"/lots/{gid}#lot-questions")
        return await self._lots.asked(request, Asking(number=asking.number, done=language.gettext(done)))


def _text(sent: dict[str, str]) -> str:
    return sent.get("text", "").replace("\r\n", "\n")
