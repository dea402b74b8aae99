"""The command: from its arguments to a test, and from a result to an exit code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from rich.console import Console

from saleroom.tools.errors import WrongUsage
from saleroom.tools.load import report
from saleroom.tools.load.display import LoadDisplay
from saleroom.tools.load.run import LoadOptions, load

KEY_VARIABLE = "SALEROOM_LOAD_KEY"


def read_key(environ: Mapping[str, str], file: str | None) -> str | None:
    """Return the key from the file, otherwise from the environment. Raises WrongUsage for a file without a key."""
    if file is None:
        return environ.get(KEY_VARIABLE) or None
    try:
        lines = Path(file).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise WrongUsage(f"cannot read the key in {file}: {getattr(error, 'strerror', None) or 'not UTF-8'}") from None
    if not lines or not lines[0].strip():
        raise WrongUsage(f"there is no key in the first line of {file}")
    return lines[0].strip()


def run(url: str, key: str, json_file: str | None, **options: Any) -> int:
    """Run a test, print its result, and return the exit code: 1 for a violation. Raises WrongUsage, ToolError."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise WrongUsage(f"{url} is no address of a house: write http://host:port or https://host")
    if parts.username is not None:
        raise WrongUsage("leave user and password out of the URL: a house takes neither")
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise WrongUsage("this cannot be a load_key: a load_key has only ASCII characters and no spaces")
    console = Console()
    result = load(LoadOptions(url=url.rstrip("/"), **options), key, LoadDisplay(console))
    report.show(result, console)
    if json_file is not None:
        # It may raise OSError; the figures are printed by then.
        Path(json_file).write_bytes(msgspec.json.format(msgspec.json.encode(report.plain(result)), indent=2) + b"\n")
    return 1 if result.verdict.violations.total else 0
