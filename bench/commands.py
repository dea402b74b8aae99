"""The time from a bid to its answer over MQTT and over HTTP: the same house, the same bids, as many devices."""

from __future__ import annotations

import asyncio
import statistics
from collections import Counter
from urllib.parse import urlsplit

import uvloop

from bench import BenchError, data, devices, mqtt, violations
from bench.bidding import WARM_UP_SECONDS, recorded
from bench.devices import Device, HttpDevice, MqttDevice
from bench.results import Reading
from bench.servers import House, Mosquitto
from bench.stage import Stage

PREFIX = "saleroom/"


def answers(stage: Stage, *, over_mqtt: bool, count: int) -> Reading:
    """Return the median (ms) from a bid to its answer, while `count` devices bid on one auction, on PostgreSQL.

    The house publishes its events over Mosquitto in either case. Each bid is by another bidder.
    """
    return _answers(stage, stage.mosquitto, over_mqtt=over_mqtt, count=count)


def delayed(stage: Stage) -> Reading:
    """Return the same for one device over MQTT by a Mosquitto with its default settings."""
    with Mosquitto(stage.folder, delays=True) as broker:
        return _answers(stage, broker, over_mqtt=True, count=1)


def _answers(stage: Stage, broker: Mosquitto, *, over_mqtt: bool, count: int) -> Reading:
    gid = stage.gids(1).read_text().strip()
    with stage.database("postgresql") as url:
        with House(stage.folder, url, mqtt=broker.url) as house:
            mqtt.until_quiet(house)
            times, statuses, accepted = uvloop.run(_bid(stage, house, broker if over_mqtt else None, gid, count))
        total = data.on(url, lambda connection: recorded(connection, 0))
        found = data.on(url, violations.find)
    found |= violations.between_client_and_database(accepted, total, 0)
    return Reading(value=statistics.median(times) * 1000, figures=_figures(stage, times, statuses), violations=found)


async def _bid(
    stage: Stage, house: House, broker: Mosquitto | None, gid: str, count: int
) -> tuple[list[float], Counter[int], int]:
    """Return the times (s) and the statuses of the answers after a warm-up, and the number accepted in all.

    The bids go over MQTT if there is a `broker`, otherwise over HTTP.
    """
    begun = await (_on_http(house, gid, count) if broker is None else _on_mqtt(broker, gid, count))
    bids = devices.rising(stage.tokens.read_text().split(), stage.first_amount(), "bench")
    try:
        _, warm = await devices.converse(begun, bids, WARM_UP_SECONDS)
        times, statuses = await devices.converse(begun, bids, stage.seconds)
    finally:
        for device in begun:
            device.close()
    unexpected = {status for status in (*warm, *statuses) if status not in (201, 409)}
    if unexpected:
        raise BenchError(f"bids are answered {sorted(unexpected)}")
    return times, statuses, warm[201] + statuses[201]


async def _on_mqtt(broker: Mosquitto, gid: str, count: int) -> list[Device]:
    loop = asyncio.get_running_loop()
    begun: list[Device] = []
    for number in range(count):
        _, device = await loop.create_connection(
            lambda number=number: MqttDevice(PREFIX, gid, f"device-{number}"),  # type: ignore[misc]  # it cannot see the default
            "127.0.0.1",
            broker.port,
        )
        await device.begin()
        begun.append(device)
    return begun


async def _on_http(house: House, gid: str, count: int) -> list[Device]:
    address = urlsplit(house.url)
    loop = asyncio.get_running_loop()
    made = [
        await loop.create_connection(
            lambda: HttpDevice(address.netloc, gid), address.hostname or "", address.port or 80
        )
        for _ in range(count)
    ]
    return [device for _, device in made]


def _figures(stage: Stage, times: list[float], statuses: Counter[int]) -> dict[str, float]:
    times.sort()
    return {
        "p50_ms": 1000 * statistics.median(times),
        "p99_ms": 1000 * times[int(len(times) * 0.99)],
        "answers_per_s": len(times) / stage.seconds,
        "accepted_share": statuses[201] / len(times),
    }
