"""The bench: how fast the house is, measured against what the same machine can do in the same run (docs/performance.md)."""


class BenchError(Exception):
    """The bench cannot go on; the message says why, and what would help."""
