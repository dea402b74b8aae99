"""The house as a whole: `saleroom` as a process on each database, started, used, stopped, killed and started again."""

import asyncio
import json
import re
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from sqlalchemy import func, select, update

from saleroom.bidding.storage import auctions
from saleroom.bidding.storage.tables import events
from saleroom.mqtt.topics import MqttSettings
from saleroom.storage.database import Transaction
from saleroom.storage.tables import heartbeats
from tests.fixtures_process import Start, Visit
from tests.mqtt.equipment import Mosquitto, Subscriber, free_port
from tests.patience import SECONDS_MAX
from tests.process import PASSWORD, saleroom, wait_until
from tests.storm import bid_until_the_end, in_database


@pytest.mark.parametrize(
    ("database_kind", "written"),
    [("sqlite", "sqlite"), ("postgresql", "postgresql"), ("postgresql", "postgres")],
    indirect=["database_kind"],
)
def test_an_auction_on_a_database_as_people_write_it(
    database_kind: str, written: str, bare_database_url: str, start: Start, visit: Visit
) -> None:
    """On a bare database, however its URL is written, the house makes its tables, holds an auction and ends with 0."""
    house = start("--database", bare_database_url.replace(database_kind, written, 1))
    anyone = visit(house)
    ada, ben = anyone.enter("ada"), anyone.enter("ben")
    gid = anyone.sell(ada, startingPrice="12345678901234567.890")
    assert anyone.post(f"/auctions/{gid}/bids", ben, {"amount": "99999999999999999.999"})["leading"]
    sold = anyone.post(f"/auctions/{gid}/close", ada)
    assert ("sold", "99999999999999999.999", "ben") == (sold["outcome"], sold["currentBid"], sold["currentBidder"])
    assert {"status": "ok", "database": "ok", "mqtt": "off"}.items() <= anyone.get("/readyz").items()
    assert 0 == house.terminate()
    _, database, mqtt, *_ = house.output.splitlines()
    assert database.startswith(f"  database  {database_kind}://")
    assert "  mqtt      off" == mqtt
    assert [] == [
        line for line in house.log().splitlines() if "somebody registered" not in line and "logged in" not in line
    ]


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
def test_two_processes_serve(bare_database_url: str, start: Start, visit: Visit) -> None:
    """With `--workers 2` on PostgreSQL two processes serve, a token that one has ended is dead in both, and all end with 0."""
    house = start("--workers", "2", database=bare_database_url, test_spawns="yes")
    assert "with 2 processes" in house.output
    served_by = psutil.Process(house.process.pid).children(recursive=True)
    anyone = visit(house)
    token = anyone.enter("ada")
    assert 204 == anyone.ask("DELETE", "/logout", token).status_code
    # Each connection goes to the process that takes it first; so many find both.
    for _ in range(20):
        assert 401 == httpx.get(f"{house.url}/me", headers={"Authorization": f"Bearer {token}"}).status_code
    assert 0 == house.terminate(), house.told()
    assert [] == psutil.wait_procs(served_by, timeout=SECONDS_MAX)[1]


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
def test_migrate(bare_database_url: str, tmp_path: Path) -> None:
    """`saleroom migrate` makes the tables of a bare database, and names a revision that it does not know."""
    newest = saleroom(tmp_path, "migrate", "--database", bare_database_url)
    assert re.fullmatch(r"The tables are at revision [0-9]{4}\.\n", newest.stdout)
    assert (0, "") == (newest.returncode, newest.stderr)
    unknown = saleroom(tmp_path, "migrate", "--to", "nowhere", "--database", bare_database_url)
    assert (1, "", 1) == (unknown.returncode, unknown.stdout, len(unknown.stderr.splitlines()))
    assert "nowhere" in unknown.stderr


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
def test_users_from_the_command_line(bare_database_url: str, tmp_path: Path, start: Start, visit: Visit) -> None:
    """Users added by the command line may log in if registration is closed; a new password replaces the old one."""
    settings = {"database": bare_database_url, "registration": "closed"}
    added = saleroom(tmp_path, "users", "add", "Ada", stdin=f"{PASSWORD}\n", **settings)
    assert (0, "Added ada.\n", "") == (added.returncode, added.stdout, added.stderr)
    house = start(**settings)
    anyone = visit(house)
    assert 403 == anyone.ask("POST", "/users", body={"username": "ben", "password": PASSWORD}).status_code
    token = anyone.log_in("ada")
    changed = saleroom(tmp_path, "users", "password", "ada", stdin="battery staple\n", **settings)
    assert (0, "ada has a new password.\n") == (changed.returncode, changed.stdout)
    assert 422 == anyone.ask("POST", "/login", body={"username": "ada", "password": PASSWORD}).status_code
    assert anyone.log_in("ada", "battery staple") != token


