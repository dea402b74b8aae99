"""Obvious passwords: little more than the name of their user or of the house, which everybody here would try first."""

from __future__ import annotations

import re
from collections.abc import Iterable

from saleroom.accounts.domain.errors import ObviousPassword
from saleroom.kernel.folding import fold

WORDS = ("saleroom", "auction", "auktion", "password", "passwort")
"""Words that people think of in any house."""
WORD_MIN = 3
"""Characters of the shortest word that counts; shorter ones are in many good passwords."""
REST_MIN = 6
"""Characters that must be left of a password without such words."""
_NO_LETTER = re.compile(r"[\W_]+")


def words_of(*names: str) -> frozenset[str]:
    """Return the words of names, such as that of the house: each as a whole, and its parts."""
    parts = [part for name in names for part in (name, *_NO_LETTER.split(name))]
    return frozenset(word for part in parts if len(word := _bare(part)) >= WORD_MIN)


def refuse_obvious(password: str, words: Iterable[str]) -> None:
    """Raise ObviousPassword if too little is left of a password without these words, whatever case and signs it has."""
    bare = _bare(password)
    rest = bare
    for word in sorted(words, key=len, reverse=True):
        rest = rest.replace(word, "")
    if rest != bare and len(rest) < REST_MIN:
        raise ObviousPassword


def _bare(text: str) -> str:
    return _NO_LETTER.sub("", fold(text))
