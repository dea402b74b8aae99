"""Browsers that get messages, on the page of what one is told."""

from __future__ import annotations

import json

import pytest

from tests.bidding.web.seller import Come
from tests.fixtures_house import House
from tests.notices.api.test_pushes import browsers, given
from tests.notices.push_service import Browser


@pytest.fixture(scope="module")
def house(mail_house: House) -> House:
    """A house that sends mails has whom push services may write to, so that browsers can subscribe."""
    return mail_house


def test_a_reader_chooses_what_browsers_show(come: Come, house: House) -> None:
    """The form keeps choices by mail and on browsers apart; a browser ends by its button, of the reader's own alone."""
    user, other = house.newcomer(), house.newcomer()
    visitor = come(user)
    page = visitor.page("/mine/notices")
    assert page.one("div", id="push-here")["data-key"] == user.json("GET", "/me/browsers")["applicationServerKey"]
    visitor.sent(page, "/mine/notices", push_outbid=None, mail_won=None)
    found = user.json("GET", "/me/notices")
    assert ({"outbid"}, {"called", "won"}) == tuple(
        {kind for kind, wanted in found[channel].items() if not wanted} for channel in ("push", "mail")
    )
    user.json("POST", "/me/browsers", json=given(Browser(user.name)))
    number = other.json("POST", "/me/browsers", json=given(Browser(other.name)))["id"]
    page = visitor.page("/mine/notices")
    assert "gets no messages any more" in visitor.sent(page, "/mine/notices/browsers/end", id=str(number)).main
    assert 1 == len(browsers(other))
    visitor.sent(page, "/mine/notices/browsers/end")
    assert [] == browsers(user)


def test_other_sites_subscribe_nobody(house: House) -> None:
    """A form of another site does not pass; the script of the page does, with the login of its reader alone."""
    user = house.newcomer()
    cookie = {"Cookie": f"saleroom_session={user.token}"}
    body = {"subscription": json.dumps(given(Browser(user.name)))}
    assert 403 == house.plain.post("/mine/notices/browsers", data=body, headers=cookie).status_code
    script = {"X-Requested-With": "push.js"}
    assert 401 == house.plain.post("/mine/notices/browsers", data=body, headers=script).status_code
    wrong = house.plain.post("/mine/notices/browsers", data={"subscription": "x"}, headers=script | cookie)
    assert 400 == wrong.status_code
    assert [] == browsers(user)
    assert 204 == house.plain.post("/mine/notices/browsers", data=body, headers=script | cookie).status_code
    assert [True] == [one["current"] for one in browsers(user)]
