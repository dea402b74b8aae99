"""A page of a list, and the place at which the next one begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

R = TypeVar("R")
P = TypeVar("P")
V = TypeVar("V")


class Page(NamedTuple, Generic[R, P]):
    """Some rows of a list. `next` is the place at which the next page begins, None on the last page."""

    rows: list[R]
    next: P | None

    def with_rows(self, rows: list[V]) -> Page[V, P]:
        """Return the same page with other rows, such as the views of these."""
        return Page(rows, self.next)


def page_of(found: Sequence[R], limit: int, place: Callable[[R], P]) -> Page[R, P]:
    """Return up to `limit` of the rows found, and the place of the last of them if there are more.

    The caller looks for `limit + 1` rows, so that one too many tells that another page follows.
    """
    rows = list(found[:limit])
    return Page(rows, place(rows[-1]) if len(found) > limit else None)
