"""The bench counts correctly. None of its figures is asserted here."""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TypeVar

import pytest
from sqlalchemy import Connection, delete, func, insert, select, update

from bench import BenchError, data, report, results, violations, wrk
from bench.line import Line
from bench.measurements import measurement
from bench.results import Reading, Results
from bench.rows import CURVES, ROWS, chosen, needed
from bench.violations import SearchStart
from saleroom.accounts.service import accounts
from saleroom.accounts.storage import tables as account_tables
from saleroom.bidding.domain.bidding import BidRequest
from saleroom.bidding.domain.increments import fixed
from saleroom.bidding.domain.selling import Draft
from saleroom.bidding.service import auctions, bidding
from saleroom.bidding.service.bidding import BidCommand
from saleroom.bidding.storage import tables
from saleroom.storage.database import Database, Transaction
from tests.needs import need

ROOT = Path(__file__).parents[1]
MEASURES = [
    *("hot", "spread", "echo", "sqlite", "peer", "show", "list", "home", "latency", "processes", "closing", "mqtt"),
    *("hot-mqtt", "broker-dead", "mqtt-commands", "full", "memory", "sse", "edge", "sse-stalled", "watched-page"),
    *("catalogue", "home-storm", "history", "photos", "bidders", "auctions", "cost", "crowd", "scale"),
]
BIDS = 4
R = TypeVar("R")
OUTPUT = """Running 2s test @ http://127.0.0.1:42631
  1 threads and 256 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   725.66ms  635.42ms   2.84s    55.19%
    Req/Sec   300.07    116.72   505.00     72.41%
  Latency Distribution
     50%  648.27ms
     75%    1.14s 
     90%    1.63s 
     99%    2.48s 
  875 requests in 3.03s, 288.90KB read
  Socket errors: connect 0, read 1, write 2, timeout 3
  Non-2xx or 3xx responses: 9
Requests/sec:    288.99
Transfer/sec:     95.42KB
"""  # noqa: W291  # wrk ends some lines so

bids, events, rows = tables.bids, tables.events, tables.auctions


def sales(tx: Transaction) -> None:
    """Let two people bid in turn on two auctions; a third one has no bid."""
    seller, *bidders = [_token(tx, name) for name in ("seller", "ada", "ben")]
    gids = []
    for number in range(3):
        ends_at = tx.now() + timedelta(days=1)
        terms = {"starting_price": Decimal("1.000"), "ends_at": ends_at, "increment": fixed(Decimal("0.001"))}
        auctions.create(tx, seller, Draft(name=f"Lot {number}", **terms), None)  # type: ignore[arg-type]  # by name
        gids.append(tx.execute(select(rows.c.gid).order_by(rows.c.id.desc()).limit(1)).scalar_one())
    for number in range(BIDS):
        # Nine to ten is where text and money would sort differently.
        amount = Decimal("8.000") + number
        commands = [BidCommand(bidders[number % 2], gid, BidRequest(amount, None)) for gid in gids[:2]]
        assert all(isinstance(answer, bytes) for answer in bidding.place_bids(tx, commands))


def _token(tx: Transaction, name: str) -> str:
    return accounts.issue_token(tx, accounts.register(tx, name, "no digest").id).value


def _later(connection: Connection) -> datetime:
    last: datetime = max(connection.execute(select(rows.c.ends_at)).scalars())
    return last + timedelta(seconds=1)


