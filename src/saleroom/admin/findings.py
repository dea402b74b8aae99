"""Findings of `saleroom doctor`: what was found, and the remedy. None shows a secret."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Level(StrEnum):
    """How bad a finding is. OFF: there is nothing to check."""

    FINE = "ok"
    OFF = "off"
    WARNING = "warn"
    FAULT = "fault"


class Finding(Struct, frozen=True):
    """What a check has found, and the remedy if one is needed."""

    check: str
    level: Level
    what: str
    remedy: str = ""


def fine(check: str, what: str) -> Finding:
    """Return that all is well."""
    return Finding(check, Level.FINE, what)


def off(check: str, what: str) -> Finding:
    """Return that there was nothing to check."""
    return Finding(check, Level.OFF, what)


def warned(check: str, what: str, remedy: str) -> Finding:
    """Return what will be a fault, or may be one."""
    return Finding(check, Level.WARNING, what, remedy)


def failed(check: str, what: str, remedy: str) -> Finding:
    """Return a fault."""
    return Finding(check, Level.FAULT, what, remedy)
