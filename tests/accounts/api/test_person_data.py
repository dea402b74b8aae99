"""A user's own data over HTTP."""

import io
import json
import threading
import zipfile
from typing import Any, BinaryIO

import pytest
from structlog.testing import capture_logs

from saleroom.admin import person_export, transfers
from saleroom.settings import Settings
from tests.bidding.api.answers import refusal
from tests.fixtures_house import PASSWORD, House, ServeHouse
from tests.site.visitor import Visitor

SENT = {"password": PASSWORD}


def test_the_archive_is_the_users_own(house: House) -> None:
    """The ZIP has what `saleroom users export` writes, over the API and from the page; nobody keeps a copy on the way."""
    ada, bob = house.newcomer(), house.newcomer()
    gid = ada.auction()
    bob.bid(gid, amount="20")
    sent = bob.http.post("/me/export", json=SENT)
    visitor = Visitor(house, bob)
    shown = visitor.send(visitor.page("/mine/data"), "/mine/data/export", **SENT)
    for answer in (sent, shown):
        assert (200, "application/zip") == (answer.status_code, answer.headers["content-type"])
        assert ("no-store", True) == (
            answer.headers["cache-control"],
            "attachment" in answer.headers["content-disposition"],
        )
        with zipfile.ZipFile(io.BytesIO(answer.content)) as found:
            assert None is found.testzip()
            account, bids = (json.loads(found.read(name)) for name in ("account.json", "bids.json"))
        assert ([bob.name], [gid]) == ([one["username"] for one in account], [one["lot"] for one in bids])


def test_what_is_refused(serve_house: ServeHouse) -> None:
    """A wrong password, a token of a program, and a user who asks all the time get no archive."""
    house = serve_house()
    ada, visitor = house.newcomer(), Visitor(house)
    assert (403, "wrong_password") == refusal(ada.http.post("/me/export", json={"password": "not it"}))
    asked = SENT | {"label": "bot", "scopes": ["read"], "days": 1}
    program = {"Authorization": f"Bearer {ada.json('POST', '/me/access-tokens', json=asked)['accessToken']}"}
    assert (403, "missing_right") == refusal(house.anyone.post("/me/export", json=SENT, headers=program))
    assert 303 == visitor.http.get("/mine/data").status_code
    assert [200, 200, 200, 429] == [ada.http.post("/me/export", json=SENT).status_code for _ in range(4)]
    assert 200 == house.newcomer().http.post("/me/export", json=SENT).status_code


def test_while_another_version_takes_over(serve_house: ServeHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process whose tables another version has already changed refuses for a while, and says why in its log."""
    monkeypatch.setattr(transfers, "newest_revision", lambda: "0001")
    with capture_logs() as lines:
        assert (503, "busy") == refusal(serve_house().newcomer().http.post("/me/export", json=SENT))
    assert any("not at 0001" in line.get("reason", "") for line in lines)


def test_one_is_made_at_a_time_beside_the_requests(serve_house: ServeHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """While an archive is being made the house answers, and refuses another archive for a moment."""
    begun, goes_on = threading.Event(), threading.Event()

    def slow(settings: Settings, username: str, target: BinaryIO) -> Any:
        begun.set()
        assert goes_on.wait(30)
        return write(settings, username, target)

    write = person_export.write
    monkeypatch.setattr(person_export, "write", slow)
    house = serve_house()
    ada, bob = house.newcomer(), house.newcomer()
    answers = []
    asking = threading.Thread(target=lambda: answers.append(ada.http.post("/me/export", json=SENT)))
    asking.start()
    assert begun.wait(30)
    assert 200 == house.anyone.get("/time").status_code
    assert (503, "busy") == refusal(bob.http.post("/me/export", json=SENT))
    goes_on.set()
    asking.join()
    assert [200] == [one.status_code for one in answers]
