"""Passkeys on the pages and over the API, with a device in software."""

from __future__ import annotations

import json

import httpx
import pytest

from tests.accounts.authenticator import Device
from tests.bidding.api.answers import refusal
from tests.fixtures_house import PASSWORD, House, ServeHouse, User
from tests.site.markup import Page
from tests.site.visitor import Visitor

PATH = "/mine/security"
PUBLIC = "https://bids.example"


@pytest.fixture
def house(sqlite_house: House) -> House:
    """A house that nobody has given an address: it has passkeys on `localhost` alone."""
    return sqlite_house


def local(house: House, user: User | None = None) -> Visitor:
    """A visitor whose browser calls the house `localhost`."""
    return Visitor(house, user, host=f"localhost:{house.port}")


def device_for(house: House) -> Device:
    """A device beside that browser."""
    return Device(f"http://localhost:{house.port}")


def added(visitor: Visitor, device: Device, name: str = "Ada's phone") -> httpx.Response:
    """Add a passkey, and return the answer."""
    setup = Page(visitor.send(visitor.page(PATH), f"{PATH}/passkeys", name=name, password=PASSWORD))
    form = next(one for one in setup.elements if one.attributes.get("action") == f"{PATH}/passkeys/new")
    return visitor.send(setup, f"{PATH}/passkeys/new", credential=device.create(form["data-options"]))


def log_in(visitor: Visitor, device: Device, then: str = "/mine/selling") -> httpx.Response:
    """Log in by the passkey of a device, as the script of the page does."""
    page = visitor.page(f"/login?next={then}")
    asked = visitor.http.get("/session/passkey")
    assert (200, "no-store") == (asked.status_code, asked.headers["cache-control"])
    question = asked.json()
    answer = device.get(json.dumps(question["options"]))
    return visitor.send(page, "/session/passkey", ticket=question["ticket"], credential=answer)


def test_a_passkey_on_the_pages(house: House, seller: User) -> None:
    """It is added with the password, listed by its name, logs in and leads on, and is gone once it is removed."""
    visitor, device = local(house, seller), device_for(house)
    overview = visitor.page(PATH)
    wrong = visitor.send(overview, f"{PATH}/passkeys", name="Phone", password="wrong horse")
    assert 403 == wrong.status_code
    assert "Nothing was changed" in Page(wrong).one("small", id="passkey-password-help").text
    empty = Page(visitor.send(overview, f"{PATH}/passkeys", name=" ", password=""))
    assert 400 == empty.status and "fault" in empty.one("small", id="passkey-name-help")["class"]
    answer = added(visitor, device)
    assert 200 == answer.status_code and "Ada's phone" in Page(answer).main and "not used yet" in Page(answer).main
    stranger = local(house)
    done = log_in(stranger, device)
    assert (303, "/mine/selling") == (done.status_code, done.headers["location"])
    assert 200 == stranger.http.get("/mine/selling").status_code
    assert "last used" in stranger.page(PATH).main
    listed = stranger.page(PATH)
    for password, status, says in (("wrong horse", 403, "Nothing was changed"), ("", 400, "fill this in")):
        kept = Page(stranger.send(listed, f"{PATH}/passkeys/remove", password=password))
        assert status == kept.status
        assert says in kept.one("details", open="").text
    assert "Ada's phone" in stranger.page(PATH).main
    assert 303 == stranger.send(listed, f"{PATH}/passkeys/remove", password=PASSWORD).status_code
    assert "Ada's phone" not in visitor.page(PATH).main
    refused = log_in(local(house), device)
    assert 422 == refused.status_code and "not known here" in Page(refused).main


def test_wrong_requests_of_pages(house: House, seller: User) -> None:
    """A browser without the cookie of a page gets no question; a strange number or answer is a 4xx; a dead session logs in."""
    visitor = local(house, seller)
    bare = httpx.get(f"{house.base}/session/passkey", headers={"Host": f"localhost:{house.port}"})
    assert 422 == bare.status_code
    page = visitor.page(PATH)
    setup = Page(visitor.send(page, f"{PATH}/passkeys", name="Phone", password=PASSWORD))
    for ticket in ("", "%", "AAAA", None):
        answer = visitor.send(setup, f"{PATH}/passkeys/new", ticket=ticket, credential="{}")
        assert 422 == answer.status_code and "Begin again" in answer.text
    token = page.all("input", name="csrfToken")[0]["value"]
    for number, status in (("x", 400), ("9" * 18, 303)):
        sent = {"csrfToken": token, "id": number, "password": PASSWORD}
        assert status == visitor.http.post(f"{PATH}/passkeys/remove", data=sent).status_code
    seller.delete("/logout")
    for path, sent in (("", {"name": "A", "password": "B"}), ("/new", {}), ("/remove", {"id": "1"})):
        answer = visitor.http.post(f"{PATH}/passkeys{path}", data={"csrfToken": token, **sent})
        assert (303, "/login?next=/mine/security") == (answer.status_code, answer.headers["location"])


def test_over_the_api(house: House, seller: User) -> None:
    """A user lists passkeys, and removes them with the password; those of others are unknown."""
    assert {"passkeys": []} == seller.json("GET", "/me/passkeys")
    added(local(house, seller), device_for(house))
    [one] = seller.json("GET", "/me/passkeys")["passkeys"]
    assert ("Ada's phone", None) == (one["label"], one["usedAt"])
    path, body = f"/me/passkeys/{one['id']}", {"password": PASSWORD}
    assert (404, "unknown_passkey") == refusal(house.newcomer().request("DELETE", path, json=body))
    lacking = seller.delete(path)  # as clients of before send it
    assert (400, ["password"]) == (lacking.status_code, list(lacking.json()["message"]))
    assert (403, "wrong_password") == refusal(seller.request("DELETE", path, json={"password": "wrong horse"}))
    assert [one] == seller.json("GET", "/me/passkeys")["passkeys"]
    assert 204 == seller.request("DELETE", path, json=body).status_code
    assert (404, "unknown_passkey") == refusal(seller.request("DELETE", path, json=body))


@pytest.mark.parametrize(
    ("public_url", "says"), [("http://bids.example", "by https"), ("https://192.0.2.1", "a number")]
)
def test_a_house_without_passkeys_says_why(serve_house: ServeHouse, public_url: str, says: str) -> None:
    """Without https or a name there is no form and no button, and the addresses refuse."""
    house = serve_house(public_url=public_url)
    cookie = "__Host-saleroom_session" if public_url.startswith("https") else "saleroom_session"
    visitor = Visitor(house, host="localhost")
    visitor.http.headers["Cookie"] = f"{cookie}={house.user('ada').token}"
    page = visitor.page(PATH)
    assert says in page.main and "Add a passkey" not in page.main
    assert "passkey" not in Visitor(house, host="localhost").http.get("/login").text
    assert 403 == Visitor(house, host="localhost").http.get("/session/passkey", headers=_FORGERY[cookie]).status_code


_FORGERY = {
    "saleroom_session": {"Cookie": "saleroom_csrf=any"},
    "__Host-saleroom_session": {"Cookie": "__Host-saleroom_csrf=any"},
}


def test_the_address_of_the_house_decides(serve_house: ServeHouse) -> None:
    """With an address by https, passkeys are bound to its name, whatever the header Host says."""
    house = serve_house(public_url=f"{PUBLIC}/")
    visitor = Visitor(house, host="evil.example")
    asked = visitor.http.get("/session/passkey", headers={"Cookie": "__Host-saleroom_csrf=any"})
    assert "bids.example" == asked.json()["options"]["rpId"]
