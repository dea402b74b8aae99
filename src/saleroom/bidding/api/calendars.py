"""The private link to the calendar of the user's watch list: whether there is one, a new one, and its end."""

from __future__ import annotations

from msgspec import Struct
from starlette.responses import Response

from saleroom.bidding.service import calendars
from saleroom.bidding.services import BiddingServices
from saleroom.http.endpoints import Access, Call, Endpoint
from saleroom.http.responses import json_response
from saleroom.kernel.instants import maybe_instant

PATH = "/watchlist/"
_PRIVATE = {"Cache-Control": "no-store"}


class CalendarView(Struct, frozen=True, rename="camel"):
    """When the private link was made, or null without one. The link itself is shown once."""

    created_at: str | None


class NewCalendarView(Struct, frozen=True):
    """The addresses that the new link leads to, on this house: of the calendar, and of the feed."""

    calendar: str
    feed: str


def addresses(link: str) -> NewCalendarView:
    """Return the addresses of a link."""
    return NewCalendarView(f"{PATH}{link}.ics", f"{PATH}{link}.atom")


async def show(call: Call[BiddingServices]) -> Response:
    """GET /me/calendar."""
    made = await call.services.database.read(calendars.made_at, call.token)
    return json_response(CalendarView(maybe_instant(made)), 200, _PRIVATE)


async def make(call: Call[BiddingServices]) -> Response:
    """POST /me/calendar."""
    link = await call.services.tokens.write(calendars.renew, call.token)
    return json_response(addresses(link), 201, _PRIVATE)


async def end(call: Call[BiddingServices]) -> Response:
    """DELETE /me/calendar."""
    await call.services.tokens.write(calendars.end, call.token)
    return Response(status_code=204)


ENDPOINTS: tuple[Endpoint[BiddingServices], ...] = (
    Endpoint(
        method="GET",
        path="/me/calendar",
        name="myCalendar",
        summary="Say whether my watch list has a private calendar",
        handler=show,
        tag="accounts",
        access=Access.TOKEN,
        answer=CalendarView,
        about="The house keeps only the digest of the link, so it cannot be shown again.",
    ),
    Endpoint(
        method="POST",
        path="/me/calendar",
        name="makeCalendar",
        summary="Make a private link to the calendar of my watch list",
        handler=make,
        tag="accounts",
        access=Access.TOKEN,
        status=201,
        answer=NewCalendarView,
        about="Anyone with the link reads what I watch, and can do nothing else. The link before leads nowhere from now on.",
    ),
    Endpoint(
        method="DELETE",
        path="/me/calendar",
        name="endCalendar",
        summary="End the private link to the calendar of my watch list",
        handler=end,
        tag="accounts",
        access=Access.TOKEN,
        status=204,
        about="It is no error if there is none.",
    ),
)
