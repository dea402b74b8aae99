"""The bench: the speed of the house against the speed of its machine, in the same run (docs/maintaining/performance.md)."""


class BenchError(Exception):
    """The bench cannot continue; the message says why and what would help."""
