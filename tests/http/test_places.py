"""Connections, counted in memory that several processes share: they come, go and die."""

import multiprocessing
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from saleroom.http.connections import Connections
from saleroom.http.places import OwnPlaces, Places, SharedPlaces
from saleroom.kernel.errors import Busy
from tests.patience import SECONDS_MAX

HERE, THERE = "192.0.2.1", "192.0.2.2"
SPAWN = multiprocessing.get_context("spawn")


def connected(connections: Connections, address: str, times: int) -> int:
    """Connect so often, and return how often that succeeded."""
    done = 0
    for _ in range(times):
        try:
            connections.enter(address)
        except Busy:
            continue
        done += 1
    return done


async def test_the_limits_hold_for_all_processes(tmp_path: Path) -> None:
    """One network and all together have as many places in two processes as in one, however they are spread."""
    SharedPlaces.prepare(tmp_path, 2)
    one, two = (Connections(10, 6, places=SharedPlaces(tmp_path)) for _ in range(2))
    assert (5, 1) == (connected(one, HERE, 5), connected(two, HERE, 5))
    assert (0, 4, 0) == (connected(one, HERE, 1), connected(two, THERE, 9), connected(one, "192.0.2.3", 1))
    two.leave(HERE)
    assert (1, 0) == (connected(one, HERE, 5), connected(two, HERE, 1))


async def test_a_process_keeps_no_more_than_it_can(tmp_path: Path) -> None:
    """A process without room refuses, even if the house has some left."""
    SharedPlaces.prepare(tmp_path, 2)
    one, two = (Connections(100, 50, places=SharedPlaces(tmp_path), most_here=3) for _ in range(2))
    assert (3, 3) == (connected(one, HERE, 5), connected(two, HERE, 5))


@pytest.mark.parametrize("kind", ["own", "shared"])
def test_places_are_counted_and_given_back(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every network has its own count, and everything is 0 again at the end."""
    monkeypatch.setattr(
        "saleroom.http.places.secrets.token_bytes", bytes
    )  # with a key by which no two share both counters
    SharedPlaces.prepare(tmp_path, 1)
    places: Places = OwnPlaces() if kind == "own" else SharedPlaces(tmp_path)
    networks = [f"10.0.{number // 200}.{number % 200}" for number in range(100)]
    for number, network in enumerate(networks):
        places.add(network, number % 7 + 1)
    assert [number % 7 + 1 for number in range(100)] == [places.of(network) for network in networks]
    for number, network in enumerate(networks):
        places.add(network, -(number % 7 + 1))
    assert {0} == {places.all(), *map(places.of, networks)}


def test_a_process_that_is_killed_leaves_no_places_taken(tmp_path: Path) -> None:
    """What a killed process held is free once another process starts in its place; those that live keep theirs."""
    SharedPlaces.prepare(tmp_path, 2)
    living = SharedPlaces(tmp_path)
    living.add(HERE, 2)
    ours, theirs = SPAWN.Pipe()
    process = SPAWN.Process(target=_hold, args=(tmp_path, theirs))
    process.start()
    assert ours.poll(SECONDS_MAX) and ours.recv() == "held"
    assert (9, 9) == (living.all(), living.of(HERE))
    process.kill()
    process.join(SECONDS_MAX)
    replacing = SharedPlaces(tmp_path)
    assert (2, 2) == (living.all(), replacing.of(HERE))


def test_more_processes_than_rows_are_refused(tmp_path: Path) -> None:
    """A process that finds no free row does not count in another's."""
    SharedPlaces.prepare(tmp_path, 1)
    taken = [SharedPlaces(tmp_path) for _ in range(3)]
    with pytest.raises(OSError, match="more processes"):
        SharedPlaces(tmp_path)
    assert 0 == taken[0].all()


def _hold(folder: Path, pipe: Connection) -> None:
    places = SharedPlaces(folder)
    places.add(HERE, 7)
    pipe.send("held")
    pipe.recv()
