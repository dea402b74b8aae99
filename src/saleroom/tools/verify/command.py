"""What the command line calls: from words to a plan, and from a ledger to an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec import Struct

from saleroom.kernel.terminal import plain
from saleroom.tools.verify import display, receipts, source
from saleroom.tools.verify.progress import Progress
from saleroom.tools.verify.reading import Damaged, Ledger, read
from saleroom.tools.verify.receipts import FORM, Keys, Receipt, Refuted
from saleroom.tools.verify.source import CannotRead, Lot, WrongUsage

__all__ = ["FAILED", "Plan", "WrongUsage", "plan", "run"]


class Failed(Exception):
    """The ledger or the receipt is not in order, or cannot be read. The message is fit for a terminal."""


FAILED = (Failed,)


class Plan(Struct, frozen=True):
    """What to verify: a `file` (`-` is standard input) or a `lot` in a house; a `receipt` as it was given, and a `key`."""

    file: str | None
    lot: Lot | None
    receipt: str | None
    key: str | None


class _AnswerToABid(Struct):
    """What a house answers to a bid, as far as it matters here."""

    receipt: str


def plan(target: str, receipt: str | None, key: str | None) -> Plan:
    """Read what was given. Raises WrongUsage."""
    lot = source.lot(target) if source.is_url(target) else None
    if receipt is not None and key is None and lot is None:
        raise WrongUsage("a receipt needs the house's key: give --key with its address, or a file with its keys")
    if key is not None and receipt is None:
        raise WrongUsage("--key is for a --receipt, and there is none")
    if key is not None and source.is_url(key):
        source.split(key)
    return Plan(target if lot is None else None, lot, receipt, key)


def run(given: Plan, *, json: bool) -> int:
    """Verify, and show what was found. Raises Failed."""
    try:
        with Progress() as progress:
            ledger, notes = _verified(given, lambda size: progress.say(f"read {size / 1e6:,.1f} MB"))
    except Damaged as error:
        return _failed(json, error.line, error.reason)
    except Refuted as error:
        return _failed(json, None, f"the receipt: {error}")
    except CannotRead as error:
        return _failed(json, None, str(error))
    try:
        if json:
            _print(display.as_json(ledger, notes))
        else:
            display.show(ledger, notes)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read has seen enough. Python would complain of it once more at its own end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _failed(json: bool, line: int | None, reason: str) -> int:
    if json:
        _print(display.as_json_broken(line, reason))
    raise Failed(plain(reason if line is None else f"line {line}: {reason}"))


def _print(raw: bytes) -> None:
    sys.stdout.buffer.write(raw + b"\n")
    sys.stdout.buffer.flush()


def _verified(given: Plan, progress: Callable[[int], None]) -> tuple[Ledger, list[str]]:
    """Return a ledger that is in order, and what else is to be said. Raises Damaged, Refuted or CannotRead."""
    receipt = None if given.receipt is None else _receipt(given)
    notes = []
    if given.lot is None:
        with _opened(given.file or "-") as file:
            ledger = read(file, progress)
    else:
        from saleroom.tools.verify.http import fetch_lot

        standing, fetched = fetch_lot(given.lot, progress)
        with fetched as file:
            ledger = read(file, progress)
        if (given.lot.gid, standing.gid) != (ledger.gid, ledger.gid):
            raise Damaged(1, f"it is the ledger of {ledger.gid!r}, and not of {given.lot.gid!r}")
        if standing.version > len(ledger.hashes):
            raise Damaged(
                len(ledger.hashes) + 1, f"the ledger ends here, but the auction has {standing.version} events"
            )
        if standing.version < 1 or ledger.hashes[standing.version - 1] != standing.head:
            raise Damaged(standing.version, "its hash is not the head that the house shows for the auction")
        notes.append(f"event {standing.version} has the hash that the house shows as the auction's head")
    if receipt is not None:
        notes.append(f"receipt: {receipts.stands(receipt, ledger)}")
    return ledger, notes


def _opened(file: str) -> BinaryIO:
    if file == "-":
        return sys.stdin.buffer
    try:
        return Path(file).open("rb")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CannotRead(f"cannot read {file}: {reason}; give a ledger's file or an auction's address") from None


def _receipt(given: Plan) -> Receipt:
    """Return the receipt that was given as text, in a file, or in a file within the answer to a bid."""
    text = (given.receipt or "").strip()
    if not FORM.fullmatch(text):
        raw = source.small_file(text)
        text = raw.decode("ascii", "replace").strip()
        with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            text = msgspec.json.decode(raw, type=_AnswerToABid).receipt
    return receipts.opened(text, _keys(given))


def _keys(given: Plan) -> Keys:
    where = given.key or (given.lot.base if given.lot is not None else "")
    if source.is_url(where):
        from saleroom.tools.verify.http import fetch_keys

        return source.keys_of(fetch_keys(where), where)
    return source.keys_of(source.small_file(where), where)
