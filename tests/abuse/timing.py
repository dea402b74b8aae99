"""How long a login takes for a name that nobody has, for a wrong password, and for a user without one.

Run it by `python -m tests.abuse.timing`. The tries of the three kinds take turns in random order, each from an address of its
own, as one address would soon have to wait.
"""

import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

import click

from tests.abuse.attack import HERE, client, credentials
from tests.process import Served

TRIES = 500
RESAMPLES = 2000
LOAD_KEY = "a-key-of-sixteen-characters"
KINDS = ("unknown user", "wrong password", "user without a password")


def tries(house: Served, names: dict[str, str], count: int) -> dict[str, list[float]]:
    """Return the milliseconds of `count` logins of each kind."""
    order = [kind for kind in names for _ in range(count)]
    random.Random(6).shuffle(order)  # an order, no secret
    taken: dict[str, list[float]] = {kind: [] for kind in names}
    for number, kind in enumerate(order):
        source = f"127.{1 + number // 62_500}.{number // 250 % 250}.{1 + number % 250}"
        with client(house, source) as asking:
            asking.get("/healthz")  # the connection is no part of it
            begun = time.perf_counter_ns()
            answer = asking.post("/login", **credentials(names[kind], "a wrong password"))
            taken[kind].append((time.perf_counter_ns() - begun) / 1e6)
        assert 422 == answer.status_code, answer.text
    return taken


def interval(one: list[float], other: list[float]) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the difference of their medians."""
    chance = random.Random(7)  # statistics, no secret
    found = sorted(
        statistics.median(chance.choices(one, k=len(one))) - statistics.median(chance.choices(other, k=len(other)))
        for _ in range(RESAMPLES)
    )
    return found[int(RESAMPLES * 0.025)], found[int(RESAMPLES * 0.975)]


def measure(folder: Path, count: int) -> dict[str, list[float]]:
    """Start a house, and return the milliseconds of each kind of login."""
    house = Served(folder, mqtt="off", load_key=LOAD_KEY)
    try:
        with client(house, HERE) as owner:
            assert 201 == owner.post("/users", **credentials("ada")).status_code
            key = {"Authorization": f"Bearer {LOAD_KEY}"}
            without = owner.post("/test-users", headers=key, json={"count": 1}).json()["users"][0]["username"]
        return tries(house, dict(zip(KINDS, ("nobody.at.all", "ada", without), strict=True)), count)
    finally:
        house.kill()


@click.command
@click.option("--tries", "count", default=TRIES, show_default=True, help="Logins of each kind.")
def main(count: int) -> None:
    """Measure, and print medians, quartiles, and the differences of the medians with their 95 % intervals."""
    with tempfile.TemporaryDirectory() as folder:
        taken = measure(Path(folder), count)
    for kind, times in taken.items():
        low, median, high = statistics.quantiles(times, n=4)
        sys.stdout.write(f"{kind:26} median {median:7.3f} ms   quartiles {low:7.3f} to {high:7.3f}\n")
    base = KINDS[1]
    for kind in (KINDS[0], KINDS[2]):
        low, high = interval(taken[kind], taken[base])
        difference = statistics.median(taken[kind]) - statistics.median(taken[base])
        sys.stdout.write(f"{kind} - {base}: {difference:+.3f} ms, 95 % interval {low:+.3f} to {high:+.3f}\n")


if __name__ == "__main__":
    main()
