"""Guessed passwords, names and tokens: the tries of one address, the effect on others, and what answers give away."""

import math
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from saleroom.accounts.service.accounts import FAILED_LOGINS_PER_HOUR
from saleroom.accounts.service.throttle import DELAY_SECONDS_MAX, FREE_FAILURES
from saleroom.settings import Settings
from tests.abuse.attack import ELSEWHERE, HERE, PROXY, THERE, HastyHouse, client, credentials, sale
from tests.process import PASSWORD

FAILURES_MAX = 30
REGISTRATIONS_MAX = 20
LOAD_KEY = "a key is sixteen long".replace(" ", "-")
TOKENS = 300
BOTS = [f"127.0.1.{number}" for number in range(1, 41)]


@pytest.fixture(scope="module")
def guessed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HastyHouse]:
    """A house for all of these tests, where ada and bob have accounts."""
    house = HastyHouse(
        tmp_path_factory.mktemp("guessed"),
        failed_logins_per_hour=str(FAILURES_MAX),
        registrations_per_hour=str(REGISTRATIONS_MAX),
        load_key=LOAD_KEY,
        trusted_proxies=PROXY,
    )
    with client(house, HERE) as people:
        for name in ("ada", "bob"):
            assert 201 == people.post("/users", **credentials(name)).status_code
    yield house
    house.kill()


def told(answer: httpx.Response) -> tuple[int, str, dict[str, str]]:
    """Return every part of an answer that could differ between guesses."""
    return answer.status_code, answer.text, {name: value for name, value in answer.headers.items() if name != "date"}


def test_the_default_is_the_one_of_the_settings() -> None:
    """A house without settings allows as many failed logins as the default of the setting."""
    assert FAILED_LOGINS_PER_HOUR == Settings.model_fields["failed_logins_per_hour"].default


def test_a_list_of_names_is_tried_from_one_address(guessed: HastyHouse) -> None:
    """An address gets few tries of thousands of passwords; a user known there still logs in, any other from elsewhere."""
    with client(guessed, THERE) as hall, client(guessed, ELSEWHERE) as home, sale(guessed):
        assert 200 == hall.post("/login", **credentials("ada")).status_code
        tried = Counter(hall.post("/login", **credentials(f"name{number}")).status_code for number in range(100))
        assert FAILURES_MAX <= tried[422] <= FAILURES_MAX + 2
        assert 100 == tried[422] + tried[429]
        refused = hall.post("/login", **credentials("bob"))
        assert (429, "too_many_requests") == (refused.status_code, refused.json()["code"])
        assert 1 <= int(refused.headers["Retry-After"]) <= 3600 // FAILURES_MAX
        assert 200 == hall.post("/login", **credentials("ada")).status_code
        assert 200 == home.post("/login", **credentials("bob")).status_code


def test_one_name_is_tried_from_many_addresses(guessed: HastyHouse) -> None:
    """Each address has five tries and then waits; the owner of the name logs in from another address as usual."""
    with sale(guessed), client(guessed, "127.0.2.1") as owner, ThreadPoolExecutor(4) as pool:

        def attack(source: str) -> tuple[int, float]:
            began = time.monotonic()
            with client(guessed, source) as bot:
                tried = Counter(bot.post("/login", **credentials("bob", "guess")).status_code for _ in range(8))
            return tried[422], time.monotonic() - began

        attacks = [pool.submit(attack, source) for source in BOTS[:6]]
        assert 200 == owner.post("/login", **credentials("bob")).status_code
        for checked, seconds in (one.result() for one in attacks):  # delays of 1, 2, 4 ... seconds
            assert checked <= FREE_FAILURES + 1 + math.log2(1 + seconds)
        assert 200 == owner.post("/login", **credentials("bob")).status_code


def test_tries_at_once_do_not_share_a_delay(guessed: HastyHouse) -> None:
    """An address that has to wait gains nothing by sending all tries together: one is checked, the others are refused."""
    with client(guessed, BOTS[20]) as bot, ThreadPoolExecutor(16) as pool:

        def guess(_: int) -> int:
            return bot.post("/login", **credentials("ada", "guess")).status_code

        assert {422} == {guess(number) for number in range(FREE_FAILURES)}
        checked, delay, seconds = 0, 1.0, 0.0
        while not checked or seconds > delay:  # until the delay is over, and all come within the next one
            began = time.monotonic()
            checked = Counter(pool.map(guess, range(16)))[422]
            seconds, delay = time.monotonic() - began, min(DELAY_SECONDS_MAX, delay * 2**checked)
        assert 1 == checked


def test_nobody_says_where_they_come_from(guessed: HastyHouse) -> None:
    """Only a trusted proxy is believed, and only the last address, which it added itself: a client may write the rest."""

    def failures(source: str, said: str) -> list[int]:
        with client(guessed, source) as bot:
            forged = ({"X-Forwarded-For": said.format(number), "X-Real-IP": f"192.0.2.{number}"} for number in range(8))
            return [bot.post("/login", **credentials("bob", "guess"), headers=one).status_code for one in forged]

    for source, said in ((BOTS[34], "192.0.2.{}"), (PROXY, "192.0.2.{}, 203.0.113.5")):
        assert 429 in failures(source, said)
    assert [422] * 8 == failures(PROXY, "203.0.113.5, 198.51.100.{}")


