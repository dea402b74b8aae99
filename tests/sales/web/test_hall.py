"""The hall of a live sale: the stream of the block, its pages, and a bid that takes the ask."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import httpx
import pytest

from saleroom.accounts.domain.rights import Role
from saleroom.sales.service.live import blocks, hall
from saleroom.sales.service.live.hall import Hall
from saleroom.storage.database import Transaction
from tests.fixtures_house import House, User, settings_for
from tests.patience import SECONDS_MAX
from tests.sales.live_sale import LiveSale, block_in

pytestmark = pytest.mark.databases("sqlite")


def text_of(html: str) -> str:
    """Return the words of a page."""
    return " ".join(re.sub("<[^>]+>", " ", html.replace("\ndata: ", " ")).split())


def test_a_follower_gets_the_block_after_each_change(house: House) -> None:
    """The stream begins with the whole state, and sends it again after acts, online bids, a pause and the end."""
    sale = LiveSale(house, 1)
    bidder = sale.bidder()
    with sale.follow() as messages:
        assert "published" == block_in(next(messages))["status"]
        sale.act("call")
        shown = next(one for one in map(block_in, messages) if one["onBlock"])
        assert ("called", "10.000") == (
            shown["onBlock"]["auction"]["stage"],
            shown["onBlock"]["auction"]["minimumBid"],
        )
        bidder.bid(sale.lots[0], amount="10")
        assert "15.000" == block_in(next(messages))["onBlock"]["auction"]["minimumBid"]
        sale.act("warn")
        assert "fair_warning" == block_in(next(messages))["onBlock"]["auction"]["stage"]
        sale.staff.json("POST", f"/sales/{sale.gid}/pause")
        assert "paused" == block_in(next(messages))["status"]
        sale.staff.json("POST", f"/sales/{sale.gid}/resume")
        assert "running" == block_in(next(messages))["status"]
        sale.act("ask", amount="16")
        assert "16.000" == block_in(next(messages))["onBlock"]["auction"]["minimumBid"]
        sale.act("sell_conditionally")
        last = block_in(next(messages))
        assert "conditional" == last["lastLot"]["auction"]["outcome"]
        sale.act("end")
        assert "closed" == block_in(next(messages))["status"]
        assert "event: over" in next(messages)


def test_a_follower_who_comes_back_gets_the_present_state(house: House) -> None:
    """Without a place to resume at, a new stream begins with the state as it is now; nobody sees reserves or consignors."""
    sale = LiveSale(house)
    with sale.follow() as messages:
        next(messages)
    sale.act("call")
    sale.act("bid", amount="10")
    with sale.follow(**{"Last-Event-ID": f"{sale.gid}/1"}) as messages:
        message = next(messages)
    shown = block_in(message)
    assert ("#floor", 2) == (shown["onBlock"]["auction"]["currentBidder"], shown["lotsLeft"])
    assert "reserve" not in message.replace("reserveMet", "").lower()


def test_many_followers_cost_one_read_per_change(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change is read once for all 60 followers, however many pages and languages they have, and all are told."""
    reads: list[str] = []
    shown = hall.shown

    def counted(tx: Transaction, gid: str) -> Hall:
        reads.append(gid)
        return shown(tx, gid)

    monkeypatch.setattr(hall, "shown", counted)
    monkeypatch.setattr(blocks, "LOOK_SECONDS", 3600)
    sale = LiveSale(house)
    sale.act("call")
    ready, go_on = Barrier(61), Barrier(61)

    def follow(number: int) -> str:
        with sale.follow(("screen", "bidder", "state")[number % 3], **{"Accept-Language": "de, en"}) as messages:
            next(messages)
            ready.wait(SECONDS_MAX)
            go_on.wait(SECONDS_MAX)
            return next(one for one in messages if any(word in one for word in ("fair_warning", "Faire Warnung")))

    with ThreadPoolExecutor(60) as pool:
        told = [pool.submit(follow, number) for number in range(60)]
        ready.wait(SECONDS_MAX)
        before = len(reads)
        go_on.wait(SECONDS_MAX)
        sale.act("warn")
        assert 60 == len([one.result() for one in told])
    assert len(reads) - before <= 2, "the act is noted in two logs"


@pytest.mark.databases("postgresql")
def test_a_change_of_another_process_arrives(house: House) -> None:
    """An act and a bid that one process takes reach the followers of another process on the same database."""
    sale = LiveSale(house)
    bidder = sale.bidder()
    other = House(settings_for(house.settings.database))
    other.start()
    try:
        with sale.follow(base=other.base) as messages:
            next(messages)
            sale.act("call")
            assert any(block_in(one)["onBlock"] for one in messages)
            bidder.bid(sale.lots[0], amount="10")
            assert "15.000" == block_in(next(messages))["onBlock"]["auction"]["minimumBid"]
    finally:
        other.stop()


def test_each_reader_of_the_bidders_page_is_told_their_own(house: House) -> None:
    """The leader, an outbid user and a stranger see their own part; only those who may bid get the button, others the ask."""
    sale = LiveSale(house)
    ada, bob = sale.bidder(), sale.bidder()
    sale.act("call")
    ada.bid(sale.lots[0], amount="10")
    bob.bid(sale.lots[0], amount="15")
    told = {}
    for name, headers in (("ada", ada), ("bob", bob), ("nobody", None)):
        cookie = {} if headers is None else {"Cookie": f"saleroom_session={headers.token}"}
        with sale.follow("bidder", **cookie) as messages:
            told[name] = next(messages)
    assert "You were outbid." in told["ada"]
    assert f'formaction="/lots/{sale.lots[0]}/ask"' in told["ada"]
    assert "Bid €20.00" in told["ada"]
    assert "You lead at €15.00." in told["bob"]
    assert "<button" not in told["bob"]
    assert "<button" not in told["nobody"]
    assert "The ask is €20.00." in text_of(told["nobody"])


