"""The outbox for those who run the house: what waits, what failed and why; and sending it again."""

from __future__ import annotations

from msgspec import Struct
from starlette.responses import Response

from saleroom.http.cursors import CursorKind
from saleroom.http.endpoints import Access, Call, Endpoint, path_number
from saleroom.http.forms import Field, one_of
from saleroom.http.paging import paging
from saleroom.http.responses import LIMIT_DEFAULT, json_response, page_response
from saleroom.kernel.instants import instant
from saleroom.notices.domain.errors import UnknownWord
from saleroom.notices.service import record
from saleroom.notices.services import NoticeServices
from saleroom.outbox.message import State, Word

WORDS = CursorKind("words", int)
_STATES = tuple(State)
_WORD = path_number(UnknownWord, "The word.")


class WordView(Struct, frozen=True, rename="camel"):
    """A word to somebody, as those who run the house see it: never what it says."""

    id: int
    kind: str
    channel: str
    state: State
    receiver: str | None
    about: str | None
    posted_at: str
    due_at: str
    settled_at: str | None
    tries: int
    last_error: str | None


class OutboxPage(Struct, frozen=True, rename="camel"):
    """A page of the outbox, the latest posted first, and how many words there are in each state."""

    words: list[WordView]
    counts: dict[str, int]
    next: str | None


class SentAgainView(Struct, frozen=True):
    """How many words are tried again."""

    again: int


async def listed(call: Call[NoticeServices]) -> Response:
    """GET /staff/outbox."""
    state = call.query.get("state")
    states = _STATES if state is None else (State(state),)
    limit = call.query.get("limit", LIMIT_DEFAULT)
    found = await call.services.database.read(record.page, call.token, states, limit, call.query.get("cursor"))
    cursor = call.services.cursors.next_page(WORDS.within(call.asked), found.following)
    names = found.names
    page = OutboxPage(
        [_view(word, None if word.receiver is None else names.get(word.receiver)) for word in found.words],
        {state.value: count for state, count in found.counts.items()},
        cursor,
    )
    return page_response(call.scope, page, cursor)


async def send_again(call: Call[NoticeServices]) -> Response:
    """POST /staff/outbox/{id}/retry."""
    await call.services.tokens.write(record.send_again, call.token, int(call.identifier))
    return Response(status_code=204)


async def send_all_again(call: Call[NoticeServices]) -> Response:
    """POST /staff/outbox/retry."""
    found = await call.services.tokens.write(record.send_all_again, call.token)
    return json_response(SentAgainView(found))


def _view(word: Word, name: str | None) -> WordView:
    return WordView(
        id=word.id,
        kind=word.kind,
        channel=word.channel,
        state=word.state,
        receiver=name,
        about=word.about,
        posted_at=instant(word.posted_at),
        due_at=instant(word.due_at),
        settled_at=None if word.settled_at is None else instant(word.settled_at),
        tries=word.tries,
        last_error=word.last_error,
    )


ENDPOINTS: tuple[Endpoint[NoticeServices], ...] = (
    Endpoint(
        method="GET",
        path="/staff/outbox",
        name="outbox",
        summary="List the words to people: what waits, what was sent, what failed and why",
        handler=listed,
        tag="staff",
        access=Access.TOKEN,
        query=(
            Field(
                name="state",
                to="state",
                parse=one_of(_STATES),
                schema={"type": "string", "enum": list(_STATES)},
                about="Only words in this state.",
            ),
            *paging(WORDS),
        ),
        answer=OutboxPage,
        about="For those who run the house. Neither the words nor the addresses are shown.",
    ),
    Endpoint(
        method="POST",
        path="/staff/outbox/retry",
        name="sendAllAgain",
        summary="Try all words at once that wait or were given up",
        handler=send_all_again,
        tag="staff",
        access=Access.TOKEN,
        answer=SentAgainView,
        about="Use it when the mail server works again. A word that has arrived may arrive again, with the same Message-ID.",
    ),
    Endpoint(
        method="POST",
        path="/staff/outbox/{id}/retry",
        name="sendAgain",
        summary="Try a word at once that waits or was given up",
        handler=send_again,
        tag="staff",
        identifier=_WORD,
        access=Access.TOKEN,
        status=204,
        errors=(UnknownWord,),
        about="`id` comes from `GET /staff/outbox`.",
    ),
)
