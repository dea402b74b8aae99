"""How long a login takes for a name that nobody has, for a wrong password, and for a user without one.

Run it by `python -m tests.abuse.timing`. A round has a try of each kind, in random order, so that the machine's other work
affects all alike; each is from a different address, as one address would soon have to wait. Beside the time that a client
sees stands the processor time of the house, which does not depend on the machine's other work.
"""

import random
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import click
import httpx

from tests.abuse.attack import HERE, client, credentials
from tests.process import ServeProcess

TRIES = 500
RESAMPLES = 2000
LOAD_KEY = "a-key-of-sixteen-characters"
KINDS = ("unknown user", "wrong password", "user without a password")


def processor(house: ServeProcess) -> float:
    """Return the milliseconds that all threads of the house have run (Linux: proc(5), schedstat)."""
    tasks = Path(f"/proc/{house.process.pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e6


def tries(house: ServeProcess, names: dict[str, str], count: int) -> dict[str, list[tuple[float, float]]]:
    """Return the milliseconds of `count` logins of each kind, as a client sees them, and of the house's processor."""
    chance = random.Random(6)
    order = [kind for _ in range(count) for kind in chance.sample(list(names), len(names))]
    taken: dict[str, list[tuple[float, float]]] = {kind: [] for kind in names}
    for number, kind in enumerate(order):
        answer, times = timed(house, number, "/login", **credentials(names[kind], "a wrong password"))
        taken[kind].append(times)
        assert 422 == answer.status_code, answer.text
    return taken


def timed(house: ServeProcess, number: int, path: str, **sent: Any) -> tuple[httpx.Response, tuple[float, float]]:
    """Post once from an address of its own; return the answer, and the milliseconds of the client and of the processor."""
    source = f"127.{1 + number // 62_500}.{number // 250 % 250}.{1 + number % 250}"
    with client(house, source) as asking:
        asking.get("/healthz")  # the connection is no part of it
        before, begun = processor(house), time.perf_counter()
        answer = asking.post(path, **sent)
        seen = (time.perf_counter() - begun) * 1e3
        return answer, (seen, processor(house) - before)


def interval(differences: list[float]) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the median."""
    chance = random.Random(7)
    found = sorted(statistics.median(chance.choices(differences, k=len(differences))) for _ in range(RESAMPLES))
    return found[int(RESAMPLES * 0.025)], found[int(RESAMPLES * 0.975)]


def measure(folder: Path, count: int) -> dict[str, list[tuple[float, float]]]:
    """Start a house, and return the milliseconds of each kind of login."""
    house = ServeProcess(folder, mqtt="off", load_key=LOAD_KEY)
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
    """Measure, and print medians and quartiles of each kind, and of the differences within a round."""
    with tempfile.TemporaryDirectory() as folder:
        taken = measure(Path(folder), count)
    report(taken, KINDS[1])


def report(taken: dict[str, list[tuple[float, float]]], base: str) -> None:
    """Print medians and quartiles of each kind, and of the differences from the kind `base` within a round."""
    for place, what in enumerate(("as a client sees it", "of the processor")):
        sys.stdout.write(f"{what}, in milliseconds\n")
        _report({kind: [times[place] for times in all_times] for kind, all_times in taken.items()}, base)


def _report(taken: dict[str, list[float]], base: str) -> None:
    for kind, times in taken.items():
        low, median, high = statistics.quantiles(times, n=4)
        sys.stdout.write(f"  {kind:26} median {median:7.3f}   quartiles {low:7.3f} to {high:7.3f}\n")
    for kind in [one for one in taken if one != base]:
        differences = [one - other for one, other in zip(taken[kind], taken[base], strict=True)]
        low, median, high = statistics.quantiles(differences, n=4)
        least, most = interval(differences)
        figures = (
            f"median {median:+.3f}, quartiles {low:+.3f} to {high:+.3f}, 95 % interval {least:+.3f} to {most:+.3f}"
        )
        sys.stdout.write(f"  {kind} - {base}, by rounds: {figures}\n")


if __name__ == "__main__":
    main()