def test_an_open_page_of_a_bidder_no_longer_says_that_the_sale_begins_after_the_first_call(house: House) -> None:
    """The page before the start names the day; the first call takes that away, without a new page."""
    sale = LiveSale(house, startsAt="2099-05-01T10:00:00Z")
    with sale.follow("bidder") as messages:
        before = text_of(next(messages))
        sale.act("call")
        after = next(told for told in map(text_of, messages) if "Lot 1" in told)
    page = text_of(httpx.get(f"{house.base}/sales/{sale.gid}/live").text)
    assert (True, True) == ("Begins" in before, "2099" in before)
    assert (False, False) == ("Begins" in after, "2099" in after)
    assert "Begins" not in page


@pytest.mark.parametrize("path", ["screen", "next", "live"])
def test_the_pages_of_a_hall_show_the_block(house: House, path: str) -> None:
    """Each page has the block as it is now, without scripts too, in German as well; an unknown sale is a page of its own."""
    sale = LiveSale(house)
    sale.act("call")
    page = httpx.get(f"{house.base}/sales/{sale.gid}/{path}", headers={"Accept-Language": "de"})
    assert 200 == page.status_code
    assert ("Los 2" if path == "next" else "Los 1") in text_of(page.text)
    unknown = httpx.get(f"{house.base}/sales/AAAAAAAAAAAA/{path}", headers={"Accept": "text/html"})
    assert (404, "text/html; charset=utf-8") == (unknown.status_code, unknown.headers["content-type"])


def test_a_lot_that_is_hidden_on_the_block_leaves_the_pages_of_the_hall(house: House) -> None:
    """Screen and bidders' pages say only that it was taken down, open or opened later, until it is shown again."""
    sale, moderator = LiveSale(house), house.staff(Role.MANAGER)
    bidder = sale.bidder()
    sale.act("call")
    sale.act("ask", amount="1234.5")
    bidder.bid(sale.lots[0], amount="1234.5")

    def page(path: str) -> str:
        return httpx.get(f"{house.base}/sales/{sale.gid}/{path}").text

    for view, path in (("screen", "screen"), ("bidder", "live")):
        with sale.follow(view) as messages:
            assert "1,234.50" in next(messages) and "1,234.50" in page(path)
            moderator.json("PUT", f"/auctions/{sale.lots[0]}/hiding", json={"reason": "It may be stolen."})
            for html in (next(one for one in messages if "Taken down" in one), page(path)):
                assert "Lot 1: Taken down." in html and "1,234.50" not in html and "1234.5" not in html
                assert "paddle 1" not in html and "1,239.50" not in html
            moderator.json("DELETE", f"/auctions/{sale.lots[0]}/hiding")
            assert "1,234.50" in next(one for one in messages if "Taken down" not in one)


def test_a_bid_takes_the_ask(house: House) -> None:
    """A press bids the amount of the button, once for its key; another ask is refused with the new one."""
    sale = LiveSale(house)
    ada, bob = sale.bidder(), sale.bidder()
    sale.act("call")
    [lot, other, _] = sale.lots

    def press(user: User, gid: str, amount: str, **more: str) -> httpx.Response:
        with httpx.Client(base_url=house.base, cookies={"saleroom_session": user.token}) as visitor:
            page = visitor.get(f"/sales/{sale.gid}/live").text
            token = re.findall('name="csrfToken" value="([^"]+)"', page)[-1]
            form = {"csrfToken": token, "amount": amount, **more}
            return visitor.post(f"/lots/{gid}/ask", data=form, headers={"HX-Request": "true"})

    first = press(ada, lot, "10", key="k" * 20)
    assert 'data-result="leading"' in first.text
    assert first.text == press(ada, lot, "10", key="k" * 20, asked="1").text
    assert 204 == press(bob, lot, "10", key="m" * 20, asked="1").status_code
    late = press(bob, lot, "10", key="n" * 20)
    assert 409 == late.status_code
    assert "the ask is €15.00 now" in late.text
    assert "Bid €15.00" in late.text
    sale.act("skip")
    assert "not on the block" in press(bob, lot, "15").text
    assert "not on the block" in press(bob, other, "10").text
    assert 1 == ada.json("GET", f"/auctions/{lot}")["bidCount"]


def test_the_page_of_a_lot_says_what_the_block_took_back(house: House) -> None:
    """The history and the bidder are told in words that a bid was taken back or undone, in German too."""
    sale = LiveSale(house)
    ada = sale.bidder()
    sale.act("call")
    ada.bid(sale.lots[0], amount="10")
    sale.act("retract")
    with httpx.Client(base_url=house.base, cookies={"saleroom_session": ada.token}) as visitor:
        page = text_of(visitor.get(f"/lots/{sale.lots[0]}").text)
        german = text_of(visitor.get(f"/lots/{sale.lots[0]}", headers={"Accept-Language": "de"}).text)
    assert "Your bid was taken back." in page
    assert "Ihr Gebot wurde zurückgenommen." in german
    assert "retracted" not in page + german


@pytest.mark.parametrize(("language", "says"), [("en", "as paddle 100."), ("de", "als Bieternummer 100.")])
def test_a_bidder_is_told_their_paddle_by_its_name(house: House, language: str, says: str) -> None:
    """The bidder's page says "paddle", as it does of others, and not `#100`."""
    sale = LiveSale(house)
    cookies = {"saleroom_session": sale.bidder().token}
    page = httpx.get(f"{house.base}/sales/{sale.gid}/live", cookies=cookies, headers={"Accept-Language": language}).text
    assert says in text_of(page)