def test_bad_settings_stop_the_start(tmp_path: Path) -> None:
    """Every bad or misspelt setting is named on a separate line, the exit code is 2, and no file is left behind."""
    refused = saleroom(tmp_path, "serve", "--port", "seventy", workers="0", databse="sqlite:///x.db")
    assert (2, "") == (refused.returncode, refused.stdout)
    lines = sorted(refused.stderr.splitlines())
    assert 3 == len(lines), refused.stderr
    for line, named in zip(lines, ["--port", "SALEROOM_DATABSE", "SALEROOM_WORKERS"], strict=True):
        assert line.startswith(f"saleroom: {named}")
    assert [] == list(tmp_path.iterdir())


def test_a_taken_port(tmp_path: Path) -> None:
    """A port that is taken stops the start with one line that names it and the remedy."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = saleroom(tmp_path, "serve", "--port", str(port), mqtt="off")
    assert (1, "") == (refused.returncode, refused.stdout)
    said = f"saleroom: cannot listen on 127.0.0.1 port {port}: Address already in use; choose another with --host or --port\n"
    assert said == refused.stderr


@pytest.mark.parametrize("database", ["postgresql://ada:s3cret@127.0.0.1:1/house", "sqlite:////nowhere/at/all.db"])
def test_a_database_that_is_not_there(database: str, tmp_path: Path) -> None:
    """A database that cannot be used stops the start with one line that names it, without its password."""
    refused = saleroom(tmp_path, "serve", "--port", "0", database=database, mqtt="off")
    assert (1, "", 1) == (refused.returncode, refused.stdout, len(refused.stderr.splitlines()))
    assert refused.stderr.startswith(f"saleroom: cannot use the database {database.replace('s3cret', '***')}: ")


def test_sigterm_finishes_what_is_in_flight(start: Start, visit: Visit) -> None:
    """If SIGTERM comes while a bid's body arrives, the bid is answered and kept; no new client is let in; the exit is 0."""
    house = start()
    anyone = visit(house)
    ada, ben = anyone.enter("ada"), anyone.enter("ben")
    gid = anyone.sell(ada)
    body = b'{"amount": "100"}'
    head = (
        f"POST /auctions/{gid}/bids HTTP/1.1\r\nHost: house\r\nX-Requested-With: test\r\nAuthorization: Bearer {ben}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    host, port = house.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=SECONDS_MAX) as connection:
        connection.sendall(head.encode() + body[:5])
        anyone.get("/healthz")
        code: list[int] = []
        ending = threading.Thread(target=lambda: code.append(house.terminate()))
        ending.start()
        wait_until(lambda: _refuses(host, int(port)))
        time.sleep(0.5)  # as long as an end that does not wait would take
        connection.sendall(body[5:])
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
        ending.join()
    assert answer.startswith(b"HTTP/1.1 201 ")
    assert [0] == code
    again = start()
    assert "100.000" == visit(again).get(f"/auctions/{gid}")["currentBid"]


@pytest.mark.parametrize(
    ("database_kind", "way"),
    [("sqlite", "SIGTERM"), ("sqlite", "SIGKILL"), ("postgresql", "SIGTERM")],
    indirect=["database_kind"],
)
def test_an_end_under_load_loses_nothing(way: str, database_url: str, start: Start, visit: Visit) -> None:
    """However the house ends while clients bid, each bid it has acknowledged is there again, and no answer was a 5xx."""
    house = start(database=database_url)
    anyone = visit(house)
    gid = anyone.sell(anyone.enter("ada"), startingPrice="1.000", increment="0.001")
    tokens = [anyone.enter(f"bidder-{number}") for number in range(8)]
    taken: list[dict[str, Any]] = []
    statuses: set[int] = set()
    with ThreadPoolExecutor(len(tokens)) as threads:
        bidding = [threads.submit(bid_until_the_end, house.url, gid, token, taken, statuses) for token in tokens]
        wait_until(lambda: len(taken) >= 50)
        if way == "SIGTERM":
            assert 0 == house.terminate()
        else:
            house.kill()
        for bids in bidding:
            bids.result()
    assert statuses <= {201, 409}, house.told()
    kept = visit(start(database=database_url)).history(gid)
    assert [] == [answer["bid"] for answer in taken if answer["bid"] not in kept]


def test_mqtt_on_two_houses_at_once(tmp_path: Path, start: Start, visit: Visit) -> None:
    """Two houses on one machine each have an embedded broker: the second takes a free port and names it."""
    first = start(mqtt="embedded", database=f"sqlite:///{tmp_path}/first.db")
    second = start(mqtt="embedded", database=f"sqlite:///{tmp_path}/second.db")
    assert first.mqtt_port != second.mqtt_port
    for house in (first, second):
        _sees_it_online(house.mqtt_port)


def test_a_broker_that_comes_later(tmp_path: Path, start: Start, visit: Visit) -> None:
    """Without its broker the house serves, warns once and keeps the events it owes; when the broker comes, all go out."""
    broker = Mosquitto(tmp_path, port=free_port())
    house = start(mqtt=f"mqtt://127.0.0.1:{broker.port}")
    anyone = visit(house)
    ada, ben = anyone.enter("ada"), anyone.enter("ben")
    gid = anyone.sell(ada)
    anyone.post(f"/auctions/{gid}/bids", ben, {"amount": "100"})
    wait_until(lambda: "MQTT broker not reached" in house.log())
    ready = anyone.get("/readyz")
    assert ("ok", "not connected", 2) == (ready["status"], ready["mqtt"], ready["owed"])
    broker.start()
    subscriber = Subscriber(broker.settings)
    try:
        topic = f"saleroom/auctions/{gid}/events"
        wait_until(lambda: len(_payloads(subscriber, topic)) >= 2)
        assert ["auction.created", "bid.placed"] == [event["type"] for event in _payloads(subscriber, topic)]
        wait_until(lambda: anyone.get("/readyz") == {"status": "ok", "database": "ok", "mqtt": "connected", "owed": 0})
        assert 0 == house.terminate()
        assert 1 == house.log().count("MQTT broker not reached")
    finally:
        subscriber.close()
        broker.kill()


def test_an_auction_that_fell_due_meanwhile_is_closed_once(
    database_kind: str, database_url: str, start: Start, visit: Visit
) -> None:
    """An auction whose end came while the house was stopped is closed at the next start, dated by its end, once.

    On PostgreSQL two processes start, and each of them has a closer.
    """
    ada, before = _ends_while_stopped(start, visit, database_url, {"maximum": "250"}, softClose=None)
    gid = before["gid"]
    house = start(database=database_url, workers="2" if database_kind == "postgresql" else "1")
    changes = {"status": "closed", "outcome": "sold", "minimumBid": None, "closedAt": before["endsAt"]}
    changes |= {"version": before["version"] + 1}
    after = visit(house).get(f"/auctions/{gid}", ada)
    assert before | changes | {"head": after["head"]} == after
    assert 0 == house.terminate()
    closes = [event for event in asyncio.run(_log_of(database_url, gid)) if event["type"] == "auction.closed"]
    assert [before["endsAt"]] == [event["time"] for event in closes]


@pytest.mark.parametrize(
    ("database_kind", "reopens"),
    [("sqlite", "true"), ("sqlite", "false"), ("postgresql", "true")],
    indirect=["database_kind"],
)
def test_the_outage_rule(reopens: str, database_url: str, start: Start, visit: Visit) -> None:
    """An auction whose last window fell into an outage gets its extension from the start on, unless the setting says no."""
    soft = {"window": 60, "extension": 300}
    _, before = _ends_while_stopped(start, visit, database_url, None, softClose=soft)
    gid, announced = before["gid"], before["endsAt"]
    asyncio.run(in_database(database_url, _seen_last, datetime.now(UTC) - timedelta(hours=1)))
    earliest = datetime.now(UTC)
    auction = visit(start(database=database_url, outage_reopens=reopens)).get(f"/auctions/{gid}")
    last = asyncio.run(_log_of(database_url, gid))[-1]
    if reopens == "false":
        assert ("closed", announced, "auction.closed") == (auction["status"], auction["endsAt"], last["type"])
        return
    assert ("open", "auction.extended", "outage") == (auction["status"], last["type"], last["data"]["reason"])
    ends = datetime.fromisoformat(auction["endsAt"])
    assert earliest + timedelta(seconds=300) <= ends <= datetime.now(UTC) + timedelta(seconds=300)
    assert auction["endsAt"] == last["data"]["endsAt"]


def _ends_while_stopped(
    start: Start, visit: Visit, database_url: str, bid: dict[str, str] | None, **terms: Any
) -> tuple[str, dict[str, Any]]:
    """Sell a lot in a house that stops before its end; return after it the seller's token, and the lot as it was.

    A machine on which the house does not stop in time gets more time.
    """
    for seconds in (1.5, 6, 24, 96):
        house = start(database=database_url)
        anyone = visit(house)
        ada, ben = anyone.enter(f"ada.{seconds:.0f}"), anyone.enter(f"ben.{seconds:.0f}")
        gid = anyone.sell(ada, endsAt=_in(seconds), **terms)
        if bid is not None:
            anyone.ask("POST", f"/auctions/{gid}/bids", ben, bid)
        before = anyone.get(f"/auctions/{gid}", ada)
        assert 0 == house.terminate()
        ends = datetime.fromisoformat(before["endsAt"])
        if datetime.now(UTC) < ends:
            wait_until(lambda: datetime.now(UTC) > ends)  # noqa: B023  # called within its round
            return ada, before
    raise AssertionError("the house never stops in time")


def _sees_it_online(mqtt_port: int) -> None:
    """Check that an anonymous subscriber is told that the house is online."""
    subscriber = Subscriber(MqttSettings("127.0.0.1", mqtt_port))
    try:
        wait_until(lambda: {"status": "online"} in _payloads(subscriber, "saleroom/status"))
    finally:
        subscriber.close()


def _refuses(host: str, port: int) -> bool:
    """Whether no new client is let in."""
    try:
        socket.create_connection((host, port), timeout=1).close()
    except OSError:
        return True
    return False


def _in(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()


def _payloads(subscriber: Subscriber, topic: str) -> list[Any]:
    return [json.loads(payload) for payload in subscriber.payloads(topic)]


async def _log_of(url: str, gid: str) -> list[dict[str, Any]]:
    """Return the public events of an auction as they go over the wire."""

    def payloads(tx: Transaction) -> list[dict[str, Any]]:
        stored = auctions.get(tx, gid)
        assert stored is not None
        chosen = select(events.c.payload).where(events.c.auction_id == stored.id, events.c.version.is_not(None))
        return [json.loads(row.payload) for row in tx.execute(chosen.order_by(events.c.version))]

    return list(await in_database(url, payloads))


def _seen_last(tx: Transaction, at: datetime) -> None:
    """Make the house believe that it was last seen serving at `at`."""
    assert 1 == tx.execute(select(func.count()).select_from(heartbeats)).scalar_one()
    tx.execute(update(heartbeats).values(at=at))


def test_links_lead_to_the_port_that_the_house_has(tmp_path: Path, start: Start) -> None:
    """The command for the first owner and that for invitations know where a house with another port serves."""
    database = f"sqlite:///{tmp_path}/saleroom.db"
    house = start(database=database)

    def link(*words: str) -> tuple[str, str]:
        made = saleroom(tmp_path, "users", *words, database=database)
        return made.stdout.partition("#")[0], made.stderr

    wait_until(lambda: (f"{house.url}/owner", "") == link("owner-link"))  # its first word of itself may take a moment
    assert (f"{house.url}/join", "") == link("invite", "clerk")
    assert 0 == house.terminate()
    address, told = link("owner-link")
    assert ("http://127.0.0.1:9000/owner", True) == (address, "No house serves now" in told)
