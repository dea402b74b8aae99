"""XML of banks, read without anything that XML can be abused for.

A document type is refused before any of it counts, so no entity is ever expanded; depth is bounded here, size by the reader.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from xml.etree import ElementTree as ET
from xml.parsers import expat

from saleroom.kernel.errors import Fault
from saleroom.kernel.money import parse_money
from saleroom.kernel.texts import hidden_fault

_DEPTH_MAX = 40
_CURRENCY = re.compile("[A-Z]{3}")
_TYPED = Fault("document_type", "must have no document type (DOCTYPE)")
ZIP = b"PK\x03\x04"
"""How a ZIP archive begins, in which banks put their files."""
ZIPPED = Fault("zipped", "is a ZIP archive: unpack it, and send the XML files in it one by one")
MALFORMED = (expat.ExpatError, ValueError, LookupError)
"""What the parser raises for what is no XML, or in an encoding that nobody knows."""


class UnusableFile(Exception):
    """The file is refused for a fault; without one it is none of its kind."""

    def __init__(self, fault: Fault | None = None) -> None:
        super().__init__("" if fault is None else fault.message)
        self.fault = fault


class _Builder:
    """Builds the tree of a file, no deeper than files of banks are."""

    def __init__(self) -> None:
        self._depth = 0
        self._tree = ET.TreeBuilder()

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """An element begins."""
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            raise UnusableFile
        self._tree.start(_qualified(name), attributes)

    def end(self, name: str) -> None:
        """An element ends."""
        self._depth -= 1
        self._tree.end(_qualified(name))

    def text(self, data: str) -> None:
        """Text within an element."""
        self._tree.data(data)

    def close(self) -> ET.Element:
        """Return the root."""
        return self._tree.close()


def _qualified(name: str) -> str:
    """Return a name with its namespace as ElementTree writes it."""
    return f"{{{name}" if "}" in name else name


def root_of(data: bytes) -> tuple[ET.Element, str]:
    """Return the root of a file, and its namespace if it is a `Document`. Raises UnusableFile or one of MALFORMED."""
    parser, builder = expat.ParserCreate(namespace_separator="}"), _Builder()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse_type
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.text
    parser.Parse(data, True)
    root = builder.close()
    space, _, name = root.tag.removeprefix("{").partition("}")
    return root, space if name == "Document" else ""


def is_report(space: str) -> bool:
    """Return whether a namespace is that of a payment status report (pain.002), in any version."""
    return re.search(r"[:/]pain\.002\.", space) is not None


def is_statement(space: str) -> bool:
    """Return whether a namespace is that of a bank statement (CAMT.052, 053 or 054), in any version."""
    return re.search(r":camt\.05[234]\.", space) is not None


def _refuse_type(*_: object) -> None:
    raise UnusableFile(_TYPED)


def money_in(found: ET.Element | None) -> tuple[Decimal, str]:
    """Return the amount and the currency of an element. Raises UnusableFile."""
    if found is None:
        raise UnusableFile
    currency = found.get("Ccy", "")
    if _CURRENCY.fullmatch(currency) is None:
        raise UnusableFile
    return amount_of((found.text or "").strip()), currency


def amount_of(text: str) -> Decimal:
    """Return an amount, however many zeros it begins or its decimals end with. Raises UnusableFile."""
    whole, _dot, cents = text.partition(".")
    if not (whole or cents):
        raise UnusableFile
    whole = whole.lstrip("0") or "0"
    amount = parse_money(f"{whole}.{cents.rstrip('0')}" if cents.rstrip("0") else whole)
    if isinstance(amount, Fault):
        raise UnusableFile
    return amount


def one_line(text: str) -> str:
    """Return a text in one line; one with hidden characters is no text."""
    line = " ".join(text.split())
    return "" if hidden_fault(line, lines=False) else line


def text_at(within: ET.Element, path: str, names: Mapping[str, str]) -> str:
    """Return the text at a path in one line, empty if there is none."""
    return one_line(within.findtext(path, "", dict(names)))
