"""The bench: how fast the house is, against what the same machine can do in the same run (docs/maintaining/performance.md)."""


class BenchError(Exception):
    """The bench cannot go on; the message says why, and what would help."""
