"""The private link to the calendar of one's watch list: read without a login, renewed, and ended."""

import re
from datetime import timedelta
from typing import cast

import feedparser  # type: ignore[import-untyped]  # it has none
import httpx
import pytest
from icalendar import Calendar
from structlog.testing import capture_logs

from saleroom.accounts.domain.rights import Role
from saleroom.accounts.domain.sanctions import Sanction
from saleroom.accounts.service import erasures, sanctions
from saleroom.areas import forget
from saleroom.bidding.storage.tables import calendar_links
from saleroom.http.front import Front
from saleroom.storage.database import Transaction
from tests.bidding.web.seller import Come
from tests.fixtures_house import House, User

SOON = "2126-01-01T12:00:00Z"


@pytest.fixture
def house(sqlite_house: House) -> House:
    """A house on SQLite: nothing here depends on the database."""
    return sqlite_house


def made(user: User) -> tuple[str, str]:
    """The addresses of a new link of a user."""
    answer = user.json("POST", "/me/calendar")
    return answer["calendar"], answer["feed"]


def uids(answer: httpx.Response) -> set[str]:
    """The dates of a calendar."""
    assert 200 == answer.status_code
    return {str(one["uid"]) for one in Calendar.from_ical(answer.content).walk("VEVENT")}


def test_a_private_link_shows_what_one_watches(house: House) -> None:
    """Without a login a program reads the watched lots and no others, hidden ones neither; no cache shares the answer."""
    seller, user = house.newcomer(), house.newcomer()
    gid, hidden, other = (seller.auction(name=name, endsAt=SOON) for name in ("Clock", "Vase", "Chair"))
    for one in (gid, hidden):
        user.json("PUT", f"/auctions/{one}/watch")
    calendar, feed = made(user)
    assert {f"{gid}.end@saleroom", f"{hidden}.end@saleroom"} == uids(house.plain.get(calendar))
    house.staff(Role.OWNER).json("PUT", f"/auctions/{hidden}/hiding", json={"reason": "It may be stolen."})
    answer = house.plain.get(calendar)
    assert {f"{gid}.end@saleroom"} == uids(answer)
    assert ("private, no-cache", "same-origin") == tuple(
        answer.headers[name] for name in ("Cache-Control", "Referrer-Policy")
    )
    assert 304 == house.plain.get(calendar, headers={"If-None-Match": answer.headers["etag"]}).status_code
    found = feedparser.parse(house.plain.get(feed).content)
    assert (["Clock"], "Watch list") == ([entry.title for entry in found.entries], found.feed.title)
    assert other not in answer.text


def test_a_link_is_kept_as_a_digest_renewed_and_ended(house: House) -> None:
    """A new link ends the one before, and ending ends both addresses; the database holds no link."""
    user = house.newcomer()
    assert {"createdAt": None} == user.json("GET", "/me/calendar")
    first, (second, feed) = made(user)[0], made(user)
    assert (404, 200) == tuple(house.plain.get(one).status_code for one in (first, second))
    stored = house.write(lambda tx: [row.token for row in tx.execute(calendar_links.select())])
    assert not [one for one in stored if one in second]
    assert user.json("GET", "/me/calendar")["createdAt"] is not None
    user.json("DELETE", "/me/calendar")
    user.json("DELETE", "/me/calendar")
    assert {404} == {house.plain.get(one).status_code for one in (second, feed)}
    refused = house.plain.get(second, headers={"Accept": "text/html"})
    assert "This calendar is no longer here" in refused.text
    odd = (
        second.replace(".ics", "x.ics"),
        f"/watchlist/{'a' * 43}.ics",
        "/watchlist/%00.ics",
        f"/watchlist/{'ü' * 43}.atom",
    )
    assert {404} == {house.plain.get(one).status_code for one in odd}


@pytest.mark.parametrize("what", ["banned", "suspended", "erased"])
def test_the_link_of_somebody_barred_is_dead(house: House, what: str) -> None:
    """Nobody reads on by the link of a user who is banned, suspended or erased; it lives again when the bar is lifted."""
    user = house.newcomer()
    calendar, _ = made(user)

    def bar(tx: Transaction) -> None:
        if what == "erased":
            erasures.erase_by_house(tx, user.name, "Asked for it.", forget)
        elif what == "banned":
            sanctions.impose(tx, user.name, Sanction.BAN, "Spam.")
        else:
            sanctions.impose(tx, user.name, Sanction.SUSPENSION, "Spam.", timedelta(days=1))

    house.write(bar)
    assert 404 == house.plain.get(calendar).status_code
    if what == "banned":
        house.write(sanctions.pardon, user.name, "A mistake.")
        assert 200 == house.plain.get(calendar).status_code


def test_the_page_makes_a_link_and_ends_it(come: Come, house: House) -> None:
    """On the page of watched lots one click makes a link, which is shown once, and one click ends it."""
    visitor = come(house.newcomer())
    page = visitor.page("/mine/watching")
    answer = visitor.send(page, "/mine/watching/calendar")
    assert "no-store" == answer.headers["cache-control"]
    [address] = re.findall(r'value="(https?://[^"]+\.ics)"', answer.text)
    path = "/watchlist/" + address.rpartition("/")[2]
    assert set() == uids(house.plain.get(path))
    page = visitor.page("/mine/watching")
    assert "You have had a link since" in page.main
    assert path not in page.main
    visitor.sent(page, "/mine/watching/calendar/end")
    assert 404 == house.plain.get(path).status_code


def test_no_log_line_shows_a_link(house: House) -> None:
    """Where the house fails at such an address, the log says which page it was, without the secret."""
    calendar, _ = made(house.newcomer())
    with capture_logs() as said:
        Front.refused(cast("Front", None), {"method": "GET", "path": calendar}, RuntimeError())
    assert ["/watchlist/[hidden].ics"] == [line["path"] for line in said]
