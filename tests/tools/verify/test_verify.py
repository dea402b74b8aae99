"""`saleroom verify` as users run it: on files, on a running house, on a database."""

import io
import itertools
import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from saleroom.bidding.domain.closing import settle
from saleroom.cli import main
from saleroom.storage.database import Transaction
from saleroom.tools.http_client import SMALL_BYTES_MAX
from saleroom.tools.verify import display, http
from saleroom.tools.verify.command import VerifyOptions, read_options
from tests.bidding.domain.examples import after
from tests.bidding.domain.test_retrace import PlayedAuction
from tests.fixtures_database import FakeClock
from tests.fixtures_house import House, ServeHouse
from tests.rows import each_of
from tests.terminal import CommandResult, MemoryTerminal
from tests.tools.verify.ledgers import lines_of, verified
from tests.tools.verify.strange import Answer, answering

NASTY = "Vase \x1b]0;owned\x07\x1b[31m \u202e[bold]x[/bold]\u200b\x9b2J\n:smile:"
LEDGER = lines_of(
    PlayedAuction(ends_at=after(60), soft_close=None, name=NASTY)
    .bids("bob up to 150")
    .bids("cyd 120", seconds=2)
    .then(settle, after(60))
    .log
)


Verify = Callable[..., CommandResult]


