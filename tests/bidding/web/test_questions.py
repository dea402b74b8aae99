"""Questions on the pages: asked and answered in forms without scripts, shown to those who may see them, told to open pages."""

from __future__ import annotations

import re

import pytest

from saleroom.accounts.domain.rights import Role
from saleroom.bidding.web import live
from saleroom.feed import streams
from tests.bidding.web.seller import HOSTILE, Come
from tests.bidding.web.test_live import messages
from tests.fixtures_house import House, User

pytestmark = pytest.mark.databases("sqlite")


def ask(user: User, gid: str, text: str = "Does it run?") -> int:
    """Ask over the API; return the number of the question."""
    return int(user.json("POST", f"/auctions/{gid}/questions", json={"text": text})["number"])


def answer(user: User, gid: str, number: int, text: str | None = "It does.") -> None:
    """Answer over the API."""
    user.json("POST", f"/auctions/{gid}/answers", json={"question": number, "text": text})


def test_a_question_is_asked_and_answered(come: Come, seller: User, house: House) -> None:
    """Asked in a form and answered in a form, it stands for everybody, as text, with both dates and without a name."""
    gid = seller.auction()
    path = f"/lots/{gid}"
    user = house.newcomer()
    asker, stranger = come(user), come(None)
    text = f"Does it run?\r\n{HOSTILE}"
    for _ in range(2):
        sent = asker.send(asker.page(path), f"{path}/questions", text=text)
        assert (303, f"{path}#lot-questions") == (sent.status_code, sent.headers["location"])
    assert 1 == asker.page(path).main.count("Does it run?")
    assert "Not answered yet. Only you and the seller see it." in asker.page(path).main
    assert "Does it run?" not in stranger.page(path).main
    own = come()
    form = own.page(path)
    assert user.name not in form.main
    sent = own.send(form, f"{path}/answers", "answer", text=f"It does.\r\n{HOSTILE}")
    assert (303, f"{path}#lot-questions") == (sent.status_code, sent.headers["location"])
    [question] = seller.json("GET", f"/auctions/{gid}/questions")["questions"]
    assert (f"Does it run?\n{HOSTILE}", f"It does.\n{HOSTILE}") == (question["text"], question["answer"])
    for page in (own.page(path), asker.page(path), stranger.page(path)):
        assert (1, 1) == (page.main.count("Does it run?"), page.main.count("It does."))
        assert user.name not in page.main
        assert [] == [e for e in page.all("img") if "onerror" in e.attributes]
        dates = [e.attributes.get("datetime") for e in page.all("time")]
        assert {question["askedAt"], question["answeredAt"]} <= set(dates)


def test_a_question_is_declined(come: Come, seller: User, house: House) -> None:
    """The seller declines it with one button and no answer; it is gone for all but its asker, who reads that."""
    gid = seller.auction()
    path = f"/lots/{gid}"
    user = house.newcomer()
    ask(user, gid, "Rubbish?")
    own = come()
    assert 303 == own.send(own.page(path), f"{path}/answers", "decline").status_code
    assert "Rubbish?" not in own.page(path).main + come(None).page(path).main
    assert "The seller does not answer this question." in come(user).page(path).main


def test_each_reader_has_the_form_that_fits(come: Come, seller: User, house: House) -> None:
    """The seller has a form for each open question, others one to ask, strangers a way to log in; at the end there is none."""
    gid = seller.auction()
    user = house.newcomer()
    ask(user, gid)
    ask(user, gid, "Is it old?")

    def forms(who: User | None) -> list[str]:
        return [e["action"] for e in come(who).page(f"/lots/{gid}").all("form", class_="asking")]

    assert [f"/lots/{gid}/answers"] * 2 == forms(seller)
    assert [f"/lots/{gid}/questions"] == forms(user)
    assert [] == forms(None)
    assert "Log in to ask the seller" in come(None).page(f"/lots/{gid}").main
    seller.delete(f"/auctions/{gid}")
    assert [[], [], []] == [forms(who) for who in (seller, user, None)]
    assert "The seller did not answer before the end." in come(user).page(f"/lots/{gid}").main
    assert "Does it run?" not in come().page(f"/lots/{gid}").main


