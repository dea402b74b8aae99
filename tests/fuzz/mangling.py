"""Hostile input: valid bytes with damage, and strings that have broken other programs.

Strategies that tests draw from are made once: making them costs ten times as much as drawing an example.
"""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from hypothesis import strategies as st

NASTY = (
    *(
        "",
        " ",
        "\0",
        "a\0b",
        "\n",
        "\r\n",
        "\t",
        "\x7f",
        "\x1b[2J",
        "\ufeff",
        "\ufffe",
        "\u202e",
        "\u2028",
        "\u200d",
        "\xa0",
    ),
    *("\ud800", "\udfff", "İ", "ß", "ﬃ", "\u0130\u0307", "٣", "१", "²", "½", "𝟙", "e\u0301" * 9, "👩‍👩‍👧‍👦", "Z̷̢̛" * 20),
    *("null", "true", "NaN", "Infinity", "-0", "-1", "1e999", "1E+3", "0x10", "1_000", "00", ".5", "5.", "+5", "1,5"),
    *(
        "9" * 17,
        "9" * 18,
        "9" * 19,
        "9" * 20,
        "9" * 400,
        "9" * 5000,
        "0." + "0" * 500,
        "2147483648",
        str(2**63),
        str(-(2**63)),
    ),
    *("0000-00-00T00:00:00Z", "9999-12-31T23:59:59.999999-23:59", "0001-01-01T00:00:00+23:59", "2026-02-30T00:00:00Z"),
    *("2026-11-21T12:00:00.1234567Z", "2026-11-21T24:00:00Z", "2026-11-21T23:59:60Z", "2026-11-21 12:00:00+00:00"),
    *(
        "' OR 1=1--",
        '"; DROP TABLE bids;',
        "%",
        "_",
        "\\",
        "%00",
        "%ff",
        "%e0%80",
        "../../etc/passwd",
        "..%2f",
        "//",
        "?",
        "#",
    ),
    *(
        "<script>alert(1)</script>",
        "{{7*7}}",
        "${7*7}",
        "%s%n",
        "{0.__class__}",
        "__proto__",
        "=1+1",
        "+",
        "$SYS/#",
        "a/+/b",
    ),
    *("[" * 3000, '{"a":' * 3000, '"' * 9, "a" * 3000, "=" * 65, ";" * 300, "&" * 300, "-" * 300),
)
"""Texts. Some cannot be encoded: see `as_bytes`."""
SECONDS_MAX = 5.0
"""The processor time that one reading may take: far more than any needs, far less than an endless one."""


def as_bytes(text: str) -> bytes:
    """Return a text as UTF-8, including lone surrogates, which no decoder takes."""
    return text.encode("utf-8", "surrogatepass")


_NASTY_BYTES = (
    *map(as_bytes, NASTY),
    b"\xff",
    b"\xc0\x80",
    b"\xf5\x80\x80\x80",
    b"\x80",
    b"\xff\xd8\xff",
    b"\x00" * 300,
)


@cache
def nasty_bytes() -> st.SearchStrategy[bytes]:
    """One of `NASTY` as bytes, or bytes that no text has. Drawn by index, as hypothesis would print all."""
    return st.integers(0, len(_NASTY_BYTES) - 1).map(_NASTY_BYTES.__getitem__)


@st.composite
def mangled(draw: st.DrawFn, valid: st.SearchStrategy[bytes]) -> bytes:
    """Valid bytes with up to four changes; sometimes none, so that valid input is tried as well."""
    data = bytearray(draw(valid))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(data)))
        end = draw(st.integers(at, min(len(data), at + 40)))
        match draw(st.sampled_from(["flip", "cut", "drop", "double", "insert", "replace", "repeat"])):
            case "flip" if at < len(data):
                data[at] ^= 1 << draw(st.integers(0, 7))
            case "cut":
                del data[at:]
            case "drop":
                del data[at:end]
            case "double":
                data[at:at] = data[at:end]
            case "insert":
                data[at:at] = draw(nasty_bytes())
            case "replace":
                data[at:end] = draw(nasty_bytes() | st.binary(max_size=8))
            case _:
                data[at:at] = data[at:end] * draw(st.sampled_from([2, 50, 1000]))
    return bytes(data)


def mangled_text(valid: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """A text with changed bytes; if they are not UTF-8 any more, they are read as ISO 8859-1, as a header would be."""
    return mangled(valid.map(as_bytes)).map(_as_text)


def _as_text(data: bytes) -> str:
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("latin-1")


@cache
def nasty() -> st.SearchStrategy[str]:
    """Any text, and those of `NASTY` often."""
    return st.integers(0, len(NASTY) - 1).map(NASTY.__getitem__) | st.text(max_size=40)


@cache
def any_json(leaves: st.SearchStrategy[Any] | None = None) -> st.SearchStrategy[Any]:
    """Any JSON value."""
    numbers = st.integers() | st.floats(allow_nan=False).filter(math.isfinite)
    ends = st.none() | st.booleans() | numbers | nasty()
    return st.recursive(
        ends if leaves is None else ends | leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(nasty(), inner, max_size=4),
        max_leaves=8,
    )


@contextmanager
def bounded(seconds: float = SECONDS_MAX) -> Iterator[None]:
    """Fail if the block takes more processor time than that. Other programs' time does not count."""
    began = time.thread_time()
    yield
    taken = time.thread_time() - began
    assert taken < seconds, f"it took {taken:.1f} s of the processor"
