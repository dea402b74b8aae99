"""The figures of a house on a port of their own: those of one process and of several, and who may read them."""

import asyncio
import json
import re
import time
from pathlib import Path

import httpx
import promql_parser
import psutil
import pytest
import yaml
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.samples import Sample
from structlog.testing import capture_logs

from saleroom.http.connections import Connections
from saleroom.http.metrics import Board, openmetrics
from saleroom.http.outcomes import Outcomes
from saleroom.kernel.figures import Distribution, Figure, Kind, counters, gauge
from saleroom.runtime import metering
from saleroom.runtime.metering import Meter
from saleroom.storage.database import Database
from tests.faults.places import small_disk
from tests.fixtures_process import Start, Visit
from tests.mqtt.equipment import free_port
from tests.patience import until
from tests.process import Client, ServeProcess, saleroom, wait_until

TOKEN = "a-token-for-prometheus"


@pytest.fixture
def measured(start: Start, database_url: str, database_kind: str) -> ServeProcess:
    """A house that shows its figures: one process on SQLite, two on PostgreSQL."""
    several = ("--workers", "2") if database_kind == "postgresql" else ()
    return start(*several, database=database_url, metrics_port=str(free_port()))


def address(house: ServeProcess) -> str:
    """Return the address of a house's figures, as its start says it."""
    found = re.search(r"metrics +(http://\S+)", house.output)
    assert found is not None, house.output
    return found[1]


def read(url: str) -> list[Sample]:
    """Return all samples, read as Prometheus does."""
    answer = httpx.get(url)
    assert 200 == answer.status_code
    assert answer.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    return parsed(answer.text)


def parsed(text: str) -> list[Sample]:
    """Return all samples of a text in OpenMetrics."""
    families = text_string_to_metric_families(text)  # type: ignore[no-untyped-call]  # the library says no types here
    return [sample for family in families for sample in family.samples]


def total(samples: list[Sample], name: str, **labels: str) -> float:
    """Return the sum of a figure's samples that have these labels."""
    return sum(one.value for one in samples if one.name == name and labels.items() <= one.labels.items())


def test_the_figures_are_those_of_the_house(measured: ServeProcess, visit: Visit) -> None:
    """Bids, requests and connections of all processes are counted together; no name of a user and no gid is in a label.

    Counters never go back, also if a process is killed.
    """
    url, anyone = address(measured), visit(measured)
    ada, bob = anyone.enter("ada"), anyone.enter("bob")
    gids = [anyone.sell(ada, increment="1") for _ in range(6)]
    for gid in gids:
        for amount in (100, 5):  # each over a new connection, to any process
            headers = {"Authorization": f"Bearer {bob}", "X-Requested-With": "x"}
            httpx.post(f"{measured.url}/auctions/{gid}/bids", json={"amount": str(amount)}, headers=headers)
    route = {"route": "/auctions/{gid}/bids"}

    def published() -> bool:
        """Say whether both processes have published all that they counted."""
        samples = read(url)
        return {12} == {total(samples, "saleroom_bids_total"), total(samples, "saleroom_http_requests_total", **route)}

    wait_until(published)
    samples = read(url)
    assert 6 == total(samples, "saleroom_bids_total", outcome="accepted")
    failed = [one.value for one in samples if one.name == "saleroom_bids_total" and one.labels["outcome"] == "failed"]
    assert [0] == failed, "an alert hears of the first failure only if its counter begins at 0"
    refused = total(samples, "saleroom_bids_total") - 6
    assert 6 == refused
    assert 12 == total(samples, "saleroom_bid_batch_size_sum") == total(samples, "saleroom_bid_batch_size_count")
    assert 6 == total(samples, "saleroom_http_requests_total", status_class="2xx", **route)
    assert 6 == total(samples, "saleroom_http_requests_total", status_class="4xx", **route)
    workers = psutil.Process(measured.process.pid).children()
    assert max(1, len(workers)) == total(samples, "saleroom_processes")
    assert 0 < total(samples, "saleroom_process_resident_memory_bytes")
    assert not [one for one in samples if {"ada", "bob", *gids} & set(one.labels.values())]
    assert [] == [one.name for one in samples if not one.name.startswith("saleroom_")]
    if workers:
        workers[0].kill()
        wait_until(lambda: total(read(url), "saleroom_bids_total") == 12)
        assert 12 == total(read(url), "saleroom_bids_total")


