"""New files of commands: none replaces another one in silence."""

from __future__ import annotations

import os
from pathlib import Path

from saleroom.kernel.errors import Refusal


def refuse_place(file: Path, *, force: bool) -> None:
    """Raise Refusal if `file` cannot be written, or exists and must not be replaced (`force`)."""
    if not file.parent.is_dir():
        raise Refusal(f"there is no folder {file.parent}")
    if not file.exists() and not os.access(file.parent, os.W_OK | os.X_OK):
        raise Refusal(f"{file} cannot be made: this account may not write in its folder, or the disk is read-only")
    if file.exists() and not force:
        raise Refusal(f"{file} already exists; --force replaces it")
