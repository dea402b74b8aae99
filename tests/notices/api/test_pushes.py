"""Browsers that get messages, over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from saleroom.outbox import web_push
from tests.fixtures_house import House, ServeHouse, User
from tests.notices.push_service import Browser, b64, unb64


@pytest.fixture(scope="module")
def push_house(mail_house: House) -> House:
    """A house that sends mails has whom push services may write to, so that browsers can subscribe."""
    return mail_house


def given(browser: Browser, **more: Any) -> dict[str, Any]:
    """What a browser gives the house."""
    keys = {"p256dh": b64(browser.point), "auth": b64(browser.auth)}
    return {"endpoint": f"https://push.example/send/{browser.name}", "keys": keys} | more


def browsers(user: User) -> list[dict[str, Any]]:
    """The user's browsers."""
    return list(user.json("GET", "/me/browsers")["browsers"])


def test_a_browser_subscribes_and_ends(push_house: House) -> None:
    """The key is that of the house; a browser is listed without its address and keys, until it ends or logs out."""
    user = push_house.newcomer()
    key = user.json("GET", "/me/browsers")["applicationServerKey"]
    assert web_push.is_point(unb64(key))
    assert key == push_house.newcomer().json("GET", "/me/browsers")["applicationServerKey"]
    made = user.json("POST", "/me/browsers", json=given(Browser(user.name), language="de"))
    assert [made] == browsers(user)
    assert made["current"]
    again = user.json("POST", "/me/browsers", json=given(Browser(f"{user.name}-again")))
    assert [again["id"]] == [one["id"] for one in browsers(user)]
    assert 404 == push_house.newcomer().delete(f"/me/browsers/{again['id']}").status_code
    assert [204, 404] == [user.delete(f"/me/browsers/{again['id']}").status_code for _ in range(2)]
    user.json("POST", "/me/browsers", json=given(Browser(user.name)))
    phone = push_house.log_in(user.name)
    assert [False] == [one["current"] for one in browsers(phone)]
    user.delete("/logout")
    assert [] == browsers(phone)


@pytest.mark.parametrize(
    ("change", "field", "code"),
    [
        ({"endpoint": "http://push.example/x"}, "endpoint", "push_endpoint"),
        ({"endpoint": "https://192.168.1.1/x"}, "endpoint", "push_private"),
        ({"endpoint": 7}, "endpoint", "not_a_string"),
        ({"keys": {}}, "keys", "push_keys"),
        ({"keys": {"p256dh": b64(b"\x04" * 65), "auth": "a" * 22}}, "keys", "push_keys"),
        ({"keys": {"p256dh": "x", "auth": "a" * 22}}, "keys", "push_keys"),
        ({"language": "tlh"}, "language", "not_a_choice"),
        ({"expires": 7}, "expires", "unknown"),
    ],
)
def test_what_no_browser_gives_is_refused(push_house: House, change: dict[str, Any], field: str, code: str) -> None:
    """The refusal names fault and field, and nothing is stored."""
    user = push_house.newcomer()
    answer = user.post("/me/browsers", json=given(Browser("x")) | change)
    assert (400, code) == (answer.status_code, answer.json()["message"][field][0]["code"])
    assert [] == browsers(user)


def test_a_house_without_an_address_sends_no_messages(sqlite_house: House) -> None:
    """Push services want to know whom to write to: without a mail address or https there is no key, and the page is silent."""
    user = sqlite_house.newcomer()
    assert {"applicationServerKey": None, "browsers": []} == user.json("GET", "/me/browsers")
    answer = user.post("/me/browsers", json=given(Browser("x")))
    assert (400, "push_off") == (answer.status_code, answer.json()["message"]["endpoint"][0]["code"])
    page = sqlite_house.plain.get("/mine/notices", headers={"Cookie": f"saleroom_session={user.token}"}).text
    assert "push-here" not in page


def test_messages_can_be_switched_off(serve_house: ServeHouse) -> None:
    """The setting `web_push` switches them off; an https address is whom push services may write to."""
    off, on = (serve_house(public_url="https://house.example", web_push=how) for how in ("off", "public"))
    keys = [house.user("ada").json("GET", "/me/browsers")["applicationServerKey"] for house in (off, on)]
    assert [True, False] == [key is None for key in keys]
