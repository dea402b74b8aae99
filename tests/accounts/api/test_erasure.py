"""The erasure of an account over HTTP and on its page."""

import httpx
import pytest

from saleroom.accounts.domain.rights import Role
from tests.accounts.api.test_security import set_up, shown
from tests.bidding.api.answers import refusal
from tests.fixtures_house import NO_TLS, PASSWORD, House
from tests.site.visitor import Visitor
from tests.tools.verify.ledgers import verified

SENT = {"password": PASSWORD}


@pytest.fixture(scope="module")
def house(sqlite_house: House) -> House:
    """A house on SQLite: differences between the databases are tested below the API."""
    return sqlite_house


def test_a_user_erases_their_account(house: House) -> None:
    """Password and code are needed; then the token is dead, others see a pseudonym, and an open stream goes on."""
    ada, bob = house.newcomer(), house.newcomer()
    gid, other = ada.auction(buyNowPrice="50"), ada.auction()
    secret, _ = set_up(bob)
    bob.bid(other, amount="20")
    assert (403, "wrong_password") == refusal(bob.http.post("/me/erasure", json={"password": "not it"}))
    assert (422, "code_required") == refusal(bob.http.post("/me/erasure", json=SENT))
    refused = bob.http.post("/me/erasure", json=SENT | {"code": shown(secret)})
    assert ((409, "lots_running"), other) == (refusal(refused), refused.json()["lot"])
    ada.json("POST", f"/auctions/{other}/close", json={})
    bob.json("POST", f"/auctions/{gid}/buy", json={})
    ledger = house.anyone.get(f"/auctions/{gid}/ledger").content
    tag = house.anyone.get(f"/auctions/{gid}").headers["etag"]
    running = ada.auction()
    stream = httpx.Client(base_url=house.base, verify=NO_TLS, timeout=30)
    token = {"Authorization": f"Bearer {bob.token}"}
    with stream, stream.stream("GET", f"/auctions/{running}/events", headers=token) as followed:
        lines = followed.iter_lines()
        assert 204 == bob.http.post("/me/erasure", json=SENT | {"code": shown(secret)}).status_code
        assert (401, "unauthenticated") == refusal(bob.http.post("/me/erasure", json=SENT))
        ada.json("PATCH", f"/auctions/{running}", json={"name": "Changed"})
        assert any("Changed" in line for line in lines)
    login = house.anyone.post("/login", json={"username": bob.name, "password": PASSWORD})
    assert 422 == login.status_code
    again = house.anyone.get(f"/auctions/{gid}", headers={"If-None-Match": tag})
    assert (200, True) == (again.status_code, again.json()["currentBidder"].startswith("erased."))
    assert bob.name not in house.anyone.get(f"/auctions/{gid}/bids").text
    left = house.anyone.get(f"/auctions/{gid}/ledger").content
    assert bob.name.encode() in ledger and bob.name.encode() not in left
    assert verified(ledger).hashes == verified(left).hashes
    taken = house.anyone.post("/users", json={"username": bob.name, "password": PASSWORD})
    assert (409, "username_taken") == refusal(taken)


def test_the_page(house: House) -> None:
    """The form asks for the password, says what is wrong, and logs the browser out when the account is gone."""
    visitor = Visitor(house, house.newcomer())
    page = visitor.page("/mine/data")
    wrong = visitor.send(page, "/mine/data/erasure", password="not it")
    assert 403 == wrong.status_code
    assert 400 == visitor.send(page, "/mine/data/erasure", password="").status_code
    gone = visitor.send(page, "/mine/data/erasure", **SENT)
    assert (200, True) == (gone.status_code, "Your account is erased" in gone.text)
    assert 303 == visitor.http.get("/mine/data").status_code


def test_staff_erases_those_below_them(house: House) -> None:
    """Those who may manage people erase a user; nobody themselves or somebody beside them in this way."""
    manager, beside, bob = house.staff(Role.MANAGER), house.staff(Role.MANAGER), house.newcomer()
    why = {"reason": "He has asked for it."}
    for name, code in ((manager.name, "not_oneself"), (beside.name, "not_above_them")):
        assert (403, code) == refusal(manager.http.post(f"/staff/users/{name}/erasure", json=why))
    path = f"/staff/users/{bob.name}/erasure"
    assert (403, "missing_right") == refusal(bob.http.post(path, json=why))
    assert 204 == manager.http.post(path, json=why).status_code
    assert (404, "unknown_user") == refusal(manager.http.post(path, json=why))
    assert 401 == bob.http.get("/me").status_code
