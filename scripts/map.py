"""The map of the source: each folder and module, with the first sentence of its docstring. `make map` prints it."""

from __future__ import annotations

import ast
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "saleroom"
SENTENCE_END = re.compile(r"\.\s+")


def lines(folder: Path, depth: int = 0) -> Iterator[str]:
    """Yield a line for a folder, then one for each module in it, then those of its folders."""
    yield _line(f"{folder.name}/", folder / "__init__.py", depth)
    for module in sorted(folder.glob("*.py")):
        if not module.name.startswith("__"):
            yield _line(module.name, module, depth + 1)
    for inner in sorted(folder.iterdir()):
        if (inner / "__init__.py").is_file():
            yield from lines(inner, depth + 1)


def _line(name: str, module: Path, depth: int) -> str:
    indented = "  " * depth + name
    docstring = ast.get_docstring(ast.parse(module.read_text("utf-8"))) or ""
    sentence = SENTENCE_END.split(" ".join(docstring.split()), maxsplit=1)[0].removesuffix(".")
    return f"{indented:<30} {sentence}"


def main(places: list[str]) -> None:
    """Print the map of folders of the source, such as `bidding/domain`; without any, of the whole source."""
    for folder in [SOURCE / place for place in places] or [SOURCE]:
        if not (folder / "__init__.py").is_file():
            sys.exit(f"There is no folder {folder}. Name one below src/saleroom, such as IN=bidding/domain.")
        sys.stdout.writelines(f"{line}\n" for line in lines(folder))


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `make map | head` ends without a traceback
    main(sys.argv[1:])
