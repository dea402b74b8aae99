"""Patience: reads for the parts of a long answer, which wait while the house is busy."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from saleroom.kernel.errors import Busy
from saleroom.storage.database import Database, Transaction

P = ParamSpec("P")
R = TypeVar("R")
BUSY_SECONDS = 0.5


async def read_patiently(
    database: Database, read: Callable[Concatenate[Transaction, P], R], *args: P.args, **kwargs: P.kwargs
) -> R:
    """Run a read for a part of a long answer. If the house is busy it waits, as earlier parts have already been sent."""
    while True:
        try:
            return await database.read(read, *args, **kwargs)
        except Busy:
            await asyncio.sleep(BUSY_SECONDS)
