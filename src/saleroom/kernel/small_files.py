"""Small files that are read as a whole: settings, secrets, keys. A device or a pipe in their place never ends."""

import errno
import os
import stat
from pathlib import Path

_OPEN_PIPES = ("/dev/fd/", "/dev/stdin")
"""The pipes that this program was started with: by `| saleroom`, or by `<(…)` of a shell."""


def read_small(file: Path, bytes_max: int) -> bytes:
    """Return what is in a file, cut off behind `bytes_max` + 1 bytes.

    Raises OSError, also for a device and for a named pipe: nobody may ever write into that one.
    """
    with open(file, "rb", opener=_without_waiting) as opened:  # only this one takes an opener
        mode = os.fstat(opened.fileno()).st_mode
        given = stat.S_ISFIFO(mode) and str(file).startswith(_OPEN_PIPES)
        if not stat.S_ISREG(mode) and not given and str(file) != os.devnull:
            raise OSError(errno.EINVAL, "it is a device or a pipe; name a file", str(file))
        os.set_blocking(opened.fileno(), True)
        return opened.read(bytes_max + 1)


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)
