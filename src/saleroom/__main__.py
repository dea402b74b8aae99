"""The entry of the program: `saleroom` and `python -m saleroom`."""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Run one command and return its exit code. Ctrl-C ends it in one line, also while Python still reads the program."""
    try:
        _open_streams()
        from saleroom import cli

        return cli.main()
    except KeyboardInterrupt:
        sys.stderr.write("saleroom: stopped\n")
        return 130


def _open_streams() -> None:
    """Open each standard stream that is closed on nothing, so that no other file takes its number and is written to."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if not getattr(sys, name):
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123  # it stays open to the end; less is imported


if __name__ == "__main__":
    sys.exit(main())
