"""What docs/ledger.md says is enough to verify a ledger."""

import base64
import hashlib
import json
from typing import Any

from tests.tools.verify.test_reading import closed


def test_the_document_is_enough_to_verify_a_chain() -> None:
    """docs/ledger.md is enough to verify a ledger: with Python's json and hashlib, and nothing of the house."""

    def canonical(value: Any) -> bytes:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()

    def link(previous: str, value: Any) -> str:
        return hashlib.sha256(previous.encode() + b"\n" + canonical(value)).hexdigest()

    head = "0" * 64
    for number, raw in enumerate(closed(), 1):
        line = json.loads(raw)
        assert raw == canonical(line) + b"\n"
        happened, shown = line["event"], line["opened"]
        assert number == happened["sequence"]
        hidden = "0" * 64
        for each in shown["hidden"]:
            hidden = link(hidden, each)
        assert happened["commitment"] == link(shown["salt"], {"data": shown["data"], "hidden": hidden})
        digest, salts = happened.pop("hash"), happened["data"].pop("salts", {})
        for member in ("author", "bidder", "currentBidder", "winner"):
            if (name := happened["data"].get(member)) in salts:
                hashed = hashlib.sha256(f"{salts[name]}\n{name}".encode()).digest()
                happened["data"][member] = "erased." + base64.urlsafe_b64encode(hashed[:18]).decode()
        head = link(head, happened)
        assert head == digest