def test_registrations_in_masses(guessed: HastyHouse) -> None:
    """One address makes so many accounts; the next one is told when, others register, and the sale goes on."""
    with client(guessed, THERE) as flood, client(guessed, ELSEWHERE) as home, sale(guessed):
        made = Counter(flood.post("/users", **credentials(f"mass{number}")).status_code for number in range(24))
        assert {201: REGISTRATIONS_MAX, 429: 24 - REGISTRATIONS_MAX} == made
        assert 1 <= int(flood.post("/users", **credentials("another")).headers["Retry-After"]) <= 3600
        assert 201 == home.post("/users", **credentials("newcomer")).status_code


def test_tokens_that_are_guessed(guessed: HastyHouse) -> None:
    """Guesses of any form get one answer, which gives nothing away, and do not slow the sale."""
    guesses = [
        "A" * 15 + "=",
        "x",
        "=" * 500,
        "' OR 1=1 --",
        "\u00ff",
        *(f"{number:014d}==" for number in range(TOKENS)),
    ]
    with client(guessed, THERE) as bot, sale(guessed):
        answers = [bot.get("/me", headers={b"Authorization": f"Bearer {guess}".encode("latin-1")}) for guess in guesses]
    assert 1 == len({str(told(answer)) for answer in answers})
    assert 401 == answers[0].status_code


def test_an_answer_does_not_reveal_whether_a_user_exists(guessed: HastyHouse) -> None:
    """A name that nobody has, a wrong password, and a user without one: the same status, body and headers, on both doors."""
    with client(guessed, BOTS[30]) as asking:
        key = {"Authorization": f"Bearer {LOAD_KEY}"}
        without = asking.post("/test-users", headers=key, json={"count": 1}).json()["users"][0]["username"]
        names = ("nobody.at.all", "ada", without, "ADA", "ad\u00e4", "a\0da", "ada ", "x" * 60_000)
        answers = [asking.post("/login", **credentials(name, "a wrong one")) for name in names]
        assert 1 == len({str(told(answer)) for answer in answers})
        assert (422, {"message": "Invalid authentication"}) == (answers[0].status_code, answers[0].json())
        pages = [asking.post("/session", data={"username": name, "password": "a wrong one"}) for name in names[:3]]
        shown = {page.text.replace(name, "?") for page, name in zip(pages, names, strict=False)}
        assert 1 == len({page.status_code for page in pages}) == len({_unmasked(page) for page in shown})


def _unmasked(page: str) -> str:
    """Return a page without the token of its form, which reads differently each time."""
    head, found, tail = page.partition('name="csrfToken" value="')
    return head + tail.partition('"')[2] if found else page


def test_a_session_is_not_taken_over(guessed: HastyHouse) -> None:
    """The login ends a session that an attacker has put into the browser; it never becomes the reader's."""
    with client(guessed, BOTS[31]) as attacker, client(guessed, BOTS[32]) as victim:
        planted = attacker.post("/login", **credentials("bob")).json()["token"]
        for before in (planted, "planted"):
            victim.cookies.set("saleroom_session", before)
            answer = victim.post("/session", data={"username": "ada", "password": PASSWORD})
            assert 303 == answer.status_code
            after = answer.headers["set-cookie"].partition("saleroom_session=")[2].partition(";")[0]
            assert before != after
            who = victim.get("/me", headers={"Authorization": f"Bearer {after}"}).json()
            assert "ada" == who["username"]
        assert 401 == attacker.get("/me", headers={"Authorization": f"Bearer {planted}"}).status_code


def test_every_login_is_in_the_log(guessed: HastyHouse) -> None:
    """The log names user and address of each login, failure and password change, but no unknown name: it may be a password."""
    with client(guessed, BOTS[33]) as asking:
        token = asking.post("/login", **credentials("ada")).json()["token"]
        asking.post("/login", **credentials("ada", "a wrong one"))
        asking.post("/login", **credentials("my-secret-password"))
        for current, new in (("a wrong one", "a new one"), (PASSWORD, "a new one"), ("a new one", PASSWORD)):
            change = {"currentPassword": current, "newPassword": new}
            asking.put("/me/password", json=change, headers={"Authorization": f"Bearer {token}"})
    log = guessed.log()
    lines = [line for line in log.splitlines() if f"address={BOTS[33]} " in line]
    assert [
        ("somebody logged in", "user=ada"),
        ("a login failed", "user=ada"),
        ("a login failed", "user=unknown"),
        ("a change of password failed", "user=ada"),
        *[("a password was changed", "user=ada")] * 2,
    ] == [(line[40:].split("  ")[0].strip(), line.split()[-1]) for line in lines]
    assert not any(secret in log for secret in ("my-secret-password", "a new one", PASSWORD))


def test_every_end_of_a_session_is_in_the_log(guessed: HastyHouse) -> None:
    """The log names the user whose sessions end, by themselves one by one or all together."""
    before = guessed.log().count("ended")
    with client(guessed, BOTS[34]) as asking:
        tokens = [asking.post("/login", **credentials("ada")).json()["token"] for _ in range(3)]
        headers = [{"Authorization": f"Bearer {token}"} for token in tokens]
        assert 204 == asking.delete("/logout", headers=headers[0]).status_code
        [other] = [
            one["id"] for one in asking.get("/me/sessions", headers=headers[2]).json()["sessions"] if one["current"]
        ]
        assert 204 == asking.delete(f"/me/sessions/{other}", headers=headers[1]).status_code
        assert 204 == asking.delete("/me/sessions", headers=headers[1]).status_code
    lines = [line for line in guessed.log().splitlines() if "ended" in line][before:]
    assert ["a session was ended", "a session was ended", "all sessions of a user were ended"] == [
        line[40:].partition(" user=")[0].strip() for line in lines
    ]
    assert all("user=ada" in line for line in lines)
