"""The pages of notices: what a reader gets by mail, the link that stops it, and the mails of a house to look at."""

from __future__ import annotations

import time
from functools import partial

import pytest

from saleroom.accounts.domain.rights import Role
from saleroom.accounts.storage import accounts
from saleroom.areas import AREAS
from saleroom.http.secret import HouseSecret, Purpose
from saleroom.notices.domain.kinds import KINDS, OF_LOTS
from saleroom.notices.service import delivering, letters, sending, subscribing, webhooks_off
from saleroom.notices.service.unsubscribing import stop_token
from saleroom.notices.web.words import REASONS, TITLES, UNCHOSEN_TITLES
from saleroom.outbox import store
from saleroom.outbox.message import MAIL, State
from saleroom.site.language import Languages
from saleroom.storage import secrets
from saleroom.storage.database import Transaction
from tests.bidding.web.seller import Come
from tests.fixtures_house import House, ServeHouse
from tests.notices.api.test_choices import give_address
from tests.notices.api.test_outbox import give_up, number, post
from tests.patience import SECONDS_MAX


@pytest.fixture
def house(sqlite_house: House) -> House:
    """A house on SQLite: differences between the databases are tested below the pages."""
    return sqlite_house


UNCHOSEN = dict.fromkeys(KINDS, True) | {"called": False}


def test_a_reader_chooses(come: Come, house: House) -> None:
    """The form keeps each choice; a wrong time is named beside its field, with all else as it was sent."""
    user = house.newcomer()
    give_address(house, user)
    visitor = come(user)
    page = visitor.page("/mine/notices")
    shown = visitor.sent(
        page, "/mine/notices", mail_outbid=None, begins="22:00", ends="07:00", zone="Europe/Berlin", language="de"
    )
    assert "Your choice is saved." in shown.one("main").text
    found = user.json("GET", "/me/notices")
    assert {"called", "outbid"} == {kind for kind, wanted in found["mail"].items() if not wanted}
    assert ({"begins": "22:00", "ends": "07:00", "zone": "Europe/Berlin"}, "de") == (
        found["quietHours"],
        found["language"],
    )
    wrong = visitor.sent(shown, "/mine/notices", begins="25:00", ends="", zone="Nowhere")
    assert 400 == wrong.status
    assert "Enter a time such as 22:30." in wrong.one("main").text
    assert "Nowhere" == wrong.one("input", name="zone")["value"]
    none = visitor.sent(shown, "/mine/notices", begins="22:00", ends="22:00")
    assert "The quiet hours end when they begin." in none.one("main").text
    assert found == user.json("GET", "/me/notices")
    visitor.sent(shown, "/mine/notices", begins="", ends="")
    assert user.json("GET", "/me/notices")["quietHours"] is None


def test_a_stranger_logs_in_first(house: House) -> None:
    """Without a login the page leads to the form to log in."""
    assert "/login?next=/mine/notices" == house.plain.get("/mine/notices").headers["location"]


def token_of(house: House, name: str) -> str:
    """The token of a user's link."""
    secret = HouseSecret()
    secret.learn(str(house.read(secrets.find)))
    return stop_token(partial(secret.sign, Purpose.MAILS), house.read(lambda tx: number(tx, house.user(name))), "mail")


def test_one_click_in_a_mail_program_stops_all_mails_about_lots(house: House) -> None:
    """A mail program's request stops them without a login, a cookie or a form (RFC 8058); a look changes nothing."""
    user = house.newcomer()
    link = f"/notices/unsubscribe?token={token_of(house, user.name)}"
    assert 200 == house.plain.get(link).status_code
    assert UNCHOSEN == user.json("GET", "/me/notices")["mail"]
    for _ in range(2):
        answer = house.plain.post(link, data={"List-Unsubscribe": "One-Click"})
        assert 200 == answer.status_code
        assert "You get no more mails about lots." in answer.text
    about_money = dict.fromkeys(KINDS.keys() - OF_LOTS.keys(), True)
    assert {**dict.fromkeys(KINDS, False), **about_money} == user.json("GET", "/me/notices")["mail"]
    other = house.newcomer()
    assert "Yes, send me no more" in house.plain.get(link).text
    assert UNCHOSEN == other.json("GET", "/me/notices")["mail"]


