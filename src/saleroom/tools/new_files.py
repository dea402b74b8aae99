"""New files of commands: none replaces another one in silence."""

from __future__ import annotations

from pathlib import Path

from saleroom.kernel.errors import Refusal


def refuse_place(file: Path, *, force: bool) -> None:
    """Raise Refusal if `file` cannot be written, or exists and must not be replaced (`force`)."""
    if not file.parent.is_dir():
        raise Refusal(f"there is no folder {file.parent}")
    if file.exists() and not force:
        raise Refusal(f"{file} already exists; --force replaces it")
