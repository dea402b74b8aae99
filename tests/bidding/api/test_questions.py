"""Questions over HTTP: asked of a seller, answered in public, and seen by nobody else before."""

from __future__ import annotations

from typing import Any

import pytest

from tests.bidding.api.answers import refusal
from tests.fixtures_house import CheckedClient, House

pytestmark = pytest.mark.databases("sqlite")


def seen(client: CheckedClient, gid: str) -> list[tuple[str, str, bool]]:
    """What a reader sees: text, status and whether it is the reader's own."""
    found = client.json("GET", f"/auctions/{gid}/questions")["questions"]
    return [(one["text"], one["status"], one["own"]) for one in found]


def test_a_question_is_answered_in_public(house: House) -> None:
    """Before its answer asker and seller see it, then all, without a name; auction and ledger are as before."""
    ada, bob, cyd = house.newcomer(), house.newcomer(), house.newcomer()
    gid = ada.auction()
    before = house.anyone.get(f"/auctions/{gid}").json(), house.anyone.get(f"/auctions/{gid}/ledger").content
    answer = bob.post(f"/auctions/{gid}/questions", json={"text": " Does it run?\nReally? "})
    asked = answer.json()
    assert (201, "open", None, None, True) == (
        answer.status_code,
        *(asked[name] for name in ("status", "answer", "answeredAt", "own")),
    )
    text = "Does it run?\nReally?"
    assert [[(text, "open", True)], [(text, "open", False)]] == [seen(one, gid) for one in (bob, ada)]
    assert [[], []] == [seen(one, gid) for one in (cyd, house.anyone)]
    said = ada.post(f"/auctions/{gid}/answers", json={"question": asked["number"], "text": "It does."})
    assert (201, "It does.") == (said.status_code, said.json()["answer"])
    assert said.json() == house.anyone.json("GET", f"/auctions/{gid}/questions")["questions"][0]
    assert asked["askedAt"] <= said.json()["answeredAt"]
    assert [[(text, "answered", own)] for own in (True, False, False)] == [seen(one, gid) for one in (bob, ada, cyd)]
    everything = house.anyone.get(f"/auctions/{gid}/questions").text + ada.get(f"/auctions/{gid}/questions").text
    assert bob.name not in everything
    assert before == (house.anyone.get(f"/auctions/{gid}").json(), house.anyone.get(f"/auctions/{gid}/ledger").content)
    assert 405 == ada.delete(f"/auctions/{gid}/questions").status_code


def test_a_question_is_declined(house: House) -> None:
    """A declined question is shown only to its asker, who is told; it cannot be answered any more."""
    ada, bob = house.newcomer(), house.newcomer()
    gid = ada.auction()
    asked = bob.json("POST", f"/auctions/{gid}/questions", json={"text": "Rubbish?"})
    for _ in range(2):
        declined = ada.json("POST", f"/auctions/{gid}/answers", json={"question": asked["number"], "text": None})
        assert ("declined", None, None) == (declined["status"], declined["answer"], declined["answeredAt"])
    assert [[("Rubbish?", "declined", True)], [], []] == [seen(one, gid) for one in (bob, ada, house.anyone)]
    late = ada.post(f"/auctions/{gid}/answers", json={"question": asked["number"], "text": "Well"})
    assert (409, "question_settled") == refusal(late)


def test_questions_that_are_refused(house: House) -> None:
    """The seller asks nothing, others answer nothing, nothing is said once it is over; bad input is told; nothing is added."""
    ada, bob = house.newcomer(), house.newcomer()
    gid, other, over = ada.auction(), ada.auction(), ada.auction()
    late = bob.json("POST", f"/auctions/{over}/questions", json={"text": "Soon?"})["number"]
    ada.delete(f"/auctions/{over}")
    number = bob.json("POST", f"/auctions/{gid}/questions", json={"text": "Does it run?"})["number"]

    def ask(client: CheckedClient, lot: str, text: Any = "What?") -> Any:
        return client.post(f"/auctions/{lot}/questions", json={"text": text})

    def say(client: CheckedClient, lot: str, question: Any = number, text: Any = "Yes") -> Any:
        return client.post(f"/auctions/{lot}/answers", json={"question": question, "text": text})

    tries = [
        (ask(ada, gid), 403, "own_auction"),
        (ask(bob, over), 409, "auction_closed"),
        (ask(bob, "none"), 404, "unknown_auction"),
        (ask(house.anyone, gid), 401, "unauthenticated"),
        (say(bob, gid), 403, "not_author"),
        (say(bob, gid, 2**31 - 1), 403, "not_author"),
        (say(ada, gid, 2**31 - 1), 404, "unknown_question"),
        (say(ada, other), 404, "unknown_question"),
        (say(ada, "none"), 404, "unknown_auction"),
        (say(ada, over, late), 409, "auction_closed"),
        (say(house.anyone, gid), 401, "unauthenticated"),
    ]
    for answer, status, code in tries:
        assert (status, code) == refusal(answer)
    for text in ("", " ", "x" * 1001, "bell\x07", 5, None):
        assert 400 == ask(bob, gid, text).status_code
    for question, text in ((number, ""), (number, "x" * 2001), (0, "Yes"), (2**31, "Yes"), ("1", "Yes"), (None, "Yes")):
        assert 400 == say(ada, gid, question, text).status_code
    assert 400 == ada.post(f"/auctions/{gid}/answers", json={"question": number}).status_code
    assert 404 == house.anyone.get("/auctions/none/questions").status_code
    assert [("Does it run?", "open", False)] == seen(ada, gid)


def test_a_user_waits_for_answers(house: House) -> None:
    """The fourth question that waits is refused, the same one again is one, and after an answer there is room for another."""
    ada, bob = house.newcomer(), house.newcomer()
    gid = ada.auction()
    path = f"/auctions/{gid}/questions"
    numbers = [bob.json("POST", path, json={"text": text})["number"] for text in ("1", "2", "3", "2")]
    assert numbers[1] == numbers[3]
    answer = bob.post(path, json={"text": "4"})
    assert ((409, "too_many_questions"), 3) == (refusal(answer), answer.json()["limit"])
    ada.json("POST", f"/auctions/{gid}/answers", json={"question": numbers[0], "text": "Yes"})
    assert 201 == bob.post(path, json={"text": "4"}).status_code


def test_a_lot_has_so_many_questions(house: House) -> None:
    """With a hundred questions a lot is full, until its seller declines some."""
    ada = house.newcomer()
    gid = ada.auction()
    path = f"/auctions/{gid}/questions"
    askers = [house.newcomer() for _ in range(34)]
    asked = [(one, text) for one in askers for text in "abc"][:100]
    numbers = [one.json("POST", path, json={"text": text})["number"] for one, text in asked]
    answer = house.newcomer().post(path, json={"text": "One more"})
    assert ((409, "questions_full"), 100) == (refusal(answer), answer.json()["limit"])
    ada.json("POST", f"/auctions/{gid}/answers", json={"question": numbers[0], "text": None})
    assert 201 == house.newcomer().post(path, json={"text": "One more"}).status_code