PLANTED: dict[str, Callable[[Connection], object]] = {
    "amounts that do not rise": lambda c: c.execute(
        update(bids).where(bids.c.number == 3).values(amount=Decimal("9.000"))
    ),
    "numbers with gaps": lambda c: c.execute(delete(bids).where(bids.c.number == 2)),
    "auctions that contradict their leading bid": lambda c: c.execute(update(rows).values(bid_count=BIDS + 1)),
    "events with gaps": lambda c: c.execute(update(events).where(events.c.position == 5).values(position=6)),
    "events whose versions do not rise": lambda c: c.execute(
        update(events).where(events.c.position.in_([3, 4])).values(version=7 - events.c.version)
    ),
    "bids and events without their auction": lambda c: (
        c.execute(update(bids).where(bids.c.number == BIDS).values(auction_id=bids.c.auction_id + 1000)),
        c.execute(update(events).where(events.c.position == BIDS + 1).values(auction_id=events.c.auction_id + 1000)),
    ),
    "bids and events without each other": lambda c: c.execute(
        update(events).where(events.c.position == 3).values(type="bid.retracted")
    ),
    "bids after the end": lambda c: c.execute(update(bids).where(bids.c.number == BIDS).values(placed_at=_later(c))),
    "bids on one's own auction": lambda c: c.execute(
        update(rows).values(author_id=select(bids.c.bidder_id).where(bids.c.number == 1).limit(1).scalar_subquery())
    ),
    "closed other than once": lambda c: c.execute(update(rows).values(status="closed")),
}


async def test_a_clean_history_has_no_violation(database: Database, database_url: str) -> None:
    """The house's own decisions have no violation of any kind."""
    await database.write(sales)
    assert {} == await _on(database_url, violations.find)


@pytest.mark.parametrize("kind", PLANTED)
async def test_each_kind_of_violation_is_found(kind: str, database: Database, database_url: str) -> None:
    """Rows that were tampered with are counted under the kind of their fault."""
    await database.write(sales)

    def tampered(connection: Connection) -> dict[str, int]:
        PLANTED[kind](connection)
        return violations.find(connection)

    assert kind in await _on(database_url, tampered)


async def test_a_leader_without_the_leading_bid_is_found(database: Database, database_url: str) -> None:
    """An auction whose leader, price or instant is not its leading bid's is counted, each by itself."""
    await database.write(sales)
    wrong = {
        "current_bidder_id": select(func.min(account_tables.users.c.id)).scalar_subquery(),
        "current_bid": Decimal("999.000"),
        "current_bid_at": datetime(2026, 1, 1, tzinfo=UTC),
    }
    for column, value in wrong.items():

        def tampered(connection: Connection, column: str = column, value: object = value) -> dict[str, int]:
            changed = {column: value}
            connection.execute(update(rows).where(rows.c.bid_count > 0).values(changed))
            found = violations.find(connection)
            connection.rollback()
            return found

        assert {"auctions that contradict their leading bid": 2} == await _on(database_url, tampered), column


@pytest.mark.parametrize("column", ["position", "version"])
async def test_an_auction_behind_its_events_is_found(column: str, database: Database, database_url: str) -> None:
    """An auction whose version or position is not its newest event's is counted, with a bid or without."""
    await database.write(sales)

    def tampered(connection: Connection) -> dict[str, int]:
        connection.execute(update(rows).values({column: rows.c[column] - 1}))
        return violations.find(connection)

    assert {"events with gaps": 3} == await _on(database_url, tampered)


async def test_an_event_of_another_amount_is_found(database: Database, database_url: str) -> None:
    """A bid and its event must tell the same amount, not only be as many."""
    await database.write(sales)

    def tampered(connection: Connection) -> dict[str, int]:
        connection.execute(update(bids).where(bids.c.number == 2).values(amount=Decimal("9.500")))
        return violations.find(connection)

    # Two bids, and the two events that they no longer match.
    assert {"bids and events without each other": 4} == await _on(database_url, tampered)


async def test_an_auction_closed_twice_is_found(database: Database, database_url: str) -> None:
    """A second close of one auction is counted, even if its status is right."""
    await database.write(sales)

    def tampered(connection: Connection) -> dict[str, int]:
        first = connection.execute(select(events).where(events.c.position == 5)).first()
        assert first is not None, "four bids after the creation"
        connection.execute(update(rows).where(rows.c.id == first.auction_id).values(status="closed"))
        for number in (6, 7):
            closed = dict(first._mapping) | {"type": "auction.closed", "position": number, "version": number}
            closed.pop("id")
            connection.execute(insert(events).values(closed))
        return violations.find(connection)

    assert 1 == (await _on(database_url, tampered))["closed other than once"]


