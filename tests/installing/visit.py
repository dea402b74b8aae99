"""Visits a house at http://127.0.0.1:9000 as people do, from within the network of its machine; prints what stays as JSON.

`python -m tests.installing.visit sell` registers people, who bid; `paper` prints a catalogue; `look GID` only looks.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from typing import Any

import httpx

from tests.pictures import plain

HOUSE = "http://127.0.0.1:9000"
PASSWORD = "correct horse"


def client(token: str | None = None) -> httpx.Client:
    """Return a client of the house, with or without a token."""
    headers = {"X-Requested-With": "visit"} | ({} if token is None else {"Authorization": f"Bearer {token}"})
    return httpx.Client(base_url=HOUSE, headers=headers, timeout=60)


def done(answer: httpx.Response) -> Any:
    """Return the JSON of an answer that must be a success."""
    assert answer.is_success, f"{answer.request.method} {answer.request.url}: {answer.status_code} {answer.text}"
    return answer.json()


def entered(name: str) -> httpx.Client:
    """Register a user, and return their client."""
    with client() as anyone:
        anyone.post("/users", json={"username": name, "password": PASSWORD})
        return client(done(anyone.post("/login", json={"username": name, "password": PASSWORD}))["token"])


def sell() -> dict[str, Any]:
    """Sell a clock with a photo to the second of two bidders, print a sale's catalogue; return the gid."""
    with entered("ada") as ada, entered("ben") as ben:
        photo = done(ada.post("/photos", content=plain((640, 480)), headers={"Content-Type": "image/jpeg"}))["id"]
        draft = {"name": "Longcase clock", "startingPrice": "100"}
        gid = done(ada.post("/auctions", json=draft))["gid"]
        done(ada.put(f"/auctions/{gid}/photos", json={"photos": [photo]}))
        done(ben.post(f"/auctions/{gid}/bids", json={"maximum": "250"}))
        return {"gid": gid, **look(gid)}


def paper() -> dict[str, Any]:
    """Print the catalogue of a sale as its owner, who is ada; return its size in bytes."""
    with entered("ada") as ada:
        terms = {"title": "An evening", "kind": "timed", "startsAt": "2099-05-01T12:00:00Z"}
        sale = done(ada.post("/sales", json=terms))["gid"]
        done(ada.post(f"/sales/{sale}/lots", json={"name": "Clock", "startingPrice": "10"}))
        answer = ada.get(f"/sales/{sale}/paper/catalogue.pdf")
        assert answer.content.startswith(b"%PDF"), answer.text
        return {"bytes": len(answer.content)}


def look(gid: str) -> dict[str, Any]:
    """Return the head of an auction's ledger, and the number of its photos."""
    with client() as anyone:
        shown = done(anyone.get(f"/auctions/{gid}"))
        bids = done(anyone.get(f"/auctions/{gid}/bids"))["bids"]
        photos = done(anyone.get(f"/auctions/{gid}/photos"))["photos"]
        ledger = anyone.get(f"/auctions/{gid}/ledger")
        assert ledger.is_success
        return {"status": shown["status"], "photos": len(photos), "bids": len(bids), "ledger": hash_of(ledger)}


def hash_of(answer: httpx.Response) -> str:
    """Return the digest of a body."""
    return hashlib.sha256(answer.content).hexdigest()


if __name__ == "__main__":
    ways: dict[str, Callable[..., Any]] = {"sell": sell, "paper": paper, "look": look}
    sys.stdout.write(json.dumps(ways[sys.argv[1]](*sys.argv[2:])))