@pytest.mark.parametrize("is_gone", [False, True])
async def test_a_folder_without_room(database: Database, monkeypatch: pytest.MonkeyPatch, *, is_gone: bool) -> None:
    """Where the figures of several processes have no room, or their folder is gone, one line says so, until they have one."""
    monkeypatch.setattr(metering, "PUBLISH_SECONDS", 0.001)
    with small_disk(2**20) as disk, capture_logs() as lines:
        folder = disk.folder / "figures"
        folder.mkdir()
        board = Board(folder, "one")
        if is_gone:
            folder.rmdir()
        else:
            disk.fill()
        rounds: list[Figure] = []

        def counted() -> list[Figure]:
            rounds.append(gauge("saleroom_rounds", "Rounds.", len(rounds)))
            return rounds[-1:]

        meter = Meter(board, database, Outcomes(), Connections(1, 1), [counted], [])
        running = asyncio.create_task(meter.run())
        try:
            await until(lambda: running.done() or len(rounds) > 3, "some rounds")
            assert not running.done()
            if is_gone:
                folder.mkdir()
            else:
                disk.empty()
            await until(lambda: running.done() or bool(board.read()), "figures")
            await until(lambda: running.done() or len(lines) > 1, "the second line")
        finally:
            running.cancel()
            await asyncio.wait([running])
    assert ["figures cannot be published", "figures are published again"] == [line["event"] for line in lines]
    assert str(folder) == lines[0]["folder"]


def test_acts_on_the_block_are_counted(start: Start, database_url: str, database_kind: str, tmp_path: Path) -> None:
    """By kind and outcome, of all processes together, over HTTP and from the console; and how long those done took."""
    several = ("--workers", "2") if database_kind == "postgresql" else ()
    house = start(*several, database=database_url, metrics_port=str(free_port()))
    url, anyone = address(house), Client(house.url)
    clerk = anyone.enter("clerk")
    given = saleroom(tmp_path, "users", "role", "clerk", "auctioneer", database=database_url)
    assert 0 == given.returncode, given.stderr
    sale = anyone.post("/sales", clerk, {"title": "An evening", "kind": "live", "startsAt": "2100-01-01T12:00:00Z"})[
        "gid"
    ]
    lot = {"label": "1", "name": "A clock", "startingPrice": "10"}
    anyone.post(f"/sales/{sale}/lots", clerk, lot)
    anyone.post(f"/sales/{sale}/publish", clerk)
    headers = {"Authorization": f"Bearer {clerk}", "X-Requested-With": "x"}
    for body in ({"act": "call", "seen": "0"}, {"act": "call", "seen": "0"}, {"act": "bid", "amount": "1"}):
        httpx.post(f"{house.url}/sales/{sale}/block", json=body, headers=headers)  # each over a new connection
    in_console = httpx.post(
        f"{house.url}/sales/{sale}/console", data={"act": "pass", "seen": "0"},
        headers={"X-Requested-With": "x", "Cookie": f"saleroom_session={clerk}"},
    )  # fmt: skip
    assert 409 == in_console.status_code, in_console.text
    anyone.close()
    wait_until(lambda: total(read(url), "saleroom_block_acts_total") == 4)
    samples = read(url)
    counted = [one for one in samples if one.name == "saleroom_block_acts_total"]
    found = {(one.labels["act"], one.labels["outcome"]): one.value for one in counted if one.value}
    assert {"call", "bid", "end"} <= {one.labels["act"] for one in counted if one.labels["outcome"] == "failed"}, (
        "an alert hears of the first failure only if its counter begins at 0"
    )
    assert {
        ("call", "done"): 1, ("call", "block_changed"): 1, ("bid", "ask_changed"): 1, ("pass", "block_changed"): 1,
    } == found  # fmt: skip
    assert 1 == total(samples, "saleroom_block_act_seconds_count")


def test_figures_are_off_by_default(start: Start) -> None:
    """Without the setting there is no port, and the house's own port has no such address."""
    house = start()
    assert "metrics" not in house.output
    assert 404 == httpx.get(f"{house.url}/metrics").status_code


def test_a_token_guards_the_figures(start: Start) -> None:
    """With metrics_token only who sends it reads the figures; nothing else is there, and no log line shows the token."""
    house = start(metrics_port=str(free_port()), metrics_token=TOKEN)
    url = address(house)
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Bearer {TOKEN}x"}, {"X": TOKEN}):
        assert 401 == httpx.get(url, headers=headers).status_code
    right = {"Authorization": f"Bearer {TOKEN}"}
    assert 200 == httpx.get(url, headers=right).status_code
    assert 404 == httpx.get(f"{url}/users", headers=right).status_code
    assert 405 == httpx.post(url, headers=right).status_code
    assert 0 == house.terminate()
    assert TOKEN not in house.told()