async def test_the_count_may_begin_later(database: Database, database_url: str) -> None:
    """From a bid that every auction has, the rows after it are judged as if those before it were right."""
    await database.write(sales)

    def judged(connection: Connection) -> tuple[dict[str, int], dict[str, int]]:
        # Bids came in turn on two auctions; the third one would have none, and goes.
        bare = select(rows.c.id).where(rows.c.bid_count == 0)
        connection.execute(delete(events).where(events.c.auction_id.in_(bare)))
        connection.execute(delete(tables.texts))
        connection.execute(delete(rows).where(rows.c.bid_count == 0))
        third = select(func.min(bids.c.id)).where(bids.c.number == 3).scalar_subquery()
        fourth = select(func.min(events.c.id)).where(events.c.position == 4).scalar_subquery()
        before, events_before = (int(connection.execute(select(number - 1)).scalar_one()) for number in (third, fourth))
        since = SearchStart(3, bids_after=before, events_after=events_before)
        clean = violations.find(connection, since)
        connection.execute(delete(bids).where(bids.c.number == 4))
        return clean, violations.find(connection, since)

    clean, tampered = await _on(database_url, judged)
    assert {} == clean
    assert {"auctions that contradict their leading bid", "bids and events without each other"} == set(tampered)


@pytest.mark.parametrize(
    ("succeeded", "recorded", "expected"),
    [
        (100, 100, {}),
        (100, 103, {}),
        (100, 104, {"recorded and never asked for": 1}),
        (100, 98, {"accepted and not recorded": 2}),
    ],
)
def test_answers_are_compared_with_the_database(succeeded: int, recorded: int, expected: dict[str, int]) -> None:
    """An unrecorded accepted bid is a violation; so is one more than requested, unless a lost connection explains it."""
    assert expected == violations.between_client_and_database(succeeded, recorded, connections=3)


def test_every_kind_has_a_planted_example() -> None:
    """Every kind of violation that is counted is planted by a test."""
    assert set(violations.KINDS) == {*PLANTED, "accepted and not recorded", "recorded and never asked for"}


def test_the_table_has_every_measure() -> None:
    """The rows are those that docs/maintaining/performance.md explains, and each of their measurements can be taken."""
    assert sorted(MEASURES) == sorted(ROWS)
    explained = (ROOT / "docs" / "maintaining" / "performance.md").read_text("utf-8")
    assert [] == [row for row in ROWS if f"`{row}`" not in explained]
    for name in needed(ROWS):
        assert callable(measurement(name))


def test_rows_are_chosen_by_name() -> None:
    """A list with commas chooses rows, in the order of the table; for an unknown name the known ones are listed."""
    assert ("hot", "echo") == chosen("echo, hot")
    assert ROWS == chosen("")
    with pytest.raises(BenchError, match=r"no such row: hott; there are hot, spread, "):
        chosen("hott")


def test_a_measurement_is_taken_once_for_all_its_rows() -> None:
    """A measurement that several rows need is taken once in a round, so that their ratios are of the same figures."""
    assert ["pg-hot", "pgbench-1", "echo", "pg-spread"] == needed(("hot", "echo"))


def test_the_output_of_wrk_is_read() -> None:
    """Requests, refusals, errors and percentiles in all their units are read from wrk's output."""
    summary = wrk.parse(OUTPUT)
    assert (875, 3.03, 9, 866, 6) == (
        summary.requests,
        summary.seconds,
        summary.refused,
        summary.succeeded,
        summary.socket_errors,
    )
    assert (648.27, 2480.0) == (summary.p50_ms, summary.p99_ms)
    with pytest.raises(BenchError, match="unexpected"):
        wrk.parse("unable to connect to 127.0.0.1:1 Connection refused\n")


def test_the_output_of_the_installed_wrk_is_read(tmp_path: Path) -> None:
    """The real wrk takes the script of the bids and prints output that the parser reads; the echo answers all with 201."""
    need("wrk")
    from bench.servers import Uvicorn

    (tmp_path / "tokens.txt").write_text("a\nb\n")
    (tmp_path / "gids.txt").write_text("x\n")
    load = wrk.Load(
        script="bid.lua", tokens=tmp_path / "tokens.txt", gids=tmp_path / "gids.txt", connections=4, pause_ms=5.0
    )
    with Uvicorn(tmp_path, "bench.echo:app") as echo:
        summary = wrk.run(echo.url, load, 1)
    assert summary.requests > 0
    assert (0, 0) == (summary.refused, summary.socket_errors)


