"""The command: from its arguments to options, and from a ledger to an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec import Struct

from saleroom.bidding.domain.receipts import Receipt
from saleroom.bidding.domain.signatures import FORM, InvalidReceipt, Keys, check
from saleroom.kernel.terminal import plain
from saleroom.tools.amounts import Money, in_currency
from saleroom.tools.arguments import AuctionAddress, split
from saleroom.tools.errors import ToolError, WrongUsage
from saleroom.tools.progress import Progress
from saleroom.tools.verify import display, receipts, source
from saleroom.tools.verify.reading import Breakage, Ledger, read


class VerifyOptions(Struct, frozen=True):
    """The ledger in a `file` (`-` is standard input) or of an `auction` in a house, and the options of the command."""

    file: str | None
    auction: AuctionAddress | None
    receipt: str | None
    key: str | None
    currency: str | None = None


class _AnswerReceipt(Struct):
    """The receipt in the answer to a bid."""

    receipt: str


def read_options(target: str, receipt: str | None, key: str | None, currency: str | None = None) -> VerifyOptions:
    """Return the options that the arguments stand for. Raises WrongUsage."""
    auction = source.auction_address(target) if source.is_url(target) else None
    if receipt is not None and key is None and auction is None:
        raise WrongUsage("a receipt needs the house's key: give --key with its address, or a file with its keys")
    if key is not None and receipt is None:
        raise WrongUsage("--key is for a --receipt, and there is none")
    if key is not None and source.is_url(key):
        split(key, source.FORM)
    in_currency(currency)
    return VerifyOptions(target if auction is None else None, auction, receipt, key, currency)


def run(options: VerifyOptions, *, json: bool) -> int:
    """Verify, show the result, and return the exit code. Raises ToolError with a message fit for a terminal."""
    try:
        with Progress() as progress:
            ledger, notes, money = _verified(options, lambda size: progress.report(f"read {size / 1e6:,.1f} MB"))
    except Breakage as error:
        return _failed(json, error.line, error.reason, str(error))
    except InvalidReceipt as error:
        return _failed(json, None, f"the receipt: {error}")
    except ToolError as error:
        return _failed(json, None, str(error))
    try:
        if json:
            _print(display.as_json(ledger, notes))
        else:
            display.show(ledger, notes, money)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader, such as `head`, has seen enough. Otherwise Python reports the closed output once more when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _failed(json: bool, line: int | None, reason: str, said: str | None = None) -> int:
    """Print the failure as JSON if that is asked for. Raises ToolError with what to say to people: `said`, or the reason."""
    if json:
        _print(display.failure_as_json(line, reason))
    raise ToolError(plain(said or reason))


def _print(raw: bytes) -> None:
    sys.stdout.buffer.write(raw + b"\n")
    sys.stdout.buffer.flush()


def _verified(options: VerifyOptions, progress: Callable[[int], None]) -> tuple[Ledger, list[str], Money]:
    """Return a ledger that is in order, notes about it, and the writer of its amounts.

    Raises Breakage, InvalidReceipt, ToolError.
    """
    receipt = None if options.receipt is None else _receipt(options)
    notes, currency = [], options.currency
    if options.auction is None:
        with _open(options.file or "-") as file:
            ledger = read(file, progress)
    else:
        from saleroom.tools.verify.http import fetch_lot

        head, told, fetched = fetch_lot(options.auction, progress)
        currency = currency or told
        with fetched as file:
            ledger = read(file, progress)
        if (options.auction.gid, head.gid) != (ledger.gid, ledger.gid):
            raise Breakage(1, f"it is the ledger of {ledger.gid!r}, and not of {options.auction.gid!r}")
        if head.version > len(ledger.hashes):
            raise Breakage(len(ledger.hashes) + 1, f"the ledger ends here, but the auction has {head.version} events")
        if head.version < 1 or ledger.hashes[head.version - 1] != head.head:
            raise Breakage(head.version, "its hash is not the head that the house shows for the auction")
        notes.append(f"event {head.version} has the hash that the house shows as the auction's head")
    money = in_currency(currency)
    if receipt is not None:
        notes.append(f"receipt: {receipts.find(receipt, ledger, money)}")
    return ledger, notes, money


def _open(file: str) -> BinaryIO:
    if file == "-":
        return sys.stdin.buffer
    try:
        return Path(file).open("rb")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ToolError(f"cannot read {file}: {reason}; give a ledger's file or an auction's address") from None


def _receipt(options: VerifyOptions) -> Receipt:
    """Return the receipt, which is given as text, in a file, or in a file with the answer to a bid."""
    text = (options.receipt or "").strip()
    if not FORM.fullmatch(text):
        raw = source.small_file(text)
        text = raw.decode("ascii", "replace").strip()
        with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            text = msgspec.json.decode(raw, type=_AnswerReceipt).receipt
    return check(text, _keys(options))


def _keys(options: VerifyOptions) -> Keys:
    where = options.key or (options.auction.base if options.auction is not None else "")
    if source.is_url(where):
        from saleroom.tools.verify.http import fetch_keys

        return source.keys_of(fetch_keys(where), where)
    return source.keys_of(source.small_file(where), where)
