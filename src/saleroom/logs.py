"""Logs: structured, on standard error, and never with a secret in them."""

from __future__ import annotations

import asyncio
import io
import logging
import re
import sys
from collections import Counter
from collections.abc import Callable, MutableMapping
from typing import Any, TextIO

import structlog
from structlog.typing import ExcInfo

SECRET_KEYS = frozenset({"token", "password", "authorization", "cookie", "digest"})
_NOT_PLAIN = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
"""Characters that could end a line, control a terminal, or make one text look like another."""


def configure(level: str, style: str) -> None:
    """Log from `level` on, for people (`console`) or programs (`json`); other libraries' loggers from `warning` on."""
    number = logging.getLevelNamesMapping()[level.upper()]
    renderer: Any = (
        structlog.processors.JSONRenderer()
        if style == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=_traceback)
    )
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _without_secrets,
        _plainly,
    ]
    structlog.configure(
        processors=[*shared, *([structlog.processors.format_exc_info] if style == "json" else []), renderer],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    logging.basicConfig(level=max(number, logging.WARNING), handlers=[handler], force=True)


def _without_secrets(_: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Hide values whose name says that they are secret."""
    for key in event.keys() & SECRET_KEYS:
        event[key] = "[hidden]"
    return event


def _plainly(_: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Escape control characters in text from clients, such as a path, so that an entry stays on one line."""
    for key, value in event.items():
        if isinstance(value, str):
            event[key] = _NOT_PLAIN.sub(_written_out, value)
    return event


def _traceback(out: TextIO, exc_info: ExcInfo) -> None:
    """Write a traceback for people, with control characters escaped."""
    text = io.StringIO()
    structlog.dev.plain_traceback(text, exc_info)
    out.write("\n".join(_NOT_PLAIN.sub(_written_out, line) for line in text.getvalue().split("\n")))


def _written_out(mark: re.Match[str]) -> str:
    return mark[0].encode("unicode_escape").decode()


TELL_SECONDS = 1.0


class LogThrottle:
    """Calls `log` for the first of many like events at once, and then at most once every `seconds`, 1 by default.

    `log` gets the number of events since its last call. Use it in the event loop.
    """

    def __init__(self, log: Callable[[int], None], seconds: float | None = None) -> None:
        self._log = log
        self._seconds = seconds
        self._count = 0
        self._waits = False

    def count(self) -> None:
        """Take note of one event."""
        self._count += 1
        if not self._waits:
            self._flush()

    def _flush(self) -> None:
        count, self._count = self._count, 0
        self._waits = count > 0
        if count:
            self._log(count)
            asyncio.get_running_loop().call_later(self._seconds or TELL_SECONDS, self._flush)


class Tally:
    """Counts events by their reason, and logs `line` with the counts, throttled."""

    def __init__(self, line: str) -> None:
        self.counts: Counter[str] = Counter()
        self._line = line
        self._untold: Counter[str] = Counter()
        self._throttle = LogThrottle(self._log)

    def count(self, reason: str) -> None:
        """Take note of one event. Call it in the event loop."""
        self.counts[reason] += 1
        self._untold[reason] += 1
        self._throttle.count()

    def _log(self, _: int) -> None:
        structlog.get_logger(__name__).warning(self._line, reasons=dict(self._untold))
        self._untold.clear()


class OutageLog:
    """Logs that requests fail because the database is unavailable, throttled."""

    def __init__(self) -> None:
        self._reason = ""
        self._throttle = LogThrottle(self._log)

    def failed(self, reason: str) -> None:
        """Take note of a request that was answered 503. Call it in the event loop."""
        self._reason = reason
        self._throttle.count()

    def _log(self, requests: int) -> None:
        structlog.get_logger(__name__).error("the database is unavailable", reason=self._reason, requests=requests)
