"""Acts of staff: each is noted in the audit log by the transaction that does it."""

import ast
from pathlib import Path

import pytest

from saleroom.accounts.domain.rights import STAFF_RIGHTS

SOURCES = Path(__file__).parents[1] / "src" / "saleroom"
SERVICES = sorted(SOURCES.glob("*/service/*.py"))


@pytest.mark.parametrize("file", SERVICES, ids=lambda file: f"{file.parts[-3]}/{file.name}")
def test_every_act_of_staff_is_noted(file: Path) -> None:
    """Each use case that asks for a right of staff to do something, and not only to read, notes it in the audit log."""
    acting = {f"Right.{right.name}" for right in STAFF_RIGHTS if not right.startswith("read_")}
    calls = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]
    asked = {ast.unparse(arg) for call in calls if ast.unparse(call.func) == "authenticate" for arg in call.args}
    assert not acting & asked or "note" in {ast.unparse(call.func).rpartition(".")[2] for call in calls}


def test_a_right_to_read_that_lets_staff_act_is_noted_too() -> None:
    """Each use case that a door writes with, and that asks for a right of staff to read, notes it in the audit log."""
    reading = {f"Right.{right.name}" for right in STAFF_RIGHTS if right.startswith("read_")}
    doors = [file for kind in ("api", "web") for file in SOURCES.glob(f"*/{kind}/**/*.py")]
    calls = [node for file in doors for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]
    writing = [
        call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "write" and call.args
    ]
    written = {ast.unparse(call.args[0]).rpartition(".")[2] for call in writing}
    silent = [
        f"{file.stem}.{node.name}"
        for file in SERVICES
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.FunctionDef) and node.name in written and reading & set(_words(node))
        if not _notes(file, node)
    ]
    assert [] == silent
    assert {"send_again", "send_all_again"} <= written


def _words(node: ast.AST) -> list[str]:
    return [ast.unparse(one) for one in ast.walk(node) if isinstance(one, ast.Attribute | ast.Name)]


def _notes(file: Path, function: ast.FunctionDef) -> bool:
    """Whether a use case notes what it does, itself or by a function beside it."""
    beside = {node.name: node for node in ast.parse(file.read_text()).body if isinstance(node, ast.FunctionDef)}
    called = set(_words(function)) & beside.keys()
    return any("audit.note" in _words(node) for node in (function, *(beside[name] for name in called)))
