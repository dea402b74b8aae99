"""Mail addresses: which texts are one, and how each is written so that equal ones are equal."""

from __future__ import annotations

import re
import unicodedata
from email.headerregistry import Address

import idna

from saleroom.kernel.errors import Fault
from saleroom.kernel.texts import hidden_fault, shown_fault

ADDRESS_MAX = 254
LOCAL_BYTES_MAX = 64
FORMAT = Fault("mail_address_format", "must be a mail address, such as ada@example.org")
_LOCAL = re.compile(
    r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~\x80-\U0010ffff-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~\x80-\U0010ffff-]+)*"
)
_HOST = re.compile(r"(?=.{1,253}\Z)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*")


def parse_mail_address(text: str) -> str | Fault:
    """Return a mail address without the white space around it, with its host in lower-case ASCII (IDNA), or its fault.

    Forms that RFC 5321 allows and nobody has are refused: quoted names, numbers in place of the host, and names that mail
    programs would decode.
    """
    text = unicodedata.normalize("NFC", text.strip())
    name, at, host = text.rpartition("@")
    if not at or len(text) > ADDRESS_MAX or hidden_fault(text, lines=False) or shown_fault(text):
        return FORMAT
    if "=?" in name or not _LOCAL.fullmatch(name) or len(name.encode()) > LOCAL_BYTES_MAX or any(map(_is_odd, name)):
        return FORMAT
    plain = _plain_host(host)
    if plain is None or len(name) + 1 + len(plain) > ADDRESS_MAX:
        return FORMAT
    return f"{name}@{plain}"


def in_header(address: str, shown: str = "") -> Address:
    """Return a mail address for the header of a mail, with a name beside it.

    It is given in its parts, as the library reads no text with letters beyond ASCII before the `@`.
    """
    name, _, host = address.rpartition("@")
    return Address(shown, name, host)


def folded_address(address: str) -> str:
    """Return an address without the case of its letters: others that differ by it alone are almost always the same mailbox."""
    return address.casefold()


def _is_odd(character: str) -> bool:
    """Return whether a character is none that stands in a name: a space, a mark of direction, or one that shows nothing."""
    return character > "\x7f" and unicodedata.category(character)[0] in "CZ"


def _plain_host(host: str) -> str | None:
    """Return a host in lower-case ASCII, or None if it is none."""
    try:
        plain = host.lower() if host.isascii() else idna.encode(host, uts46=True).decode()
    except idna.IDNAError:
        return None
    labels = plain.split(".")
    if not _HOST.fullmatch(plain) or labels[-1].isdigit() or (len(labels) == 1 and plain != "localhost"):
        return None
    return plain
