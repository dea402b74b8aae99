"""Commands look before they ask for a secret, and before they do work whose result would have no place."""

import os
import pty
import sys
from pathlib import Path

import pytest

from saleroom.cli import main
from tests.fixtures_house import House
from tests.fixtures_process import Run
from tests.forking import Program
from tests.patience import SECONDS_MAX
from tests.process import PROGRAM, environment
from tests.terminal import MemoryTerminal, answer, shown

NOBODY = "http://127.0.0.1:1"
SILENT = f"saleroom: {NOBODY}: connection refused; is a house served there?\n"


@pytest.mark.parametrize(
    "args",
    [
        ["load", NOBODY],
        ["catalogue", "import", f"{NOBODY}/sales/abc", __file__],
        ["catalogue", "export", f"{NOBODY}/sales/abc", "sale.csv"],
    ],
    ids=" ".join,
)
def test_a_tool_looks_for_the_house_before_it_asks(
    args: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """At a terminal, a house that does not answer is said at once, and nobody enters a key or a token for nothing."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOUSE_TOKEN", raising=False)
    monkeypatch.setattr(sys, "stdin", MemoryTerminal())
    assert (1, ("", SILENT)) == (main(args), capfd.readouterr())


@pytest.mark.databases("sqlite")
def test_a_tool_asks_where_a_house_answers(house: House, tmp_path: Path) -> None:
    """Once the house has answered, the command asks for the token, and the house judges it."""
    ours, theirs = pty.openpty()
    command = [str(PROGRAM), "catalogue", "export", f"{house.base}/sales/abc", "sale.csv"]
    with os.fdopen(theirs, "r+b", buffering=0) as typed:
        started = Program(command, tmp_path, environment() | {"HOUSE_TOKEN": ""}, typed, typed, typed)
    try:
        answer(ours, "Access token:", "wrong")
        shown(ours, "saleroom: This needs a valid token")
        assert 1 == started.wait(SECONDS_MAX)
    finally:
        started.kill()
    os.close(ours)


def test_another_server_is_not_asked_for(
    sqlite_house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """An address below that of a house is none of a house, and nobody is asked for its key."""
    monkeypatch.setattr(sys, "stdin", MemoryTerminal())
    url = f"{sqlite_house.base}/elsewhere"
    said = f"saleroom: {url} answers, but not as an auction house does; give the address of its home page\n"
    assert (1, ("", said)) == (main(["load", url]), capfd.readouterr())


@pytest.mark.parametrize("stdin", ["", "correct horse\n"])
@pytest.mark.parametrize(
    ("database", "said"),
    [
        ("sqlite:///none/house.db", "there is no folder none"),
        ("postgresql://ada:open-sesame@127.0.0.1:1/x", "cannot use the database postgresql://ada:***@127.0.0.1:1/x: "),
    ],
)
def test_users_add_looks_for_the_database_first(run: Run, database: str, said: str, stdin: str) -> None:
    """A database that cannot be used is said before anybody chooses a password."""
    done = run("users", "add", "ada", "--database", database, stdin=stdin)
    assert (1, "") == (done.code, done.out)
    assert done.err.startswith(f"saleroom: {said}")


def test_users_add_looks_for_the_name_first(run: Run) -> None:
    """A name that is taken, or kept for the house, is said before anybody chooses a password."""
    taken = (1, "", "saleroom: This username is taken; choose another.\n")
    assert 0 == run("users", "add", "ada", stdin="correct horse\n").code
    for name in ("ada", "ADA", "guest-1"):
        assert taken == run("users", "add", name)


def test_users_add_without_a_password_makes_no_house(run: Run, tmp_path: Path) -> None:
    """Without a password a folder without a house stays as it is."""
    assert (1, "", "saleroom: no password on standard input: give one as its first line\n") == run(
        "users", "add", "ada"
    )
    assert [] == list(tmp_path.iterdir())


def test_figures_replace_no_file_in_silence(run: Run, tmp_path: Path) -> None:
    """`load` refuses a file that is there, before the test begins, unless --force is given; a pipe is no such file."""
    (tmp_path / "result.json").write_text("earlier")
    (tmp_path / "key").write_text("key")
    args = ("load", NOBODY, "--key-file", "key", "--json")
    assert (1, "", "saleroom: result.json already exists; --force replaces it\n") == run(*args, "result.json")
    assert "there is no folder none\n" in run(*args, "none/result.json").err
    for accepted in (("result.json", "--force"), ("/dev/null",)):
        assert f"{NOBODY} does not answer (connection refused)" in run(*args, *accepted).err
    assert "earlier" == (tmp_path / "result.json").read_text()
