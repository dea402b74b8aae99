"""The steps of a bid, and the modules and functions that belong to each: the one table of `make bench-profile`.

A sample belongs to the step of the innermost frame that the table knows. So what a step calls in other packages, or in the
kernel's values, counts for that step, unless it has a step of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

NONE = "none of these"
LOOP = "event loop and sockets"

STEPS: dict[str, tuple[str, ...]] = {
    LOOP: ("uvloop", "asyncio", "uvicorn.server", "saleroom.runtime.serving", "saleroom.http.event_loop"),
    "reading the request: HTTP": (
        *("saleroom.http.protocol", "saleroom.http.exchange", "saleroom.http.framing", "saleroom.http.internals"),
        *("saleroom.http.connections", "saleroom.http.pacing", "uvicorn"),
    ),
    "guard": (
        *("saleroom.http.guard", "saleroom.http.forgery", "saleroom.http.cors", "saleroom.http.proxies"),
        "saleroom.http.asker",
    ),
    "endpoint and its fields": (
        *("saleroom.http.front", "saleroom.http.endpoints", "saleroom.http.forms", "saleroom.http.requests"),
        *("saleroom.bidding.api", "starlette"),
    ),
    "desk, turns and greenlets": (
        *("saleroom.bidding.service.desk", "saleroom.storage.turns", "saleroom.storage.batching"),
        *("saleroom.storage.database", "saleroom.storage.sqlite", "saleroom.storage.postgresql"),
        *("sqlalchemy.util.concurrency", "greenlet"),
    ),
    "deciding": ("saleroom.bidding.service", "saleroom.bidding.domain", "saleroom.storage.cache"),
    "ledger and its chain": (
        *("saleroom.bidding.domain.ledger", "saleroom.kernel.chain:Chain"),
        *("saleroom.kernel.chain:link", "saleroom.kernel.chain:salt"),
    ),
    "receipt and its signature": (
        *("saleroom.bidding.domain.receipts", "saleroom.bidding.domain.signatures"),
        *("saleroom.bidding.service.signing", "saleroom.bidding.service.receipts", "saleroom.kernel.merkle"),
    ),
    "views and events as JSON": ("saleroom.bidding.domain.views", "saleroom.bidding.service.bidding:_answer"),
    "SQL: rows, statements, drivers": (
        *("saleroom.bidding.storage", "saleroom.accounts.storage", "saleroom.accounts.service", "saleroom.log"),
        *("saleroom.storage", "sqlalchemy", "asyncpg", "sqlite3"),
    ),
    "writing the answer": (
        *("saleroom.http.answers", "saleroom.http.responses", "saleroom.http.problems"),
        *("saleroom.http.guard:SecurityHeaders", "saleroom.http.client_connection"),
        *("saleroom.http.protocol:Http._answered", "saleroom.http.exchange:Exchange._send_whole"),
        *("saleroom.http.exchange:Exchange._begin", "saleroom.http.exchange:Exchange._framed"),
    ),
    "telling others: closer, streams, relay": (
        *("saleroom.bidding.service.closing", "saleroom.feed", "saleroom.mqtt", "saleroom.broker"),
        "saleroom.bidding.service.watching",
    ),
}
_BY_PLACE = {place: step for step, places in STEPS.items() for place in places}


def step_of(stack: Sequence[str]) -> str:
    """Return the step of a stack of `module:function`, innermost first.

    The event loop calls everything, so only what it does itself is its own.
    """
    found = next(((step, frame) for frame in stack if (step := _known(frame)) is not None), None)
    if found is None or (found[0] == LOOP and found[1] != stack[0]):
        return NONE
    return found[0]


def _known(frame: str) -> str | None:
    """Return the step of a frame by its longest known beginning: the function, its class, its module, or a package."""
    module, _, function = frame.partition(":")
    while function:
        if (step := _BY_PLACE.get(f"{module}:{function}")) is not None:
            return step
        function = function.rpartition(".")[0]
    while module:
        if (step := _BY_PLACE.get(module)) is not None:
            return step
        module = module.rpartition(".")[0]
    return None
