"""A bare publisher of lines with a topic, a tab and a payload, at QoS 1, with as many in flight as the house.

`python -m bench.publisher HOST PORT FILE`
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import aiomqtt
import uvloop

IN_FLIGHT = 100
AT_ONCE = 500
"""How many events the house's relay reads from its log at a time."""


async def publish(host: str, port: int, messages: list[tuple[str, bytes]]) -> None:
    """Publish all, and return when all are acknowledged."""
    client = aiomqtt.Client(host, port, max_inflight_messages=IN_FLIGHT, max_concurrent_outgoing_calls=IN_FLIGHT)
    client.pending_calls_threshold = IN_FLIGHT
    async with client:
        for start in range(0, len(messages), AT_ONCE):
            batch = messages[start : start + AT_ONCE]
            await asyncio.gather(*(client.publish(topic, payload, 1, timeout=60) for topic, payload in batch))


def main() -> None:
    """Read the file, and publish."""
    host, port, file = sys.argv[1:]
    lines = Path(file).read_bytes().splitlines()
    messages = [(topic.decode(), payload) for topic, _, payload in (line.partition(b"\t") for line in lines)]
    uvloop.run(publish(host, int(port), messages))


if __name__ == "__main__":
    main()