@pytest.fixture
def verify(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Verify:
    """Run the command in an empty folder: `verify(*arguments, stdin=...)`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*arguments: str | Path, stdin: bytes = b"") -> CommandResult:
        capfd.readouterr()  # the log of a house in this process so far
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        return CommandResult(main(["verify", *(str(each) for each in arguments)]), *capfd.readouterr())

    return run


def file(folder: Path, lines: list[bytes], name: str = "sale.ndjson") -> Path:
    """Write a ledger to a file and return its path."""
    (folder / name).write_bytes(b"".join(lines))
    return folder / name


def test_a_file_is_verified(verify: Verify, tmp_path: Path) -> None:
    """A good ledger gives the winner, the price, and the reason for each decision."""
    done = verify(file(tmp_path, LEDGER))
    assert (0, "") == (done.code, done.err)
    lines = done.out.splitlines()
    assert lines[1] == "sold to bob at 130.00"
    assert lines[2].startswith(f"{len(LEDGER)} events, head ")
    assert [
        "2026-11-21T12:00:01.000000Z bob 100.00 up to 150.00: leads as the first bid",
        "2026-11-21T12:00:02.000000Z cyd 120.00 up to 120.00: held off by bob's automatic bid at 130.00",
        "2026-11-21T12:00:02.000000Z bob 130.00 up to 150.00: holds off cyd's 120.00",
    ] == lines[3:]
    assert done == verify("-", stdin=b"".join(LEDGER))
    assert "sold to bob at CHF\u00a0130.00" in verify("-", "--currency", "CHF", stdin=b"".join(LEDGER)).out
    assert "'XXXX' is no currency" in verify("-", "--currency", "XXXX").err


def test_json_is_one_object(verify: Verify, tmp_path: Path) -> None:
    """`--json` prints one object, for a good ledger and for a broken one."""
    done = verify(file(tmp_path, LEDGER), "--json")
    result = json.loads(done.out)
    assert (True, "bob", "130.000", "sold") == tuple(result[name] for name in ("ok", "winner", "price", "outcome"))
    assert [2, 3, 4] == [bid["sequence"] for bid in result["bids"]]
    done = verify(file(tmp_path, LEDGER[:-1]), "--json")
    assert 1 == done.code
    assert {"ok": False, "line": 5} == {name: json.loads(done.out)[name] for name in ("ok", "line")}


def test_a_broken_file_is_reported_with_its_line(verify: Verify, tmp_path: Path) -> None:
    """The message names the first line that breaks and the reason; the exit code is 1."""
    spoilt = [*LEDGER[:2], LEDGER[2].replace(b"120.000", b"121.000"), *LEDGER[3:]]
    reason = "its hash is not that of the event after the one before it"
    assert CommandResult(1, "", f"saleroom: line 3 was changed: {reason}\n") == verify(file(tmp_path, spoilt))


@each_of(
    {"arguments": (), "code": 2, "says": "nothing to verify"},
    {"arguments": ("missing.ndjson",), "code": 1, "says": "cannot read missing.ndjson: No such file"},
    {"arguments": (".",), "code": 1, "says": "cannot read .: Is a directory"},
    {"arguments": ("\0",), "code": 1, "says": "cannot read"},
    {"arguments": ("http://127.0.0.1:1/nothing",), "code": 2, "says": "no address of an auction"},
    {"arguments": ("http://ada:secret@host/auctions/abc",), "code": 2, "says": "leave user and password out"},
    {"arguments": ("http://host:99999999/auctions/abc",), "code": 2, "says": "no valid host and port"},
    {"arguments": ("ftp://host/auctions/abc",), "code": 2, "says": "no address of a house"},
    {"arguments": ("http://127.0.0.1:1/auctions/abc",), "code": 1, "says": "connection refused"},
    {"arguments": ("a.ndjson", "--receipt", "r"), "code": 2, "says": "a receipt needs the house's key"},
    {"arguments": ("a.ndjson", "--key", "k"), "code": 2, "says": "--key is for a --receipt"},
    {"arguments": ("a.ndjson", "--receipt", "r", "--key", "ftp://x"), "code": 2, "says": "no address of a house"},
    {"arguments": ("a.ndjson", "--receipt", "r", "--key", "k"), "code": 1, "says": "cannot read r: No such file"},
    {"arguments": ("a.ndjson", "--database"), "code": 2, "says": "--database takes no ledger"},
    {"arguments": ("--database", "sqlite:///missing.db"), "code": 1, "says": "there is no database missing.db"},
    {"arguments": ("--database", "mysql://x"), "code": 2, "says": "mysql is not supported"},
)
def test_a_failure_is_one_line(verify: Verify, arguments: tuple[str, ...], code: int, says: str) -> None:
    """A failure is one line without a password and without a traceback."""
    done = verify(*arguments)
    assert (code, "") == (done.code, done.out)
    assert says in done.err
    assert 1 == done.err.count("\n")
    assert "secret" not in done.err


def test_names_do_not_steer_a_terminal(verify: Verify, tmp_path: Path) -> None:
    """Names are shown without interpreting markup. Characters that steer a terminal or deceive are shown as escapes."""
    ledger = verified(b"".join(LEDGER))
    shown = MemoryTerminal()
    display.show(ledger, [], out=shown)
    for text in (verify(file(tmp_path, LEDGER)).out, shown.getvalue().replace("\x1b[1m", "").replace("\x1b[0m", "")):
        assert not {mark for mark in text.replace("\x1b[2m", "") if not mark.isprintable()} - {"\n"}
        assert "[bold]x[/bold]" in text
        assert "\\u001b" in text
        assert ":smile:" in text


def test_reasons_do_not_steer_a_terminal(verify: Verify, tmp_path: Path) -> None:
    """Errors that quote a ledger do not steer a terminal either."""
    raw = b"".join(LEDGER).replace(b'"type":"bid.placed"', b'"type":"\\u001b[31m"', 1)
    done = verify(file(tmp_path, [raw]))
    assert "\x1b" not in done.err
    story = lines_of(PlayedAuction().log)
    story[0] = story[0].replace(b'"sequence":1', b'"sequence":"\xc2\x9b"')
    done = verify(file(tmp_path, story))
    assert "\x9b" not in done.err


def test_a_running_house_is_verified(verify: Verify, serve_house: ServeHouse, clock: FakeClock, tmp_path: Path) -> None:
    """The address of an auction's page, API or ledger verifies it, before and after its end, with each receipt."""
    house = serve_house(clock)
    ada, bob, cyd = (house.user(name) for name in ("ada", "bob", "cyd"))
    gid = ada.auction(endsAt="2026-11-21T13:00:00Z", reservePrice="40")
    answers = [bob.bid(gid, maximum="20").json(), cyd.bid(gid, "15").json(), bob.bid(gid, maximum="30").json()]
    at = [f"{house.base}/{path}" for path in (f"auctions/{gid}", f"lots/{gid}/?x#y", f"auctions/{gid}/ledger")]
    for url in at:
        done = verify(url)
        assert (0, "") == (done.code, done.err)
        assert "bob leads at €16.00; limits and the reserve are sealed until then" in done.out
    assert "the bid of €15.00 by cyd stands" in verify(at[0], "--receipt", answers[1]["receipt"]).out
    assert "sealed until the auction is over" in verify(at[0], "--receipt", answers[2]["receipt"]).out
    clock.advance(10)
    answers += [bob.bid(gid, maximum="50").json(), cyd.bid(gid, "60", "70").json()]
    house.advance(3600)
    (tmp_path / "answer.json").write_text(json.dumps(answers[0]))
    assert "the bid of €10.00 by bob stands" in verify(at[1], "--receipt", "answer.json").out
    for answer in answers:
        (tmp_path / "receipt.txt").write_text(answer["receipt"] + "\n")
        done = verify(at[0], "--receipt", "receipt.txt")
        assert (0, "") == (done.code, done.err)
        assert "sold to cyd at €60.00" in done.out
        assert "receipt: the " in done.out
    (tmp_path / "sale.ndjson").write_bytes(house.plain.get(at[2]).content)
    (tmp_path / "keys.json").write_bytes(house.plain.get("/.well-known/saleroom.json").content)
    for key in ("keys.json", house.base, f"{house.base}/#top", at[1], f"{house.base}/.well-known/saleroom.json"):
        assert 0 == verify("sale.ndjson", "--receipt", answers[4]["receipt"], "--key", key).code
    other = verify(f"{house.base}/auctions/{ada.auction()}", "--receipt", answers[4]["receipt"])
    assert 1 == other.code
    assert "the receipt: it is for the auction" in other.err
    assert "the house knows no such auction" in verify(f"{house.base}/auctions/nothing").err


def test_a_purchase_has_a_receipt_too(verify: Verify, serve_house: ServeHouse, clock: FakeClock) -> None:
    """A purchase at the buy-now price has a receipt."""
    house = serve_house(clock)
    gid = house.user("ada").auction(buyNowPrice="90")
    answer = house.user("bob").json("POST", f"/auctions/{gid}/buy")
    done = verify(f"{house.base}/auctions/{gid}", "--receipt", answer["receipt"])
    assert "sold to bob at €90.00" in done.out
    assert "receipt: the bid of €90.00 by bob stands at event 2" in done.out


def test_another_head_is_found(verify: Verify) -> None:
    """The ledger must have the head that the house shows, and belong to the right auction."""
    head = verified(b"".join(LEDGER)).head
    lot, lines = {"gid": "gid", "version": len(LEDGER), "head": head}, b"".join(LEDGER)
    ndjson = {"Content-Type": "application/x-ndjson"}

    def verify_lot(path: str = "gid", **members: Any) -> CommandResult:
        body = json.dumps({**lot, **members}).encode()
        answers = {f"/auctions/{path}": (200, {"Content-Type": "application/json"}, body)}
        with answering({**answers, f"/auctions/{path}/ledger": (200, ndjson, lines)}) as house:
            return verify(f"{house}/auctions/{path}")

    assert 0 == verify_lot().code
    assert "its hash is not the head that the house shows" in verify_lot(head="0" * 64).err
    assert "its hash is not the head that the house shows" in verify_lot(version=0).err
    assert "the ledger ends here, but the auction has 99 events" in verify_lot(version=99).err
    assert "it is the ledger of" in verify_lot("other").err


JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ((200, {"Content-Type": "text/html"}, b"<html>"), "answers, but not as an auction house does"),
        ((200, JSON, b"[]"), "answers, but not as an auction house does"),
        ((200, JSON, b"x" * (SMALL_BYTES_MAX + 1)), "answers more than a house would"),
        ((200, {**JSON, "Content-Encoding": "gzip"}, b"{}"), "answers, but not as an auction house does"),
        ((404, JSON, b"{}"), "the house knows no such auction"),
        ((503, JSON, b"{}"), "try again in a moment"),
        ((302, {"Location": "http://localhost:9/auctions/gid"}, b""), "redirects to another host"),
        ((302, {"Location": "file:///etc/passwd"}, b""), "redirects to another host"),
        ((302, {"Location": "//127.0.0.2/x"}, b""), "redirects to another host"),
        ((302, {"Location": "http://127.0.0.1/x"}, b""), "redirects to another host"),
        ((302, {"Location": "http://[/x"}, b""), "cannot be read"),
        ((302, {}, b""), "redirects to another host"),
        ((302, {"Location": "/auctions/gid"}, b""), "redirects without end"),
        ((200, {**JSON, "Content-Length": "100"}, b"{"), "the connection broke off"),
    ],
)
def test_a_strange_answer_is_refused(verify: Verify, answer: Answer, says: str) -> None:
    """Any answer that no house gives ends the command in bounded time, with a line that says what to do."""
    with answering({"/auctions/gid": answer}) as house:
        done = verify(f"{house}/auctions/gid")
    assert (1, "") == (done.code, done.out)
    assert says in done.err
    assert 1 == done.err.count("\n")


