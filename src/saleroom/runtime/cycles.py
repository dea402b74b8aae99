"""Reference cycles: Python looks for them rarely, at the start of every command and while the house serves."""

from __future__ import annotations

import gc


def look_rarely() -> None:
    """Let Python look for reference cycles rarely; call it before the modules of a command are imported.

    By default it looks after each 700 new objects. Of the processor time of a start, these looks took a tenth.
    """
    gc.set_threshold(100_000, 50, 100)


def keep_present_objects() -> None:
    """Look for reference cycles once, and never again among the present objects, which stay.

    Call it in a process that serves, once its application is made. A request leaves hardly any cycles, but each look goes
    through all requests that wait: with 256 connections it took a quarter of the time.
    """
    gc.collect()
    gc.freeze()
    look_rarely()
