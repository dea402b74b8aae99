"""Bids over MQTT that are too many, or that the house cannot place."""

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from functools import partial

import pytest

from saleroom.accounts.service.throttle import RateLimit
from saleroom.bidding.api import devices
from saleroom.bidding.service.bidding import BidCommand
from saleroom.bidding.service.desk import Desk
from saleroom.mqtt.topics import MqttSettings
from tests.fixtures_house import House, ServeHouse, User
from tests.fixtures_mqtt import Join, connected, on
from tests.http.conftest import Log
from tests.line import Line
from tests.mqtt.device import V311, Device
from tests.mqtt.equipment import Mosquitto
from tests.patience import SECONDS_MAX
from tests.process import wait_until


@pytest.fixture
def line(database_url: str) -> Iterator[Line]:
    """A connection to the test's PostgreSQL."""
    line = Line(database_url)
    yield line
    line.cut()


def test_drops_are_told_once_a_second(modern: House, mosquitto: Mosquitto, join: Join, errors_logged: Log) -> None:
    """A storm of invalid messages logs one line for the first and then one a second, and counts all messages."""
    device = join(mosquitto.settings)
    for _ in range(300):
        device.send("x", b"rubbish")
        device.send("x", b"\0" * 5000)

    def told() -> Counter[str]:
        total: Counter[str] = Counter()
        for line in errors_logged:
            total.update(line.get("reasons", {}))
        return total

    wait_until(lambda: told() == {"nowhere to answer": 300, "oversized": 300})
    assert len([line for line in errors_logged if "reasons" in line]) < 30