def test_a_redirect_on_the_same_host_is_followed(verify: Verify) -> None:
    """A redirect on the same host is followed."""
    ledger = verified(b"".join(LEDGER))
    lot = json.dumps({"gid": "gid", "version": len(LEDGER), "head": ledger.head}).encode()
    answers: dict[str, Answer] = {
        "/auctions/gid": (301, {"Location": "/house/auctions/gid"}, b""),
        "/auctions/gid/ledger": (307, {"Location": "/house/auctions/gid/ledger"}, b""),
        "/house/auctions/gid": (200, JSON, lot),
        "/house/auctions/gid/ledger": (200, {"Content-Type": "application/x-ndjson"}, b"".join(LEDGER)),
    }
    with answering(answers) as house:
        assert 0 == verify(f"{house}/auctions/gid").code
        assert 0 == verify(f"{house}/house/lots/gid").code


def test_size_of_a_ledger_is_bounded(verify: Verify, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger longer than the limit is refused."""
    monkeypatch.setattr(http, "LEDGER_BYTES_MAX", 100)
    lot = json.dumps({"gid": "gid", "version": 1, "head": "0" * 64}).encode()
    ndjson = (200, {"Content-Type": "application/x-ndjson"}, b"".join(LEDGER))
    with answering({"/auctions/gid": (200, JSON, lot), "/auctions/gid/ledger": ndjson}) as house:
        assert "answers more than a house would" in verify(f"{house}/auctions/gid").err


def test_a_file_without_keys_is_refused(verify: Verify, tmp_path: Path) -> None:
    """The message names the file without keys."""
    (tmp_path / "keys.json").write_text("{}")
    receipt = f"{'a' * 20}.{'b' * 20}.{'c' * 86}"
    done = verify(file(tmp_path, LEDGER), "--receipt", receipt, "--key", "keys.json")
    assert "keys.json has no keys" in done.err
    assert VerifyOptions("x", None, receipt, "keys.json") == read_options("x", receipt, "keys.json")


def test_a_house_that_serves_is_verified(verify: Verify, clocked_house: House) -> None:
    """Bids during a check are no faults, because the check sees one snapshot."""
    ada, bob = clocked_house.user("ada"), clocked_house.user("bob")
    gids = [ada.auction() for _ in range(20)]
    over = threading.Event()

    def bidding() -> None:
        for count in itertools.count(10):
            for gid in gids:
                if over.is_set():
                    return
                bob.bid(gid, maximum=str(count))

    storm = threading.Thread(target=bidding)
    storm.start()
    try:
        checked = [verify("--database", clocked_house.settings.database) for _ in range(5)]
    finally:
        over.set()
        storm.join()
    assert [(0, "")] * 5 == [(done.code, done.err) for done in checked]
    assert len({done.out.splitlines()[0] for done in checked}) > 1, "nothing came in meanwhile"


def test_a_database_is_verified(verify: Verify, clocked_house: House, clock: FakeClock) -> None:
    """`--database` prints counts and a digest, and finds every change, even while the house serves."""
    gid = clocked_house.user("ada").auction(endsAt="2026-11-21T13:00:00Z")
    clocked_house.user("bob").bid(gid, maximum="20")
    url = clocked_house.settings.database
    done = verify("--database", url)
    assert (0, "") == (done.code, done.err)
    first, last = done.out.splitlines()
    assert first.startswith("auctions: 1, ledger heads: ")
    assert first.endswith(", events: 2, bids: 1")
    assert "Nothing is out of order." == last
    result = json.loads(verify("--database", url, "--json").out)
    assert result["digest"] in first
    assert (True, 1, 2, 1) == tuple(result[name] for name in ("ok", "auctions", "events", "bids"))

    def tamper(tx: Transaction) -> None:
        tx.driver_sql("UPDATE bids SET automatic = NOT automatic", ())

    clocked_house.write(tamper)
    done = verify("--database", url)
    assert 1 == done.code
    assert f"auction {gid}: bid 1: automatic is" in done.out
    assert "Faults: 1." in done.out
    assert 1 == verify("--database", url, "--json").code
