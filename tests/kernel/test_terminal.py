"""Text from outside steers no terminal and deceives no reader: as evidence by escapes, for display without the characters."""

from __future__ import annotations

import pytest

from saleroom.kernel.terminal import PRINTABLE_LENGTH_MAX, TEXT_LENGTH_MAX, plain, printable

HARMLESS = "XXV. Pendule d'officier, 18½ cm, 時計"


@pytest.mark.parametrize(
    ("mark", "escape"),
    [
        ("\x1b", "\\u001b"),
        ("\n", "\\u000a"),
        ("\u202e", "\\u202e"),
        ("\u2028", "\\u2028"),
        ("\u2029", "\\u2029"),
        ("\ud800", "\\ud800"),
        ("\ue000", "\\ue000"),
        ("\uffff", "\\uffff"),
        ("\U00010ffe", "\\U00010ffe"),
        ("\U000e0001", "\\U000e0001"),
        ("\U00100000", "\\U00100000"),
    ],
)
def test_control_characters_are_escaped_or_left_out(mark: str, escape: str) -> None:
    """Controls, line ends, directions, surrogates, private and unassigned characters are escaped; `printable` drops them."""
    assert f"{HARMLESS}{escape}!" == plain(f"{HARMLESS}{mark}!")
    assert f"{HARMLESS}!" == printable(f"{HARMLESS}{mark}!")


def test_long_text_is_cut() -> None:
    """Evidence says by an ellipsis that it was cut, and only then; display is cut to its own length."""
    assert "x" * TEXT_LENGTH_MAX == plain("x" * TEXT_LENGTH_MAX)
    assert "x" * TEXT_LENGTH_MAX + "…" == plain("x" * (TEXT_LENGTH_MAX + 1))
    assert "xx…" == plain("xxx", 2)
    assert "x" * PRINTABLE_LENGTH_MAX == printable("x" * 10_000)
