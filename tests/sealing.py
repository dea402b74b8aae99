"""Cursors as a house seals them, and as a stranger without the key makes them."""

import base64
from typing import Any

import msgspec

from saleroom.http.cursors import CursorKind, Cursors
from saleroom.http.secret import HouseSecret
from saleroom.storage import secrets
from tests.fixtures_house import House

SECRET = "5ea1" * 16


def known(value: str = SECRET) -> HouseSecret:
    """Return a secret that is loaded already."""
    secret = HouseSecret()
    secret.learn(value)
    return secret


def cursors(secret: str = SECRET) -> Cursors:
    """Return the reader and writer of cursors for a secret."""
    return Cursors(known(secret))


def cursors_of(house: House) -> Cursors:
    """Return the reader and writer of a house's cursors, with its own secret."""
    value = house.read(secrets.find)
    assert value is not None
    return cursors(value)


def sealed(of: CursorKind, value: Any) -> str:
    """Return a cursor of a list, sealed by `SECRET`, with any content."""
    return cursors().write(of, value)


def plain(value: Any) -> str:
    """Return a cursor in the form from before cursors were sealed."""
    return base64.urlsafe_b64encode(msgspec.json.encode(value)).decode().rstrip("=")
