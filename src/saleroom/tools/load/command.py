"""The command: from its arguments to a test, and from a result to an exit code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from saleroom.tools.arguments import bare, find_auction, first_line, split
from saleroom.tools.console import ToolConsole
from saleroom.tools.errors import WrongUsage
from saleroom.tools.load import report
from saleroom.tools.load.display import LoadDisplay
from saleroom.tools.load.run import LoadOptions, load
from saleroom.tools.looking import Secret, known
from saleroom.tools.new_files import refuse_place

_FORM = "write http://host:port or https://host"
KEY_VARIABLE = "SALEROOM_LOAD_KEY"


def read_key(environ: Mapping[str, str], file: str | None) -> str | None:
    """Return the key from the file, otherwise from the environment. Raises WrongUsage for a file without a key."""
    if file is None:
        return environ.get(KEY_VARIABLE) or None
    return first_line(file, "key").strip()


def run(url: str, key: Secret, json_file: str | None, *, force: bool, **options: Any) -> int:
    """Run a test, print its result, and return the exit code: 1 for a violation. Raises WrongUsage, ToolError, Refusal."""
    parts = split(url, _FORM)
    if find_auction(parts) is not None:
        raise WrongUsage(f"this is the address of a lot, and a test needs that of its house; {_FORM}")
    if json_file is not None and (Path(json_file).is_file() or not Path(json_file).exists()):
        refuse_place(Path(json_file), force=force)
    key = known(key, bare(parts), "saleroom load")
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise WrongUsage("this cannot be a load_key: a load_key has only ASCII characters and no spaces")
    console = ToolConsole()
    result = load(LoadOptions(url=bare(parts), **options), key, LoadDisplay(console))
    report.show(result, console)
    if json_file is not None:
        # It may raise OSError; the figures are printed by then.
        Path(json_file).write_bytes(msgspec.json.format(msgspec.json.encode(report.as_json(result)), indent=2) + b"\n")
    return 1 if result.verdict.violations.total else 0
