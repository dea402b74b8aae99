"""`saleroom`, but it can be made to die at a named point: killed at once, with no chance to tidy up.

A test writes the point's name with `arm`; the first process of the house to reach it dies. Run as a program with the
arguments of `saleroom`. The processes that it starts import this file again, and so can die as well.
"""

import importlib
import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from typing import Any

import paho.mqtt.client as paho

ARMED = "SALEROOM_TEST_ARMED"
"""The variable that names the file with the point to die at."""
DAWDLES = "SALEROOM_TEST_DAWDLES"
"""Seconds that now and then pass before a bid's commit, so that of two processes the later one commits first."""
CONSTANTS = "SALEROOM_TEST_CONSTANTS"
"""JSON: `module:NAME` -> the value to set instead, in each program that a test starts (`tests/forking.py`)."""

DAWDLERS = 0.1
"""The share of transactions with bids that wait so long."""

POINTS = {
    "bid decided": "a bid's rows are written and not committed",
    "bid committed": "a bid is committed and nobody has been told",
    "event due": "an event is about to be handed to the MQTT client",
    "event sent": "an event is with the kernel, its acknowledgement unread",
    "event acknowledged": "the broker has acknowledged and nothing is marked",
    "mark written": "the marks are written and not committed",
    "mark committed": "the marks are committed",
    "reply due": "a command is committed and its answer not sent",
    "reply sent": "a command's answer is with the kernel",
    "close decided": "an auction's close is written and not committed",
    "close committed": "an auction's close is committed and nobody has been told",
    "act decided": "an act of a clerk is written and not committed",
    "act committed": "an act of a clerk is committed and nobody has been told",
    "entry written": "an entry of the journal is written, and the act that it is of is not over",
    "number taken": "a document or a payment file has its number, and is not written",
    "money decided": "an act of a cashier is written and not committed",
    "money committed": "an act of a cashier is committed and nobody has been told",
    "sheet made": "the card provider has made a page, and the house has not noted it",
    "payment seen": "the card provider has said that something is paid or paid back, and nothing is posted",
    "payment written": "a payment by card online is posted and not committed",
    "payment committed": "a payment by card online is committed and nobody has been told",
    "photo put": "the files of a photo are in the store, and its rows are not written",
    "photo written": "the rows of a photo are written and not committed",
    "photo committed": "a photo is committed and nobody has been told",
    "person erased": "somebody is erased, and the objects of their photos are not deleted",
}
CARD_POINTS = ("sheet made", "payment seen", "payment written", "payment committed")
"""The points that only a house comes to that takes cards online."""
_WRITES: dict[str, tuple[str | None, str | None, str | None]] = {
    "place_bids": (None, "bid decided", "bid committed"),
    "hold_and": ("event acknowledged", "mark written", "mark committed"),
    "settle_due": (None, "close decided", "close committed"),
    "act": (None, "act decided", "act committed"),
    "note_sheet": ("sheet made", None, None),
    "post_seen": ("payment seen", "payment written", "payment committed"),
    "keep": ("photo put", "photo written", "photo committed"),
    "erase": (None, None, "person erased"),
    **dict.fromkeys(
        ("pay", "refund", "pay_out", "net", "correct", "issue", "credit", "import_statement", "make", "mark"),
        (None, "money decided", "money committed"),
    ),
}
"""Use case -> the points before it, at its end within the transaction, and after the commit."""
_IDLE: dict[str, Callable[[Any], bool]] = {"settle_due": lambda settled: settled.count == 0}
"""Use case -> whether it has done nothing, by its return value: it then reaches none of its points."""


def arm(file: Path, point: str) -> None:
    """Let the next process that reaches `point` die there; `file` is gone once one does."""
    assert point in POINTS, point
    draft = file.with_suffix(".draft")
    draft.write_text(point)
    draft.rename(file)


def reach(point: str | None) -> None:
    """Die here if a test has asked for it."""
    try:
        if _armed.read_text() != point:
            return
        _armed.unlink()  # of several processes one succeeds
    except FileNotFoundError:
        return
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)  # never: the signal is on its way


def _idle(name: str, answer: Any) -> bool:
    return name in _IDLE and _IDLE[name](answer)


def _at_transactions() -> None:
    from saleroom.storage import database

    write: Callable[..., Any] = database.Database.write

    @cache
    def within(use_case: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(use_case)
        def mortal(*args: Any, **kwargs: Any) -> Any:
            answer = use_case(*args, **kwargs)
            if _dawdles and random.random() < DAWDLERS:
                time.sleep(_dawdles)
            if not _idle(use_case.__name__, answer):
                reach(_WRITES[use_case.__name__][1])
            return answer

        return mortal

    @wraps(write)
    async def mortal_write(self: Any, use_case: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        name = getattr(use_case, "__name__", "")
        if name not in _WRITES:
            return await write(self, use_case, *args, **kwargs)
        before, _, after = _WRITES[name]
        reach(before)
        answer = await write(self, within(use_case), *args, **kwargs)
        if not _idle(name, answer):
            reach(after)
        return answer

    database.Database.write = mortal_write  # type: ignore[method-assign]  # that is the point


def _at_money() -> None:
    from saleroom.settlement.storage import documents, journal, payouts

    add = journal.add

    @wraps(add)
    def mortal_add(*args: Any, **kwargs: Any) -> Any:
        number = add(*args, **kwargs)
        reach("entry written")
        return number

    def mortal(take_place: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(take_place)
        def mortal_place(*args: Any, **kwargs: Any) -> Any:
            place = take_place(*args, **kwargs)
            reach("number taken")
            return place

        return mortal_place

    journal.add = mortal_add
    documents.take_place, payouts.take_place = mortal(documents.take_place), mortal(payouts.take_place)


def _at_the_wire() -> None:
    publish, loop_write = paho.Client.publish, paho.Client.loop_write
    unsent: list[str] = []

    @wraps(publish)
    def mortal_publish(self: paho.Client, topic: str, *args: Any, **kwargs: Any) -> Any:
        what = "event" if topic.endswith("/events") else "reply" if "replies/" in topic else None
        if what is not None:
            reach(f"{what} due")
            unsent.append(what)
        return publish(self, topic, *args, **kwargs)

    @wraps(loop_write)
    def mortal_loop_write(self: paho.Client, *args: Any, **kwargs: Any) -> Any:
        code = loop_write(self, *args, **kwargs)
        # Acknowledgements are read by another callback of the same loop, so none of these is known yet.
        while unsent:
            reach(f"{unsent.pop()} sent")
        return code

    paho.Client.publish = mortal_publish  # type: ignore[method-assign]  # that is the point
    paho.Client.loop_write = mortal_loop_write  # type: ignore[method-assign]  # that is the point


def set_constants() -> None:
    """Give the constants that `CONSTANTS` names their values."""
    for name, value in json.loads(os.environ.get(CONSTANTS, "{}")).items():
        module, _, constant = name.partition(":")
        loaded = importlib.import_module(module)
        assert hasattr(loaded, constant), f"{module} has no {constant} any more"
        setattr(loaded, constant, value)


if __name__ in ("__main__", "__mp_main__"):  # the latter in the processes that the first one starts
    _armed = Path(os.environ[ARMED])
    _dawdles = float(os.environ.get(DAWDLES, "0"))
    _at_transactions()
    _at_money()
    _at_the_wire()
    set_constants()

if __name__ == "__main__":
    from saleroom.cli import main

    sys.exit(main())