def test_a_refused_text_is_shown_again(come: Come, seller: User, house: House) -> None:
    """A text that is too long or empty comes back with its fault at the field; a full lot and a settled question say so."""
    gid = seller.auction()
    path = f"/lots/{gid}"
    user = house.newcomer()
    asker, own = come(user), come()
    form = asker.page(path)
    for text in ("x" * 1001, " "):
        again = asker.sent(form, f"{path}/questions", text=text)
        assert (400, text) == (again.status, again.one("textarea", id="question").raw.removeprefix("\n"))
        assert again.one("small", id="question-fault").text
        assert [e for e in again.all("details") if "open" in e.attributes]
    number = ask(user, gid)
    form = own.page(path)
    for text in ("\N{LATIN SMALL LETTER SHARP S}" * 2001, " "):
        again = own.sent(form, f"{path}/answers", "answer", text=text)
        field = again.one("textarea", id=f"answer-{number}")
        assert (400, text) == (again.status, field.raw.removeprefix("\n"))
        assert again.one("small", id=f"answer-{number}-fault").text
    answer(seller, gid, number, None)
    again = own.sent(form, f"{path}/answers", "answer", text="Late")
    assert 409 == again.status
    assert "This question has been answered or declined already." in again.main
    for text in "12":
        ask(user, gid, text)
    again = asker.sent(asker.page(path), f"{path}/questions", text="3")
    assert (409, "3") == (again.status, again.one("textarea", id="question").raw.removeprefix("\n"))
    assert "You have as many open questions as one user may have." in again.main


@pytest.mark.databases("sqlite", "postgresql")
def test_a_text_of_the_longest_characters(come: Come, seller: User, house: House) -> None:
    """An answer of 2,000 characters passes in a form, whichever characters they are."""
    gid = seller.auction()
    number = ask(house.newcomer(), gid, "\N{CLOCK FACE ONE OCLOCK}" * 1000)
    own = come()
    text = "\N{CLOCK FACE TWO OCLOCK}" * 2000
    sent = own.send(own.page(f"/lots/{gid}"), f"/lots/{gid}/answers", "answer", text=text)
    assert 303 == sent.status_code, sent.text
    [found] = seller.json("GET", f"/auctions/{gid}/questions")["questions"]
    assert (number, text) == (found["number"], found["answer"])


def test_forms_that_no_page_has_made(come: Come, seller: User, house: House) -> None:
    """Without a token of the page, or as somebody who may not, nothing is asked or answered; odd numbers are no 5xx."""
    gid = seller.auction()
    path = f"/lots/{gid}"
    user = house.newcomer()
    number = ask(user, gid)
    asker, own = come(user), come()
    assert 403 == asker.send(asker.page(path), f"{path}/questions", text="Forged", csrfToken="00").status_code
    token = asker.page(path).all("input", name="csrfToken")[0]["value"]
    for sent in (number, 0, "x", "", "9" * 30):
        fields = {"csrfToken": token, "question": str(sent), "text": "Mine", "do": "answer"}
        assert asker.http.post(f"{path}/answers", data=fields).status_code in (400, 403)
    token = own.page(path).all("input", name="csrfToken")[0]["value"]
    assert 403 == own.http.post(f"{path}/questions", data={"csrfToken": token, "text": "Own"}).status_code
    assert 404 == own.http.post("/lots/none/questions", data={"csrfToken": token, "text": "Own"}).status_code
    [found] = seller.json("GET", f"/auctions/{gid}/questions")["questions"]
    assert ("Does it run?", "open") == (found["text"], found["status"])


def test_a_session_that_has_ended(come: Come, seller: User, house: House) -> None:
    """A question from an ended session leads to the form to log in and back to the lot; a part of a page says so."""
    gid = seller.auction()
    user = house.newcomer()
    asker = come(user)
    form = asker.page(f"/lots/{gid}")
    user.json("DELETE", "/logout")
    sent = asker.send(form, f"/lots/{gid}/questions", text="Does it run?")
    assert (303, f"/login?next=/lots/{gid}") == (sent.status_code, sent.headers["location"])
    asker.http.headers["HX-Request"] = "true"
    part = asker.send(form, f"/lots/{gid}/questions", text="Does it run?")
    assert 401 == part.status_code
    assert "You are no longer logged in." in part.text
    assert [] == seller.json("GET", f"/auctions/{gid}/questions")["questions"]


def test_a_form_of_another_session(come: Come, seller: User, house: House) -> None:
    """After another login in the same browser the text comes back to be sent again, by the one who is logged in now."""
    gid = seller.auction()
    user = house.newcomer()
    asker = come(user)
    form = asker.page(f"/lots/{gid}")
    asker.http.cookies["saleroom_session"] = house.log_in(user.name).token
    again = asker.sent(form, f"/lots/{gid}/questions", text="Does it run?")
    assert 403 == again.status
    assert "You have logged in since this page was opened." in again.main
    assert [] == seller.json("GET", f"/auctions/{gid}/questions")["questions"]
    assert 303 == asker.send(again, f"/lots/{gid}/questions").status_code
    [found] = seller.json("GET", f"/auctions/{gid}/questions")["questions"]
    assert "Does it run?" == found["text"]


