"""Merkle trees: one hash over many leaves, and short paths that prove a leaf to be among them (RFC 9162, section 2.1)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence


class MerkleTree:
    """The tree over `leaves`, in their order."""

    def __init__(self, leaves: Iterable[bytes]) -> None:
        level = [_leaf(leaf) for leaf in leaves]
        self._levels = [level]
        while len(level) > 1:
            level = _above(level)
            self._levels.append(level)
        self.root = level[0] if level else hashlib.sha256().digest()

    def paths(self, text: Callable[[bytes], str]) -> list[str]:
        """Return the audit path of each leaf as text: the hashes beside its way up to the root, with a point before each.

        Each hash is written once, not for each leaf that has it in its path.
        """
        paths = [""]
        for level in reversed(self._levels[:-1]):
            # The last of an odd number has nothing beside it at this height.
            beside = [*(f".{text(node)}" for node in level), ""]
            paths = [beside[index ^ 1] + paths[index >> 1] for index in range(len(level))]
        return paths


def root_of(leaf: bytes, index: int, size: int, path: Sequence[bytes]) -> bytes:
    """Return the root that `path` leads to from `leaf`, which is at `index` in a tree of `size` leaves.

    Raises ValueError if such a tree has no such leaf, or if its path has another length.
    """
    if not 0 <= index < size:
        raise ValueError(f"a tree of {size} leaves has none at {index}")
    found, last, rest = _leaf(leaf), size - 1, list(reversed(path))
    while last:
        if index & 1 or index < last:  # otherwise it has nothing beside it at this height
            if not rest:
                raise ValueError("the path is too short")
            beside = rest.pop()
            found = _node(beside, found) if index & 1 else _node(found, beside)
        index, last = index >> 1, last >> 1
    if rest:
        raise ValueError("the path is too long")
    return found


def _above(level: Sequence[bytes]) -> list[bytes]:
    """Return the nodes above `level`; an odd one at its end goes up as it is."""
    above = [_node(*level[at : at + 2]) for at in range(0, len(level) - 1, 2)]
    return [*above, level[-1]] if len(level) & 1 else above


def _leaf(data: bytes) -> bytes:
    return hashlib.sha256(b"\x00" + data).digest()


def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()
