"""Headers of a mail: a subject, and addresses. Each is written as it is given.

The standard library decodes what looks like an encoded word (RFC 2047) in a header that it is given, so that a name could end
the header and begin another one. It encodes a long address of a page, which no mail program decodes (RFC 2369), and it loses
spaces between the encoded words that it makes of a long text.
"""

from __future__ import annotations

from base64 import b64encode
from email.headerregistry import Address, BaseHeader, HeaderRegistry
from email.policy import SMTP, Policy
from typing import Any

LINE_MAX = 76
"""The most characters of a line with encoded words."""
_AROUND = len("=?utf-8?b??=")


class _Verbatim(BaseHeader):
    """A header of one address or id in `<>`, as a type of header for the library, which encodes a long one in vain."""

    max_count = 1

    @classmethod
    def parse(cls, value: str, kwds: dict[str, Any]) -> None:
        """Take the text as it is."""
        kwds["parse_tree"], kwds["decoded"] = None, str(value)

    def fold(self, *, policy: Policy) -> str:
        """Return the header as one line."""
        return f"{self.name}: {self}{policy.linesep}"


class _Subject(_Verbatim):
    """A subject."""

    def fold(self, *, policy: Policy) -> str:
        """Return the header as lines."""
        return policy.linesep.join(_lines(f"{self.name}: ", str(self))) + policy.linesep


class _OneAddress(BaseHeader):
    """One address with the name beside it."""

    max_count = 1
    addresses: tuple[Address]
    """As the library has them."""

    @classmethod
    def parse(cls, value: Address, kwds: dict[str, Any]) -> None:
        """Take the address in its parts."""
        kwds["parse_tree"], kwds["decoded"], kwds["address"] = None, str(value), value

    def init(self, name: str, *, address: Address, **kwds: Any) -> None:  # type: ignore[override]  # parse adds one
        """Keep the parts."""
        super().init(name, **kwds)
        self.addresses = (address,)

    def fold(self, *, policy: Policy) -> str:
        """Return the header as lines."""
        [whole] = self.addresses
        begin, shown, address = f"{self.name}: ", whole.display_name, whole.addr_spec
        if not shown:
            return f"{begin}{address}{policy.linesep}"
        plain = _is_plain(shown) and len(begin) + len(str(self)) <= LINE_MAX
        lines = [f"{begin}{self}"] if plain else [*_words(begin, shown), f" <{address}>"]
        return policy.linesep.join(lines) + policy.linesep


def _registry() -> HeaderRegistry:
    registry = HeaderRegistry()
    registry.map_to_type("subject", _Subject)
    for name in ("from", "to"):
        registry.map_to_type(name, _OneAddress)
    for name in ("list-unsubscribe", "message-id"):
        registry.map_to_type(name, _Verbatim)
    return registry


AS_GIVEN = SMTP.clone(header_factory=_registry())
"""How a mail is made: a subject is text, a sender and a receiver are an `Address` (`kernel.mail.in_header`)."""


def _is_plain(text: str) -> bool:
    return text.isascii() and "=?" not in text


def _lines(begin: str, text: str) -> list[str]:
    if _is_plain(text) and len(begin) + len(text) <= LINE_MAX:
        return [begin + text]
    return _words(begin, text)


def _words(begin: str, text: str) -> list[str]:
    """Return lines of one encoded word each, the first behind `begin`; no character is divided between two."""
    parts: list[bytes] = [b""]
    room = _bytes_in(LINE_MAX - len(begin))
    for character in text:
        added = character.encode()
        if len(parts[-1]) + len(added) > room:
            parts.append(b"")
            room = _bytes_in(LINE_MAX - 1)
        parts[-1] += added
    words = [f"=?utf-8?b?{b64encode(part).decode()}?=" for part in parts]
    return [begin + words[0], *(f" {word}" for word in words[1:])]


def _bytes_in(characters: int) -> int:
    """Return how many bytes an encoded word of so many characters holds."""
    return (characters - _AROUND) // 4 * 3
