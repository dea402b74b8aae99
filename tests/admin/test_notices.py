"""`saleroom notices` with a real mail server: what it says of each fault, and the outbox from the command line."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from saleroom.admin import audit, notice_commands
from saleroom.cli import main
from saleroom.opening import run
from saleroom.outbox import store
from saleroom.outbox.message import MAIL, Message, State
from saleroom.settings import load
from saleroom.storage.database import Transaction
from tests.mqtt.equipment import free_port
from tests.outbox.mail_server import PASSWORD, USER, Post, certificate, mail_server

FAULTS = {
    "smtp+starttls://house:wrong@localhost:{port}": "refuses user or password",
    "smtps://localhost:{port}": "does not speak TLS here",
    "smtp://localhost:{free}": "nothing listens at",
    "smtp+starttls://nobody.invalid:{port}": "no host has the name nobody.invalid",
}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path, Post]]:
    """A mail server with a certificate of its own making and a login."""
    post, (server, key) = Post(), certificate(tmp_path_factory.mktemp("mail"))
    with mail_server(post, certificate=(server, key)) as port:
        yield port, server, post


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A house that sends mails from an address."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SALEROOM_MAIL_SENDER", "bids@house.example")
    monkeypatch.setenv("SALEROOM_HOUSE_NAME", "Müller & Söhne")


def test_a_mail_to_try_the_server_arrives(
    guarded: tuple[int, Path, Post], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The mail server gets one mail from the house, and the command says so without the password."""
    port, authority, post = guarded
    monkeypatch.setenv(
        "SALEROOM_SMTP_URL",
        f"smtp+starttls://{USER}:{quote(PASSWORD, safe='')}@localhost:{port}",
    )
    monkeypatch.setenv("SALEROOM_SMTP_CA_FILE", str(authority))
    assert 0 == main(["notices", "test", "jürgen@example.org"])
    assert ["jürgen@example.org"] == post.receivers
    post.receivers.clear()
    post.mails.clear()
    capsys.readouterr()
    assert 0 == main(["notices", "test", "Ada@Example.org"])
    said = capsys.readouterr()
    assert f"smtp+starttls://localhost:{port} has taken a mail to Ada@example.org." in said.out
    assert "sesame" not in said.out + said.err
    assert (["Ada@example.org"], ["A test of the mails of Müller & Söhne"]) == (post.receivers, post.subjects)


@pytest.mark.parametrize("url", FAULTS)
def test_a_fault_of_the_mail_server_is_said_with_its_remedy(
    guarded: tuple[int, Path, Post], url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each fault is one line that names it, without a password, and the exit code is 1."""
    port, authority, _ = guarded
    monkeypatch.setenv("SALEROOM_SMTP_URL", url.format(port=port, free=free_port()))
    monkeypatch.setenv("SALEROOM_SMTP_CA_FILE", str(authority))
    assert 1 == main(["notices", "test", "ada@example.org"])
    said = capsys.readouterr().err
    assert FAULTS[url] in said
    assert "wrong@" not in said
    assert "house:" not in said
    assert 1 == len(said.splitlines())


def test_an_unknown_authority_and_a_refused_receiver_are_said(
    guarded: tuple[int, Path, Post], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A certificate that nobody vouches for, and a mail server that takes no mail for the address, are named."""
    port, _, _ = guarded
    monkeypatch.setenv("SALEROOM_SMTP_URL", f"smtp+starttls://localhost:{port}")
    assert 1 == main(["notices", "test", "ada@example.org"])
    assert "the certificate of" in capsys.readouterr().err
    post = Post()
    post.to["ada@example.org"] = "550 no such user"
    with mail_server(post) as open_port:
        monkeypatch.setenv("SALEROOM_SMTP_URL", f"smtp://127.0.0.1:{open_port}")
        assert 1 == main(["notices", "test", "ada@example.org"])
        assert "the mail server refuses the mail: 550 no such user" in capsys.readouterr().err
        post.sender_answer = "553 not you"
        assert 1 == main(["notices", "test", "ada@example.org"])
        assert "refuses the sender bids@house.example: 553 not you" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("url", "address", "fault"),
    [
        (None, "ada@example.org", "no smtp_url"),
        ("show", "ada@example.org", "smtp_url is show"),
        ("smtp://localhost", "ada", "must be a mail address"),
        ("smtp://localhost", "a\r\nBcc: b@example.org", "must be a mail address"),
    ],
)
def test_what_cannot_be_sent_is_refused(
    url: str | None, address: str, fault: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a mail server, and to what is no address, nothing is tried."""
    if url is not None:
        monkeypatch.setenv("SALEROOM_SMTP_URL", url)
    assert 1 == main(["notices", "test", address])
    assert fault in capsys.readouterr().err


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What a command has printed. A house of other tests may have logged something in between."""
    return capsys.readouterr().out.splitlines()


def test_the_outbox_is_listed_and_sent_again(capsys: pytest.CaptureFixture[str]) -> None:
    """A word that was given up is listed with the reason, and waits again after a retry, which the audit log notes."""
    assert 0 == main(["migrate"])
    assert 1 == main(["notices", "retry", "1"])
    assert "saleroom: " in capsys.readouterr().err
    used = load({}, {}, None)
    run(used, lambda database: database.write(_given_up))
    assert 0 == main(["notices", "list", "--state", "given_up"])
    [row] = [line.split("\t") for line in capsys.readouterr().out.splitlines() if "\t" in line]
    assert ["verification", "given_up", "(an address)", "1", "550 no"] == row[2:]
    assert 0 == main(["notices", "retry", row[0]])
    assert f"The word {row[0]} is tried at once." in lines(capsys)
    assert 0 == main(["notices", "retry"])
    assert "1 word is tried at once." in lines(capsys)
    assert 0 == main(["notices", "list", "--state", "waiting"])
    assert 1 == sum("\t" in line for line in lines(capsys))
    acts = [(row[1], row[3]) for row in audit.newest(used, 10, None, "words.sent_again")]
    assert [("(command line)", "outbox"), ("(command line)", f"word {row[0]}")] == acts


def _given_up(tx: Transaction) -> None:
    store.post(tx, Message(kind="verification", key="one", address="ada@example.org", facts={"secret": 1}))
    [letter] = store.due(tx, MAIL, 10)
    store.claim(tx, letter, 0.5)
    store.settle(tx, letter, State.GIVEN_UP, "550 no")


def test_the_states_of_the_command_are_those_of_the_outbox() -> None:
    """`--state` takes each state of the outbox."""
    assert tuple(State) == notice_commands._STATES
