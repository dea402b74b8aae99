"""The command line: its output and its exit codes."""

import errno
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
import httpx
import pytest

import saleroom
from saleroom.accounts.domain.rights import Right, Role
from saleroom.admin import commands
from saleroom.cli import cli, main
from saleroom.settings import shown_default
from tests.fixtures_process import Run
from tests.forking import Program
from tests.patience import SECONDS_MAX
from tests.process import PROGRAM
from tests.terminal import answer, shown

FLAGS = ("host", "port", "database", "mqtt", "workers", "registration")
PASSWORD = "correct horse"


def _commands(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield each command and group of the program by the words that call it."""
    yield path
    for name, below in command.commands.items() if isinstance(command, click.Group) else ():
        yield from _commands(below, (*path, name))


def environment() -> dict[str, str]:
    """Return this process's environment without settings, and a terminal wide enough for whole lines."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SALEROOM_")}
    return kept | {"COLUMNS": "200", "PYTHONWARNINGS": "error", "NO_COLOR": "1"}


@pytest.fixture
def tables(tmp_path: Path, sqlite_template: Path) -> None:
    """The usual database with its tables: to make them takes longer than all that a test does with them."""
    shutil.copy(sqlite_template, tmp_path / "saleroom.db")


def test_version(run: Run) -> None:
    """--version prints the package's version."""
    assert (0, f"saleroom {saleroom.__version__}\n", "") == run("--version")


def test_version_loads_nothing_heavy() -> None:
    """--version answers at once, without an import of the database's or the web's libraries or of the settings."""
    code = "import sys, saleroom.cli; saleroom.cli.main(['--version']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set() == {"pydantic", "sqlalchemy", "starlette", "uvicorn", "asyncio", "alembic"} & set(done.stdout.split())


@pytest.mark.parametrize("command", [*_commands(cli)], ids=" ".join)
def test_every_command_helps_with_examples_and_exit_codes(run: Run, command: tuple[str, ...]) -> None:
    """--help gives examples and the exit codes, for every command."""
    done = run(*command, "--help")
    assert 0 == done.code
    assert re.search(rf"Examples:\s+saleroom {' '.join(command)}", done.out)
    assert re.search(r"Exit codes: 0 .+ 1 .+ 2 wrong usage", done.out)


def test_serve_helps_with_every_flag_and_its_default(run: Run) -> None:
    """`serve --help` shows each flag with the default from the table of settings."""
    words = " ".join(re.sub("[│╭╮╰╯─]", " ", run("serve", "--help").out).split())
    for name in FLAGS:
        assert re.search(rf"--{name} .*Default: {re.escape(shown_default(name))}\.", words)


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (["serv"], "saleroom: No such command 'serv'"),
        (["serve", "--prot", "1"], "saleroom: No such option '--prot'"),
        (["users", "add"], "saleroom: Missing argument 'NAME'"),
        (["users", "role", "ada"], "saleroom: Missing argument 'ROLE'"),
        (["users", "role", "ada", "king"], "saleroom: Invalid value for 'ROLE': 'king' is not one of 'owner', "),
        (["audit", "list", "--limit", "0"], "saleroom: Invalid value for '--limit': 0 is not in the range"),
        (["serve", "--port", "x"], "saleroom: --port: write a whole number"),
        (["serve", "--port", "99999"], "saleroom: --port: write a number up to 65535"),
        (["serve", "--registration", "ajar"], "saleroom: --registration: write 'open' or 'closed'"),
        (["serve", "--workers", "2"], "saleroom: --workers: SQLite serves one process"),
        (["serve", "--config", "none.toml"], "saleroom: cannot read none.toml: No such file or directory"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(run: Run, args: list[str], line: str) -> None:
    """A wrong command, flag or value is named in one line, with exit code 2 and nothing on standard output."""
    done = run(*args)
    assert (2, "", 1) == (done.code, done.out, len(done.err.splitlines()))
    assert done.err.startswith(line)


@pytest.mark.usefixtures("tables")
def test_users_are_added_listed_and_given_passwords(run: Run) -> None:
    """A user is added with a password from standard input, listed with the instant, and given a new password."""
    assert (0, "", "") == run("users", "list")
    assert 0 == run("users", "add", "ada", stdin=f"{PASSWORD}\n").code
    assert re.fullmatch(r"ada\t\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z\tmember\n", run("users", "list").out)
    assert 0 == run("users", "password", "ada", stdin="another horse").code
    assert "ada has no one-time codes.\n" == run("users", "codes-off", "ada").out
    assert "ada has no passkeys.\n" == run("users", "passkeys-off", "ada").out
    assert "ada is logged out: 0 sessions and access tokens ended.\n" == run("users", "log-out", "ada").out
    assert (
        "Everybody is logged out: 0 sessions and access tokens ended.\n" == run("users", "log-out", "--everybody").out
    )
    assert [2, 2] == [run("users", "log-out", *wrong).code for wrong in ((), ("ada", "--everybody"))]
    assert "saleroom: There is no user with this name.\n" == run("users", "log-out", "eve").err


@pytest.mark.usefixtures("tables")
def test_roles_are_given_and_sellers_approved(run: Run) -> None:
    """`users` gives roles and approves sellers, and lists and finds users by them; the last owner stays."""
    assert "Added ada as owner.\n" == run("users", "add", "ada", "--role", "owner", stdin=f"{PASSWORD}\n").out
    assert 0 == run("users", "add", "bob", stdin=f"{PASSWORD}\n").code
    assert "bob is clerk now.\n" == run("users", "role", "BOB", "clerk", "--reason", "at the desk").out
    assert [["ada", "owner"], ["bob", "clerk"]] == [
        [line.split("\t")[0], line.split("\t")[2]] for line in run("users", "list").out.splitlines()
    ]
    for found in (("--role", "clerk"), ("--search", "OB")):
        assert ["bob"] == [line.split("\t")[0] for line in run("users", "list", *found).out.splitlines()]
    done = run("users", "role", "ada", "member")
    assert (1, "") == (done.code, done.out)
    assert "A house needs an owner" in done.err
    assert "bob is an approved seller.\n" == run("users", "approve", "bob").out
    assert "bob is no longer an approved seller.\n" == run("users", "approve", "bob", "--withdraw").out


@pytest.mark.usefixtures("tables")
def test_the_audit_log_is_listed_and_exported(run: Run, tmp_path: Path) -> None:
    """`audit` shows what the command line did, without any password, and writes it as lines of JSON."""
    assert (0, "", "") == run("audit", "list")
    assert 0 == run("users", "add", "ada", stdin=f"{PASSWORD}\n").code
    assert 0 == run("users", "role", "ada", "clerk", "--reason", "at the desk").code
    assert 0 == run("users", "password", "ada", stdin="another horse").code
    listed = run("audit", "list").out
    assert [
        ["(command line)", "set a user's password", "ada", "", ""],
        ["(command line)", "gave a user another role", "ada", "role: member -> clerk", "at the desk"],
        ["(command line)", "added a user", "ada", "role: - -> member", ""],
    ] == [line.split("\t")[1:] for line in listed.splitlines()]
    assert 1 == len(run("audit", "list", "--act", "role.changed", "--user", "ada").out.splitlines())
    assert "Exported 3 entries.\n" == run("audit", "export", "audit.ndjson").out
    lines = (tmp_path / "audit.ndjson").read_text().splitlines()
    assert ["user.added", "role.changed", "password.set"] == [json.loads(line)["act"] for line in lines]
    assert 0o600 == (tmp_path / "audit.ndjson").stat().st_mode & 0o777
    piped = run("audit", "export", "-")
    assert (lines, "Exported 3 entries.\n") == (piped.out.splitlines(), piped.err)
    assert 1 == run("audit", "export", "audit.ndjson").code
    nowhere = "/proc/audit.ndjson"  # nobody makes a file there
    assert f"saleroom: {nowhere}: No such file or directory\n" == run("audit", "export", nowhere).err
    assert "horse" not in listed + piped.out


def test_roles_are_shown(run: Run) -> None:
    """`roles` shows each right, and the roles that have it; the commands take exactly the roles of the domain."""
    rows = [line.split("\t") for line in run("roles").out.splitlines()]
    assert list(Right) == [row[0] for row in rows]
    assert "owner manager auctioneer" == next(row[2] for row in rows if row[0] == "void_bids")
    assert tuple(Role) == commands.ROLE.choices


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize(
    ("args", "stdin", "said"),
    [
        (["users", "role", "nobody", "clerk"], "", "There is no user with this name."),
        (["users", "role", "a b", "clerk"], "", "the username must be 3 to 32 characters"),
        (["users", "approve", "nobody"], "", "There is no user with this name."),
        (["users", "approve", "ada", "--reason", "x" * 501], "", "the reason must have at most 500 characters"),
        (["users", "approve", "ada", "--reason", "a\x1bb"], "", "the reason must not contain control"),
        (["audit", "list", "--act", "nonsense"], "", "there is no act nonsense: "),
        (["audit", "export", "no/such/folder.ndjson"], "", "there is no folder no/such"),
        (["users", "add", "ada"], "", "no password on standard input"),
        (["users", "add", "ada"], "short\n", "the password must have 8 to 256 characters"),
        (["users", "add", "a b"], f"{PASSWORD}\n", "the username must be 3 to 32 characters"),
        (["users", "codes-off", "nobody"], "", "no user"),
        (["users", "erase", "nobody"], "y\n", "There is no user with this name."),
        (["users", "erase", "a b"], "y\n", "the username must be 3 to 32 characters"),
        (["keys", "renew-secret"], "", "nobody answers; nothing was done; --yes"),
        (["users", "password", "nobody"], "", "There is no user with this name."),
        (["keys", "renew-secret", "--database", "sqlite:///none.db"], "y\n", "there is no database none.db"),
        (["migrate", "--to", "nonsense"], "", "nonsense"),
        (
            ["migrate", "--database", "sqlite:////nowhere/at/all.db"],
            "",
            "at/all.db: SQLite: unable to open database file; look",
        ),
        (["migrate", "--database", "postgresql://ada:open-sesame@127.0.0.1:1/x"], "", "ada:***@127.0.0.1:1"),
        (["serve", "--host", "203.0.113.1", "--mqtt", "off"], "", "cannot listen on 203.0.113.1"),
    ],
)
def test_a_refusal_is_one_line_and_exit_code_1(run: Run, args: list[str], stdin: str, said: str) -> None:
    """A refusal or failure is one line without a traceback or a password, with exit code 1."""
    done = run(*args, stdin=stdin)
    assert (1, 1) == (done.code, len(done.err.splitlines()))
    assert done.err.startswith("saleroom: ")
    assert said in done.err
    assert "open-sesame" not in done.err


@pytest.mark.usefixtures("tables")
def test_a_user_is_added_once(run: Run) -> None:
    """A name that is taken is refused."""
    codes = [run("users", "add", "ada", stdin=f"{PASSWORD}\n").code for _ in range(2)]
    assert [0, 1] == codes


def test_migrate_says_where_the_tables_are(run: Run) -> None:
    """`migrate` brings the tables to the newest revision, which `migrate --to` can name, and back."""
    newest = run("migrate").out
    revision = newest.split()[-1].rstrip(".")
    assert newest == run("migrate", "--to", revision).out
    assert 0 == run("migrate", "--to", "base").code


def test_at_a_terminal_the_password_is_asked_for_twice_and_not_shown(tmp_path: Path) -> None:
    """At a terminal, the password is prompted for without an echo and confirmed."""
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "r+b", buffering=0) as typed:
        started = Program([str(PROGRAM), "users", "add", "ada"], tmp_path, environment(), typed, typed, typed)
    try:
        output = "".join(answer(ours, prompt, PASSWORD) for prompt in ("Password:", "again:"))
        output += shown(ours, r"Added ada\.")
        assert 0 == started.wait(SECONDS_MAX)
    finally:
        started.kill()
    os.close(ours)
    assert PASSWORD not in output


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_serve_says_where_and_ends_cleanly(tmp_path: Path, stop: signal.Signals) -> None:
    """`serve` prints its address, database and broker, answers there, and exits 0 on SIGTERM and on Ctrl-C.

    Ctrl-C ends a fork, as a second interpreter that imports everything would say no more than the first.
    """
    arguments = ["serve", "--port", "0", "--mqtt", "off"]
    with ExitStack() as stack:
        (said, output), (errors, complaints) = (
            (stack.enter_context(os.fdopen(reads)), stack.enter_context(os.fdopen(writes, "w")))
            for reads, writes in (os.pipe(), os.pipe())
        )
        process: subprocess.Popen[Any] | Program
        if stop == signal.SIGTERM:
            command = [sys.executable, "-m", "saleroom", *arguments]
            process = subprocess.Popen(command, cwd=tmp_path, env=environment(), stdout=output, stderr=complaints)
        else:
            process = Program([str(PROGRAM), *arguments], tmp_path, environment(), output, complaints)
        stack.callback(process.kill)
        output.close()
        complaints.close()
        lines = [said.readline() for _ in range(3)]
        address = re.search(r"http://127\.0\.0\.1:\d+", lines[0])
        assert address is not None, errors.read()
        assert [["database", "sqlite:///saleroom.db"], ["mqtt", "off"]] == [line.split() for line in lines[1:]]
        assert 200 == httpx.get(f"{address[0]}/healthz").status_code
        process.send_signal(stop)
        assert (0, "") == (process.wait(SECONDS_MAX), errors.read())


@pytest.mark.usefixtures("tables")
def test_users_are_warned_suspended_banned_and_pardoned(run: Run) -> None:
    """Each command says what the user is now; what cannot be done is refused in one line, and changes nothing."""
    run("users", "add", "bob", stdin=f"{PASSWORD}\n")
    assert "bob is warned.\n" == run("users", "warn", "BOB", "--reason", "be polite").out
    assert run("users", "suspend", "bob", "--days", "7", "--reason", "unpaid").out.startswith(
        "bob is suspended until 20"
    )
    assert "bob is banned.\n" == run("users", "ban", "bob", "--reason", "shill bids").out
    assert "bob is in good standing.\n" == run("users", "lift", "bob", "--reason", "a mistake").out
    for args in (
        ("lift", "bob", "--reason", "again"),
        ("ban", "bob", "--reason", " "),
        ("ban", "eve", "--reason", "x"),
    ):
        done = run("users", *args)
        assert (1, "", 1) == (done.code, done.out, len(done.err.splitlines()))


@pytest.mark.usefixtures("tables")
def test_an_invitation_is_a_link(run: Run) -> None:
    """The command prints a link with its code in the fragment, also while the house has nobody."""
    link = run("users", "invite", "owner").out
    assert re.fullmatch(r"http://127\.0\.0\.1:9000/join#1\.[A-Za-z0-9_-]{22}\n", link)
    assert 2 == run("users", "invite", "king").code


@pytest.mark.usefixtures("tables")
def test_a_user_is_erased(run: Run) -> None:
    """It asks first; then the name is gone from the list, and the line says the pseudonym."""
    run("users", "add", "bob", stdin=f"{PASSWORD}\n")
    assert 0 != run("users", "erase", "bob", stdin="n\n").code
    unanswered = run("users", "erase", "bob")
    assert "saleroom: nobody answers; nothing was done; --yes goes on without asking\n" in unanswered.err
    assert run("users", "list").out.startswith("bob\t")
    assert re.fullmatch(r"bob is erased; .* erased\.[0-9a-f]{16}\.\n", run("users", "erase", "BOB", "--yes").out)
    assert run("users", "list").out.startswith("erased.")
    again = run("users", "erase", "bob", "--yes")
    assert (1, "", 1) == (again.code, again.out, len(again.err.splitlines()))
    assert (1, "", again.err) == run("users", "erase", "bob", stdin="y\n")


@pytest.mark.usefixtures("tables")
def test_a_house_with_an_owner_has_no_owner_link(run: Run) -> None:
    """The command prints a link with its code in the fragment, and refuses once somebody is the owner."""
    made = run("users", "owner-link")
    link = made.out
    assert "No house serves now" in made.err
    assert re.fullmatch(r"http://127\.0\.0\.1:9000/owner#[0-9]{10}\.[A-Za-z0-9_-]{22}\n", link)
    run("users", "add", "ada", "--role", "owner", stdin=f"{PASSWORD}\n")
    done = run("users", "owner-link")
    assert (1, "", 1) == (done.code, done.out, len(done.err.splitlines()))


def _of_output_without_reader(arguments: list[str], folder: Path, *, stderr_too: bool = False) -> tuple[int, bytes]:
    """Return the exit code of a command whose output is a pipe that nobody reads, and what it writes to standard error."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "saleroom", *arguments],
            cwd=folder,
            env=environment(),
            stdout=writing,
            stderr=writing if stderr_too else subprocess.PIPE,
            check=False,
        )
    finally:
        os.close(writing)
    return done.returncode, done.stderr or b""


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize("command", ["--version", "users --help", "roles", "verify --database", "export -"])
def test_sigpipe_ends_a_command_whose_output_nobody_reads(tmp_path: Path, command: str) -> None:
    """A command that is piped to `head` ends as other programs of Unix do: by SIGPIPE, and without a word."""
    assert (-signal.SIGPIPE, b"") == _of_output_without_reader(command.split(), tmp_path)


def test_sigpipe_ends_a_command_whose_fault_nobody_reads(tmp_path: Path) -> None:
    """A message about wrong usage that nobody reads ends the command by SIGPIPE, too."""
    assert (-signal.SIGPIPE, b"") == _of_output_without_reader(["nonsense"], tmp_path, stderr_too=True)


def test_a_ledger_is_judged_even_if_nobody_reads_how(tmp_path: Path) -> None:
    """`verify` piped to `head` exits with 0 for a good ledger, in words and as JSON."""
    ledger = str(Path(__file__).parent.parent / "docs/ledgers/baited.ndjson")
    assert (0, b"") == _of_output_without_reader(["verify", ledger], tmp_path)
    assert (0, b"") == _of_output_without_reader(["verify", "--json", ledger], tmp_path)


def test_a_demo_without_a_reader_ends_by_sigpipe(tmp_path: Path) -> None:
    """A line of the console of rich that nobody reads ends the command by SIGPIPE, too."""
    assert (-signal.SIGPIPE, b"") == _of_output_without_reader(["demo", "--port", "0"], tmp_path)


def test_a_broken_pipe_of_a_connection_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A connection that breaks is told, and not taken for an output that nobody reads."""

    def breaks(_: object) -> None:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    monkeypatch.setattr(cli.commands["roles"], "invoke", breaks)
    assert 1 == main(["roles"])
    assert ("", "saleroom: Broken pipe\n") == tuple(capfd.readouterr())
