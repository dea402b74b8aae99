"""Damage to a ledger, and files that are no ledger at all, in words that need no knowledge of hashes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

import msgspec

from saleroom.bidding.domain.ledger import event_hash
from saleroom.bidding.domain.pseudonyms import InvalidNames
from saleroom.bidding.domain.signatures import FORM

FOLLOWING_LINES_MAX, FOLLOWING_BYTES_MAX = 10_000, 64 * 1024 * 1024
"""How far the search for a line goes that stands in the wrong place."""
FILE_BYTES_MAX = 1024 * 1024
_HTML = re.compile(rb"\s*(?:\xef\xbb\xbf)?\s*<[!a-zA-Z?]")
_A_LEDGER = "a ledger is what the house answers at /auctions/GID/ledger"
_KNOWN = (
    (frozenset({"message"}), f"this is the answer of a house that refused a request, not a ledger; {_A_LEDGER}"),
    (frozenset({"receipt"}), "this is the answer to a bid, not a ledger; give the ledger, and this with --receipt"),
    (frozenset({"gid", "head"}), f"this is an auction, not its ledger; {_A_LEDGER}"),
    (
        frozenset({"keys"}),
        "this is the list of a house's keys, not a ledger; give the ledger, and this with --key",
    ),
)
"""The kind of a JSON object with these members."""


def describe(number: int, head: str, here: Mapping[str, Any], rest: BinaryIO) -> str:
    """Return what happened to line `number`, with the event `here`, which does not continue the chain from `head`."""
    following = _events(rest)
    sequence = here.get("sequence")
    for line, event in enumerate(following, number + 1):
        if _fits(head, event):
            if sequence == line:
                return f"lines {number} and {line} were exchanged"
            return f"line {number} was added" if line == number + 1 else f"line {line} belongs at line {number}"
    if isinstance(sequence, int) and sequence != number:
        if sequence < number:
            return f"line {number} was added"
        missing = sequence - number
        lines = "a line is" if missing == 1 else f"{missing} lines are"
        return f"line {number} does not belong here, as {lines} missing before it"
    if following and _fits(_hash(head, here), following[0]):
        return f"line {number} was changed, in its hash"
    return f"line {number} was changed"


def wrong_file(first: bytes, rest: BinaryIO) -> str | None:
    """Return what a file is that begins with the line `first` and is no ledger; None if that cannot be told."""
    raw = first + rest.read(FILE_BYTES_MAX)
    if _HTML.match(raw):
        return f"this is a web page, not a ledger; {_A_LEDGER}"
    if FORM.fullmatch(raw.decode("latin-1").strip()):
        return "this is a receipt, not a ledger; give the ledger, and this with --receipt"
    try:
        found = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if _has(found, frozenset({"event"})):
        return None
    return next(
        (words for members, words in _KNOWN if _has(found, members)), f"this is JSON, but not a ledger; {_A_LEDGER}"
    )


def _has(found: object, members: frozenset[str]) -> bool:
    return isinstance(found, dict) and members <= found.keys()


def _events(rest: BinaryIO) -> Sequence[dict[str, Any]]:
    """Return the events of the lines that follow, an empty one for a line that has none."""
    found: list[dict[str, Any]] = []
    size = 0
    while len(found) < FOLLOWING_LINES_MAX and (raw := rest.readline(FOLLOWING_BYTES_MAX)):
        size += len(raw)
        if size > FOLLOWING_BYTES_MAX:
            break
        try:
            line = msgspec.json.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            line = None
        event = line.get("event") if isinstance(line, dict) else None
        found.append(event if isinstance(event, dict) else {})
    return found


def _fits(head: str, event: Mapping[str, Any]) -> bool:
    """Whether `event` continues the chain from `head`."""
    return "hash" in event and event["hash"] == _hash(head, event)


def _hash(head: str, event: Mapping[str, Any]) -> str:
    """Return the hash of `event` after `head`; an empty text if its names have not the form of a house's."""
    try:
        return event_hash(head, event)
    except InvalidNames:
        return ""
