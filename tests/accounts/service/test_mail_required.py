"""A house that asks for a verified mail address before somebody bids or sells."""

from __future__ import annotations

import pytest

from saleroom.accounts.domain.errors import MailRequired
from saleroom.accounts.service import addresses
from saleroom.accounts.storage import accounts
from saleroom.accounts.storage.accounts import MAIL_REQUIRED
from saleroom.bidding.service.bidding import buy_now
from saleroom.settings import Settings
from saleroom.storage.database import Database
from tests.accounts.service.mailed import has_mail, sent_by
from tests.bidding.api.answers import refusal
from tests.bidding.service.people import bid, once_of, person, sells
from tests.fixtures_house import ServeHouse
from tests.site.visitor import Visitor

pytestmark = pytest.mark.databases("sqlite")

MAIL = {"smtp_url": "smtp://127.0.0.1:9", "mail_sender": "house@example.org"}


async def test_an_address_opens_bidding_and_selling(database: Database) -> None:
    """Bids, purchases and lots are refused before it is verified and after it is taken away; other houses ask nobody."""
    ada, bob = await person(database), await person(database)
    lot, other = [await sells(database, ada, buy_now_price="700") for _ in range(2)]
    assert ["accepted"] == await bid(database, bob.bids(lot, "100"))
    database.switch_on(MAIL_REQUIRED)

    async def refused() -> list[bool]:
        found = [["mail_required"] == await bid(database, bob.bids(lot, f"up to {next(amounts)}"))]
        for act in (sells(database, bob), database.write(buy_now, bob.token, other, once_of("1", "1"))):
            try:
                await act
                found.append(False)
            except MailRequired:
                found.append(True)
        return found

    amounts = iter((200, 300, 400))
    assert [True, True, True] == await refused()
    await database.write(addresses.give, bob.account, "bob@example.org", "en")
    assert [True, True, True] == await refused()
    await has_mail(database, bob, "bob@example.org")
    assert [False, False, False] == await refused()
    await database.write(addresses.give, bob.account, None, None)
    assert ["mail_required"] == await bid(database, bob.bids(lot, "up to 900"))


def test_the_house_says_what_to_do(serve_house: ServeHouse) -> None:
    """The API and the pages refuse with a remedy, reading goes on, and all is open once a link has verified the address."""
    house = serve_house(mail_required=True, **MAIL)
    ada, bob = house.newcomer(), house.newcomer()
    login = house.read(accounts.find_login, ada.name)
    assert login is not None
    house.write(addresses.give, login.account, "ada@example.org", "en")
    code = {"code": sent_by(house)[-1]["code"]}
    assert 200 == house.anyone.post("/mail-address-confirmations", json=code).status_code
    gid, visitor = ada.auction(), Visitor(house, bob)
    answer = bob.http.post(f"/auctions/{gid}/bids", json={"amount": "10"})
    assert (403, "mail_required") == refusal(answer)
    assert "PUT /me/mail-address" in answer.json()["message"]
    assert (403, "mail_required") == refusal(bob.http.post("/auctions", json={"name": "Clock", "startingPrice": "1"}))
    assert "bid" not in bob.json("GET", "/me/rights")["rights"]
    page = visitor.page(f"/lots/{gid}")
    assert "/mine/mail-address" in page.links
    form = {"confirmed": "1", "version": "1", "exactAmount": "20.000", "key": "k" * 24}
    sent = visitor.send(page, f"/lots/{gid}/bid", **form)
    assert (403, True) == (sent.status_code, "asks for a verified mail address" in sent.text)
    shown = visitor.http.get("/sell")
    assert (403, True) == (shown.status_code, "asks for a verified mail address" in shown.text)
    for path in ("/mine", "/mine/mail-address", f"/lots/{gid}"):
        assert 200 == visitor.http.get(path).status_code
    assert "/mine/mail-address" not in Visitor(house, ada).page(f"/lots/{gid}").links


def test_a_house_without_mails_cannot_ask_for_it() -> None:
    """Nobody could verify an address there, so the setting is refused, and the refusal names the remedy."""
    with pytest.raises(ValueError, match="it needs smtp_url too"):
        Settings.model_validate({"mail_required": True})
    assert Settings.model_validate({"mail_required": True, "smtp_url": "show"}).mail_required