def test_my_saleroom_counts_them(come: Come, seller: User, house: House) -> None:
    """Open questions stand at the seller's lot until they are settled, an answer at the asker's; neither after the end."""
    gid = seller.auction()
    user = house.newcomer()
    user.request("PUT", f"/auctions/{gid}/watch")
    numbers = [ask(user, gid), ask(user, gid, "Is it old?")]
    seller.request("PUT", f"/auctions/{gid}/watch")
    for path in ("/mine/selling", "/mine/watching"):
        assert "2 open questions" in come().page(path).main
    assert "answered your question" not in come(user).page("/mine/watching").main
    answer(seller, gid, numbers[0])
    assert "1 open question" in come().page("/mine/selling").main
    user.bid(gid, amount="100")
    for path in ("/mine/watching", "/mine"):
        assert "The seller has answered your question" in come(user).page(path).main
    answer(seller, gid, numbers[1], None)
    assert "open question" not in come().page("/mine/selling").main
    seller.json("POST", f"/auctions/{gid}/close", json={})
    assert "answered your question" not in come(user).page("/mine").main


def test_a_bidder_sees_an_answer_before_confirming(come: Come, seller: User, house: House) -> None:
    """The step before a bid brings answers that were given since the page was opened."""
    gid = seller.auction(startingPrice="10")
    bidder = come(house.newcomer())
    opened = bidder.page(f"/lots/{gid}")
    answer(seller, gid, ask(house.newcomer(), gid))
    bidder.http.headers["HX-Request"] = "true"
    assert "It does." in bidder.send(opened, f"/lots/{gid}/bid", amount="10").text


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let streams ask at once whether there is more, and keep nothing."""
    monkeypatch.setattr(streams, "COMMENT_SECONDS", 0.05)
    monkeypatch.setattr(live, "STORY_SECONDS", 0.0)


@pytest.mark.usefixtures("quickly")
def test_an_open_page_is_told(come: Come, seller: User, house: House) -> None:
    """Without any bid, the stream of an open page has a remark and an answer once they are there, but nothing secret."""
    gid = seller.auction()
    user = house.newcomer()
    asked = ask(user, gid, "Secret?")
    address = re.search(r'hx-sse:connect="([^"]+)"', come(None).http.get(f"/lots/{gid}").text)
    assert address is not None
    path = address[1].replace("&amp;", "&")
    seen = messages(
        house,
        path,
        "key is missing",
        lambda: seller.json("POST", f"/auctions/{gid}/remarks", json={"text": "The key is missing."}),
    )
    assert "Secret?" not in "".join(seen)
    assert "The seller has added a remark." in seen[-1]
    path = f"/lots/{gid}/live?after=1&story=1.0.0"
    seen = messages(house, path, "It does.", lambda: answer(seller, gid, asked))
    assert 'id="lot-answers"' in seen[-1]
    assert "The seller has answered a question." in seen[-1]
    assert "The seller has added a remark." not in seen[-1]
    # A page that has all of it is told nothing but the time.
    seen = messages(house, f"/lots/{gid}/live?after=1&story=1.1.0", "lot-panel", lambda: user.bid(gid, amount="100"))
    assert "lot-answers" not in "".join(seen)


@pytest.mark.usefixtures("quickly")
def test_the_seller_is_told_of_a_question(seller: User, house: House) -> None:
    """The stream of the seller's own page leads to a new question; nobody else's does."""
    gid = seller.auction()
    user = house.newcomer()
    cookie = {"Cookie": f"saleroom_session={seller.token}"}
    seen = messages(house, f"/lots/{gid}/live?after=1&story=0.0.0", "question-news", lambda: ask(user, gid), **cookie)
    assert "There is a new question." in seen[-1]
    assert "Does it run?" not in seen[-1]
    seen = messages(house, f"/lots/{gid}/live?after=1&story=0.0.0", "lot-panel", lambda: user.bid(gid, amount="100"))
    assert "question-news" not in "".join(seen)


@pytest.mark.usefixtures("quickly")
def test_a_hidden_lot_tells_nothing(seller: User, house: House) -> None:
    """The stream of a lot that the house has hidden has no remark, question or answer, as its page has none."""
    gid, user = seller.auction(), house.newcomer()
    answer(seller, gid, ask(user, gid))
    path = f"/lots/{gid}/live?after=1&story=0.0.0"
    assert "It does." in "".join(messages(house, path, "It does.", None))
    staff = house.staff(Role.OWNER)
    staff.json("PUT", f"/auctions/{gid}/hiding", json={"reason": "It may be stolen."})

    def shown() -> None:
        staff.json("DELETE", f"/auctions/{gid}/hiding")

    seen = messages(house, path, "It does.", shown)
    assert 2 <= sum("event: time" in message for message in seen), "the beginning has no answer, the next beat has"


@pytest.mark.parametrize("mark", ["", "x", "1.2", "-1.0.0", "9" * 50, "1.2.3.4", "%00"])
def test_an_odd_mark(house: House, mark: str) -> None:
    """A stream begins whatever mark an address has."""
    gid = house.user("ada").auction()
    seen = messages(
        house, f"/lots/{gid}/live?after=1&story={mark}", "lot-panel", lambda: house.user("grace").bid(gid, amount="100")
    )
    assert seen