def test_ratios_are_of_medians_and_know_their_target() -> None:
    """A line's ratio is of the medians of its rounds, its spread of the rounds themselves, and its target is judged."""
    line = Line(row="x", measure="x", numerator="a", denominator="b.p99_ms", unit="u", target=2.0)
    readings = {
        "a": [Reading(value=value) for value in (10.0, 30.0, 20.0)],
        "b": [Reading(value=0.0, figures={"p99_ms": value}, violations={"late": 1}) for value in (10.0, 10.0, 5.0)],
    }
    found = Results(at="", rounds=3, seconds_each=1.0, machine={}, readings=readings)
    verdict = results.judge([found], line)
    assert verdict is not None
    assert (20.0, 10.0, 2.0, 1.0, 4.0) == (
        verdict.numerator,
        verdict.denominator,
        verdict.ratio,
        verdict.least,
        verdict.greatest,
    )
    assert (True, 3, 3) == (verdict.met, verdict.violations, found.violations())
    assert results.judge([found], Line(row="x", measure="x", numerator="c", unit="u")) is None


def test_a_ratio_is_of_one_run(tmp_path: Path) -> None:
    """Saved results of runs are read again, and a line comes from the last run that has both its sides."""
    line = Line(row="x", measure="x", numerator="a", denominator="b", unit="u")
    runs = [{"a": 10.0, "b": 5.0}, {"a": 12.0, "b": 4.0}, {"a": 99.0}]
    files = [tmp_path / f"{number}.json" for number in range(len(runs))]
    for file, run in zip(files, runs, strict=True):
        readings = {name: [Reading(value=value)] for name, value in run.items()}
        results.write(Results(at="now", rounds=1, seconds_each=1.0, machine={}, readings=readings), file)
    verdict = results.judge([results.read(file) for file in files], line)
    assert verdict is not None
    assert (12.0, 4.0, 3.0) == (verdict.numerator, verdict.denominator, verdict.ratio)


def test_the_report_goes_between_its_markers(tmp_path: Path) -> None:
    """The table replaces the text between the markers and nothing else; a document without them is refused."""
    document = tmp_path / "performance.md"
    document.write_text(f"before\n{report.MARKERS[0]}\nold\n{report.MARKERS[1]}\nafter\n")
    readings = {"pg-hot": [Reading(value=8000.0)], "pgbench-1": [Reading(value=1000.0)]}
    found = Results(at="now", rounds=1, seconds_each=1.0, machine={"cores": "2"}, readings=readings)
    report.into_document([found], document)
    text = document.read_text()
    assert text.startswith(f"before\n{report.MARKERS[0]}\n- Measured at now") and "old" not in text
    assert text.endswith(f" |\n{report.MARKERS[1]}\nafter\n")
    assert "| 8,000 accepted bids/s | 1,000 accepted bids/s | 8.00 | 8.00 to 8.00 | ≥ 4 | yes | 0 |" in text
    assert "(not measured)" in text
    document.write_text("nothing")
    with pytest.raises(BenchError, match="has no lines"):
        report.into_document([found], document)


def test_every_curve_is_drawn_over_what_it_names() -> None:
    """Each curve's points rise, and every point measures the curve's own quantity."""
    for curve in CURVES:
        assert sorted(curve.points) == list(curve.points)
        assert all(str(int(x)) in name for x, name in curve.points if x > 1 and "filled" in name)


@pytest.mark.parametrize("command", [[], ["run"], ["report"]])
def test_the_command_line_explains_itself(command: list[str]) -> None:
    """`python -m bench --help` shows examples, without any package that only the bench installs."""
    told = subprocess.run(
        [sys.executable, "-m", "bench", *command, "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "python -m bench " in told.stdout and "xample" in told.stdout


async def _on(url: str, work: Callable[[Connection], R]) -> R:
    """Do `work` on a database as the bench does, outside this test's event loop."""
    return await asyncio.to_thread(data.on, url, work)
