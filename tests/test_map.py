"""The map of the source: `make map` and ARCHITECTURE.md leave nothing out, and name only what exists."""

import re
from pathlib import Path

import pytest

from scripts.map import SOURCE, lines, main

ROOT = Path(__file__).parents[1]


def test_the_map_has_every_module() -> None:
    """`make map` has a line for each folder and module, and each line says something."""
    printed = [line.split(maxsplit=1) for line in lines(SOURCE)]
    expected = [
        f"{file.parent.name}/" if file.stem == "__init__" else file.name
        for file in SOURCE.rglob("*.py")
        if file.stem != "__main__" and file.parent.name != "versions"
    ]
    assert sorted(expected) == sorted(name for name, *_ in printed)
    assert [] == [name for name, *sentence in printed if not sentence]


def test_the_map_of_one_folder_begins_with_it(capsys: pytest.CaptureFixture[str]) -> None:
    """A folder below the source is printed with what it says of itself, and another name is refused."""
    main(["kernel"])
    assert re.match(r"kernel/ +Values and pure functions", capsys.readouterr().out)
    with pytest.raises(SystemExit, match="There is no folder"):
        main(["nowhere"])


def test_the_architecture_names_what_is_there() -> None:
    """ARCHITECTURE.md has each folder and module of the first level in its table, and only paths that exist."""
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    in_table = set(re.findall(r"`([^`]+)`", text[: text.index("Three rules")]))
    modules = {file.stem for file in SOURCE.glob("*.py") if not file.name.startswith("__")}
    folders = {f"{file.parent.name}/" for file in SOURCE.glob("*/__init__.py")}
    assert set() == (modules | folders) - in_table
    for path in re.findall(r"`([\w.]+/[\w./]*)`", text):
        assert any((folder / path).exists() for folder in (SOURCE, ROOT)), f"{path} does not exist"