def test_a_damaged_link_stops_nothing(house: House) -> None:
    """A token that the house has not made, for another user or for nobody, is a 404 that says what to do."""
    user = house.newcomer()
    token = token_of(house, user.name)
    user_id, rest = token.split(".", 1)
    wrong = (token[:-1], token + "x", f"{int(user_id) + 1}.{rest}", "", "0.mail.x", token.replace("mail", "push"))
    for each in wrong:
        for answer in (
            house.plain.get("/notices/unsubscribe", params={"token": each}),
            house.plain.post("/notices/unsubscribe", params={"token": each}),
        ):
            assert 404 == answer.status_code
            assert "This link is damaged." in answer.text
    assert UNCHOSEN == user.json("GET", "/me/notices")["mail"]


def test_a_house_to_look_at_shows_its_mails(serve_house: ServeHouse) -> None:
    """With `show` in place of a mail server, a mail can be read on a page; other houses have no such page."""
    shown = serve_house(smtp_url="show", notices_gather_seconds=0)
    ada, ben, cyd = (shown.user(name) for name in ("ada", "ben", "cyd"))
    give_address(shown, ben)
    gid = ada.auction(name="<b>Chair</b>")
    time.sleep(2)
    ben.bid(gid, amount=20)
    cyd.bid(gid, amount=30)
    until = time.monotonic() + SECONDS_MAX
    while "/mails/1" not in (listed := shown.plain.get("/mails").text) and time.monotonic() < until:
        time.sleep(0.1)
    assert "&lt;b&gt;Chair&lt;/b&gt;" in listed
    mail = shown.plain.get("/mails/1").text
    assert f"/lots/{gid}" in mail
    assert "ada@example.org" in mail
    assert "<b>Chair</b>" not in mail
    for wrong in ("/mails/2", "/mails/x", "/mails/0"):
        assert 404 == shown.plain.get(wrong).status_code


def test_other_houses_show_no_mails(house: House) -> None:
    """Where mails are sent, or none are, nobody can read them."""
    assert [404, 404] == [house.plain.get(path).status_code for path in ("/mails", "/mails/1")]


def test_the_outbox_has_a_title_for_each_kind_of_mail() -> None:
    """Staff read of each kind in their language, not its name in the code."""
    named = {kind.name for area in AREAS for kind in area.mails}
    assert named | set(OF_LOTS) == {**TITLES, **UNCHOSEN_TITLES}.keys()


def test_staff_see_the_outbox_and_send_again(come: Come, house: House) -> None:
    """The back office shows why a word was given up, and lets it be tried again; members see nothing of it."""
    clerk, receiver = house.newcomer(), house.newcomer()
    house.write(lambda tx: accounts.set_role(tx, number(tx, clerk), Role.CLERK))
    post(house, receiver, f"page {receiver.name}")
    house.write(give_up)
    visitor = come(clerk)
    page = visitor.page("/admin/outbox?state=given_up")
    shown = page.one("main").text
    assert f"to {receiver.name}" in shown
    assert "550 no such user" in shown
    assert 303 == visitor.send(page, "/admin/outbox/again").status_code
    assert f"to {receiver.name}" in visitor.page("/admin/outbox?state=waiting").one("main").text
    assert 404 == visitor.send(page, "/admin/outbox/again", id="0").status_code
    assert 303 == visitor.send(page, "/admin/outbox/again", id="all").status_code
    assert 403 == come(receiver).http.get("/admin/outbox").status_code
    assert house.plain.get("/admin/outbox").headers["location"].startswith("/login")


def test_staff_read_why_in_their_language(come: Come, house: House) -> None:
    """The house's own reasons stand in German on a German page, and none of them is left out."""
    modules = (delivering, letters, sending, store, subscribing, webhooks_off)
    texts = [text for module in modules for name, text in vars(module).items() if name.isupper() and is_sentence(text)]
    assert set(REASONS) == set(texts)
    german = Languages("EUR").negotiate("de")
    assert [] == [text for text in REASONS if german.gettext(text) == text]
    post(house, receiver := house.newcomer(), f"page {receiver.name}")
    house.write(drop)
    clerk = house.staff(Role.CLERK)
    shown = come(clerk, **{"Accept-Language": "de"}).page("/admin/outbox?state=dropped").main
    assert "Der Nutzer hat keine bestätigte E-Mail-Adresse." in shown
    assert letters.NO_ADDRESS not in shown


def drop(tx: Transaction) -> None:
    """Drop all words that are due."""
    for letter in store.due(tx, MAIL, 100):
        store.settle(tx, letter, State.DROPPED, letters.NO_ADDRESS)


def is_sentence(text: object) -> bool:
    """Whether this is a reason in words."""
    return isinstance(text, str) and text[:1].isupper() and text.endswith(".")
