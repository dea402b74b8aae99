"""The pages of webhooks: from the form to a server of one's own, and what the page says of it."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator

import pytest
from standardwebhooks import Webhook

from tests.bidding.web.seller import Come
from tests.fixtures_house import House, ServeHouse
from tests.notices.receiver import Receiver, receiving
from tests.patience import SECONDS_MAX


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A server of webhooks in a thread of its own."""
    found, ends, begun = Receiver(), asyncio.Event(), threading.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with receiving(found):
            begun.set()
            await ends.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    begun.wait(SECONDS_MAX)
    yield found
    loop.call_soon_threadsafe(ends.set)
    thread.join(SECONDS_MAX)
    loop.close()


@pytest.fixture
def house(serve_house: ServeHouse) -> House:
    """A house that posts to this machine too."""
    return serve_house(webhooks="anywhere", mqtt="off")


def test_a_reader_makes_a_webhook_and_a_bid_arrives_there(come: Come, house: House, receiver: Receiver) -> None:
    """The form, the secret, a bid of somebody, and the post: verified by the library of receivers, and listed on the page."""
    seller, bidder = house.newcomer(), house.newcomer()
    gid = seller.auction()
    visitor = come(seller)
    page = visitor.page("/mine/webhooks")
    wrong = visitor.sent(page, "/mine/webhooks", url="gopher://example.org")
    assert 400 == wrong.status
    assert "Enter an address that begins with https://" in wrong.one("main").text
    made = visitor.sent(page, "/mine/webhooks", **{"url": receiver.url(), "bid.placed": "on", "notice.sold": "on"})
    found = re.search(r"whsec_\S+", made.one("main").text)
    assert found is not None
    assert 201 == bidder.bid(gid, "20").status_code
    deadline = SECONDS_MAX * 10
    while not receiver.posts and (deadline := deadline - 1):
        threading.Event().wait(0.1)
    headers, body = receiver.posts[0]
    assert gid == Webhook(found[0]).verify(body, headers)["data"]["gid"]
    [one] = seller.json("GET", "/me/webhooks")["webhooks"]
    place = f"/mine/webhooks/{one['id']}"
    shown = visitor.page(place).one("main").text
    assert "somebody bids" in shown
    assert "whsec_" not in shown
    visitor.sent(visitor.page(place), place, do="off")
    assert "You have switched it off." in visitor.page(place).one("main").text
    visitor.sent(visitor.page(place), place, do="delete")
    assert [] == seller.json("GET", "/me/webhooks")["webhooks"]
    assert 404 == visitor.page(place).status