@pytest.fixture
def standing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rates of tokens have a clock that stands still."""
    monkeypatch.setattr(devices, "RateLimit", lambda rate, burst: RateLimit(rate, burst, lambda: 0.0))


@pytest.mark.usefixtures("standing")
def test_a_token_has_a_rate_of_its_own(modern: House, mosquitto: Mosquitto, join: Join) -> None:
    """A token that bids too often is told how long to wait; other tokens are served."""
    gid, ada, bob = modern.user("seller").auction(), modern.user("ada"), modern.user("bob")
    device = join(mosquitto.settings, "saleroom/replies/#")
    for number in range(200):
        device.send(gid, {"token": ada.token, "id": f"{number}", "amount": "1"})
    device.until(lambda: len(device.heard) >= 200, "all answers")
    answers = {heard.topic.rpartition("/")[2]: json.loads(heard.payload) for heard in device.heard}
    assert {str(number) for number in range(200)} == answers.keys()
    assert [409] * devices.RATE_BURST == [answers[str(number)]["status"] for number in range(devices.RATE_BURST)]
    late = [answer for answer in answers.values() if answer["status"] != 409]
    assert 200 - devices.RATE_BURST == len(late)
    assert {(429, "too_many_requests", 1)} == {(a["status"], a["code"], a["retryAfter"]) for a in late}
    assert 201 == device.ask(gid, bob.token, amount="12")["status"]


def test_a_storm_of_commands(served: House, broker: MqttSettings, join: Join) -> None:
    """Each of 500 commands of 20 devices is answered, the accepted bids are the history, and the highest of them leads.

    Which of them that is depends on their order: who leads already is not outbid by a higher amount of their own.
    """
    gid = served.user("seller").auction(increment="0.001")
    people = [served.newcomer() for _ in range(20)]
    devices = [join(broker, f"saleroom/replies/{person.name}/+", version=V311) for person in people]
    for person, device in zip(people, devices, strict=True):
        for number in range(25):
            device.subscribe(f"saleroom/replies/{person.name}/{number}")

    def storm(which: int) -> None:
        for number in range(25):
            command = {
                "token": people[which].token,
                "id": f"{people[which].name}/{number}",
                "amount": f"{10 + number}.{which:03}",
            }
            devices[which].send(gid, command)

    threads = [threading.Thread(target=storm, args=(which,)) for which in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    accepted = []
    for which, device in enumerate(devices):
        device.until(partial(_has_all, device), "all answers")
        answers = {heard.topic: json.loads(heard.payload) for heard in device.heard}
        assert {f"saleroom/replies/{people[which].name}/{number}" for number in range(25)} == answers.keys()
        assert {answer["status"] for answer in answers.values()} <= {201, 409}
        accepted += [(people[which].name, a["bid"]["amount"]) for a in answers.values() if a["status"] == 201]
    assert sorted(accepted) == sorted(_history(people[0], gid))
    shown = people[0].json("GET", f"/auctions/{gid}")
    assert max(accepted, key=lambda bid: Decimal(bid[1])) == (shown["currentBidder"], shown["currentBid"])


def _has_all(device: Device) -> bool:
    return len({heard.topic for heard in device.heard}) >= 25


def _history(user: User, gid: str) -> Iterator[tuple[str, str]]:
    page = user.json("GET", f"/auctions/{gid}/bids?limit=100")
    while True:
        yield from ((bid["bidder"], bid["amount"]) for bid in page["bids"])
        if page["next"] is None:
            return
        page = user.json("GET", f"/auctions/{gid}/bids?limit=100&cursor={page['next']}")


def test_commands_beyond_the_limit_are_told_so(
    modern: House, mosquitto: Mosquitto, join: Join, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While too many commands wait, the next command is answered `busy`, and nothing changes."""
    monkeypatch.setattr(devices, "UNDER_WAY_MAX", 0)
    gid, ada = modern.user("seller").auction(), modern.user("ada")
    device = join(mosquitto.settings)
    answer = device.ask(gid, ada.token, id="x", amount="12")
    assert (503, "busy") == (answer["status"], answer["code"])
    monkeypatch.setattr(devices, "UNDER_WAY_MAX", 1)
    assert 201 == device.ask(gid, ada.token, id="x", amount="12")["status"]


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
def test_without_the_database_devices_are_told_so(
    mosquitto: Mosquitto,
    line: Line,
    serve_house: ServeHouse,
    join: Join,
    errors_logged: Log,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """While PostgreSQL is away, a command is answered 503 `unavailable`; afterwards the same command is placed."""
    monkeypatch.setattr("saleroom.logs.TELL_SECONDS", 600.0)
    house = connected(serve_house(database=line.url, **on(mosquitto.settings)))
    gid, ada = house.user("seller").auction(), house.user("ada")
    device = join(mosquitto.settings, "saleroom/status")
    line.cut()
    answer = device.ask(gid, ada.token, id="x", amount="12")
    assert (503, "unavailable") == (answer["status"], answer["code"])
    line.mend()
    assert 201 == device.ask(gid, ada.token, id="x", amount="12")["status"]
    assert ["online"] == [json.loads(heard.payload)["status"] for heard in device.on("saleroom/status")]
    errors_logged.clear()


def test_a_house_that_stops_answers_what_has_come(
    mosquitto: Mosquitto, serve_house: ServeHouse, join: Join, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command from before the stop is decided, published and answered, and `offline` comes last."""
    house = connected(serve_house(**on(mosquitto.settings)))
    gid, ada = house.user("seller").auction(), house.user("ada")
    device = join(mosquitto.settings, "saleroom/#")
    under_way = threading.Event()
    place = Desk.place

    async def slowly(desk: Desk, command: BidCommand) -> bytes:
        under_way.set()
        await asyncio.sleep(0.5)
        return await place(desk, command)

    monkeypatch.setattr(Desk, "place", slowly)
    device.send(gid, {"token": ada.token, "id": "last", "amount": "12"})
    assert under_way.wait(SECONDS_MAX)
    house.stop()
    device.until(lambda: bool(device.on("saleroom/status")[1:]), "offline")
    assert "saleroom/status" == device.heard[-1].topic
    [answer] = device.on("saleroom/replies/last")
    assert 201 == json.loads(answer.payload)["status"]
    types = [json.loads(heard.payload)["type"] for heard in device.on(f"saleroom/auctions/{gid}/events")]
    assert ["bid.placed"] == types[-1:]