@pytest.mark.parametrize(
    ("settings", "remedy"),
    [
        ({"metrics_host": "0.0.0.0", "metrics_port": "9100"}, "SALEROOM_METRICS_HOST: others could read"),  # noqa: S104  # that is refused
        ({"metrics_port": "9000"}, "port and SALEROOM_METRICS_PORT: both listeners"),
        ({"metrics_port": "9100", "metrics_token": "short"}, "SALEROOM_METRICS_TOKEN: write 16"),
    ],
)
def test_figures_are_never_open_to_the_world(settings: dict[str, str], remedy: str, tmp_path: Path) -> None:
    """Beyond this machine a token is needed, and no listener shares the port."""
    refused = saleroom(tmp_path, "serve", **settings)
    assert (2, True) == (refused.returncode, remedy in refused.stderr)


def test_figures_of_several_processes_become_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counters and distributions are added up, over ended processes too, gauges over living ones; the latest state counts."""
    sizes = Distribution((1, 10))
    for size in (1, 5, 50):
        sizes.count(size)

    def figures(owed: int) -> list[Figure]:
        return [
            counters("saleroom_bids", "Bids.", ("outcome",), {("accepted",): 2, (f"only {owed}",): 1}),
            gauge("saleroom_followers", "Followers.", 3),
            gauge("saleroom_relay_owed", "Events.", owed, Kind.STATE),
            sizes.figure("saleroom_bid_batch_size", "Sizes."),
        ]

    for number, ago in ((1, 100.0), (2, 1.0), (3, 0.5)):
        with monkeypatch.context() as earlier:
            now = time.monotonic()
            earlier.setattr("saleroom.http.metrics.time.monotonic", lambda now=now, ago=ago: now - ago)
            Board(tmp_path, str(number)).publish(figures(number))
    text = openmetrics(Board(tmp_path).read()).decode()
    samples = {(one.name, *one.labels.values()): one.value for one in parsed(text)}
    assert (6, 1, 1) == tuple(samples["saleroom_bids_total", name] for name in ("accepted", "only 1", "only 2"))
    assert (6, 3) == (samples["saleroom_followers",], samples["saleroom_relay_owed",])
    buckets = [samples["saleroom_bid_batch_size_bucket", end] for end in ("1.0", "10.0", "+Inf")]
    assert ([3, 6, 9], 168) == (buckets, samples["saleroom_bid_batch_size_sum",])


DEPLOY, DOCS = (Path(__file__).parents[2] / name for name in ("deploy/prometheus", "docs/operating.md"))


def _expressions() -> list[str]:
    """Return every expression of the alerts and the board."""
    alerts = yaml.safe_load((DEPLOY / "alerts.yml").read_text())
    board = json.loads((DEPLOY / "board.json").read_text())
    found = [rule["expr"] for group in alerts["groups"] for rule in group["rules"]]
    return found + [target["expr"] for panel in board["panels"] for target in panel["targets"]]


def test_the_alerts_and_the_board_name_figures_that_exist(start: Start) -> None:
    """Every expression is PromQL and names only figures that a house has; the documents name each figure and each alert."""
    soon = json.dumps({"saleroom.runtime.metering:ASK_SECONDS": 0.1})
    house = start(metrics_port=str(free_port()), mqtt="embedded", mqtt_port="0", test_constants=soon)
    url, anyone = address(house), Client(house.url)
    try:
        ada, bob = anyone.enter("ada"), anyone.enter("bob")
        anyone.ask("POST", f"/auctions/{anyone.sell(ada, increment='1')}/bids", bob, {"amount": "10"})
        anyone.ask("POST", "/sales/nowhere/block", ada, {"act": "call", "seen": "0"})
    finally:
        anyone.close()
    wait_until(
        lambda: total(read(url), "saleroom_bids_total") == 1 and total(read(url), "saleroom_relay_connected") == 1
    )
    samples, text = {one.name for one in read(url)}, DOCS.read_text()
    for expression in _expressions():
        plainly = expression.replace("$__rate_interval", "5m")
        promql_parser.parse(plainly)
        assert [] == sorted(set(re.findall(r"\bsaleroom_\w+", plainly)) - samples)
    families = {re.sub(r"_(bucket|count|sum)$", "", name) for name in samples}
    assert [] == sorted(name for name in families if f"| `{name}` |" not in text)
    alerts = yaml.safe_load((DEPLOY / "alerts.yml").read_text())["groups"][0]["rules"]
    assert [] == [rule["alert"] for rule in alerts if f"| `{rule['alert']}` |" not in text]
