"""One connection to a real mail server, and what becomes of its faults."""

import asyncio
import socket
from base64 import b64encode
from email.message import EmailMessage
from pathlib import Path
from urllib.parse import quote

import psutil
import pytest

from saleroom.outbox import smtp
from saleroom.outbox.smtp import LastingFault, MailFault, PassingFault, ServerFault, SmtpServer
from tests.outbox.mail_server import PASSWORD, USER, Post, certificate, mail_server, scripted_server

SENDER, RECEIVER = "bids@house.example", "ada@example.org"


@pytest.fixture
def post() -> Post:
    """What the mail server does."""
    return Post()


def a_mail(receiver: str = RECEIVER) -> EmailMessage:
    """A mail."""
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = SENDER, receiver, "Grüße\u200f"
    mail.set_content("Grüße\n")
    return mail


async def send(url: str, receiver: str = RECEIVER, ca_file: Path | None = None) -> None:
    """Send one mail over a new connection."""
    server = SmtpServer.from_url(url, ca_file=None if ca_file is None else str(ca_file))
    async with server.connected() as connection:
        await connection.send(a_mail(receiver), SENDER, receiver)


async def fault(url: str, receiver: str = RECEIVER, ca_file: Path | None = None) -> MailFault:
    """Why a mail is not sent."""
    with pytest.raises(MailFault) as failed:
        await send(url, receiver, ca_file)
    return failed.value


async def test_a_mail_goes_by_starttls_and_a_login(post: Post, tmp_path: Path) -> None:
    """The password goes over TLS only, to a server whose certificate is signed by the authority that the settings name."""
    pair = certificate(tmp_path)
    account = f"{USER}:{quote(PASSWORD, safe='')}"
    with mail_server(post, certificate=pair) as port:
        await send(f"smtp+starttls://{account}@localhost:{port}", ca_file=pair[0])
        wrong = await fault(f"smtp+starttls://{USER}:wrong@localhost:{port}", ca_file=pair[0])
        unknown = await fault(f"smtp+starttls://{account}@localhost:{port}")
        plain = await fault(f"smtp://localhost:{port}")
        at_once = await fault(f"smtps://{account}@localhost:{port}", ca_file=pair[0])
    assert ["Grüße\u200f"] == post.subjects
    faults = (wrong, unknown, plain, at_once)
    assert [ServerFault] * 4 == [type(one) for one in faults]
    assert f"smtp+starttls://localhost:{port} refuses user or password: 535" in str(wrong)
    assert f"the certificate of smtp+starttls://localhost:{port} is not valid" in str(unknown)
    assert "530" in str(plain)
    assert "does not speak TLS here" in str(at_once)
    assert all("wrong" not in str(one) and PASSWORD not in str(one) for one in faults)


async def test_a_connection_over_tls_leaves_no_socket(post: Post, tmp_path: Path) -> None:
    """The socket is closed at once, however long the server takes to end the connection on its side."""
    pair = certificate(tmp_path)

    def open_sockets() -> int:
        return sum(bool(one.raddr) and one.raddr.port == port for one in psutil.Process().net_connections("tcp"))

    with mail_server(post, certificate=pair) as port:
        await send(f"smtp+starttls://{USER}:{quote(PASSWORD, safe='')}@localhost:{port}", ca_file=pair[0])
        await asyncio.sleep(0)
        assert 0 == open_sockets()
        await fault(f"smtp+starttls://{USER}:wrong@localhost:{port}", ca_file=pair[0])
        await asyncio.sleep(0)
        assert 0 == open_sockets()


async def test_a_server_without_starttls_gets_no_password(post: Post) -> None:
    """If the server does not offer TLS, the password is never sent."""
    with mail_server(post) as port:
        refused = await fault(f"smtp+starttls://{USER}:x@localhost:{port}")
    assert isinstance(refused, ServerFault)
    assert "does not speak TLS here" in str(refused)
    assert [] == post.mails


async def test_a_server_that_is_away_is_named() -> None:
    """A port where nothing listens, and a name that no host has, each get their own words."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        refused = await fault(f"smtp://127.0.0.1:{port}")
    nowhere = await fault("smtp://mail.invalid")
    assert [ServerFault, ServerFault] == [type(refused), type(nowhere)]
    assert f"nothing listens at smtp://127.0.0.1:{port}" in str(refused)
    assert "no host has the name mail.invalid" in str(nowhere)


async def test_a_server_that_says_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that takes the connection and hangs is given up after a while."""
    monkeypatch.setattr(smtp, "CONNECT_SECONDS_MAX", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        found = await fault(f"smtp://127.0.0.1:{silent.getsockname()[1]}")
    assert isinstance(found, ServerFault)
    assert "does not answer" in str(found)


async def test_the_server_may_refuse_the_sender(post: Post) -> None:
    """A refused sender is a fault of the settings, not of the mail."""
    post.sender_answer = "553 not yours"
    with mail_server(post) as port:
        refused = await fault(f"smtp://127.0.0.1:{port}")
    assert isinstance(refused, ServerFault)
    assert f"refuses the sender {SENDER}: 553 not yours" in str(refused)


@pytest.mark.parametrize(
    ("answer", "kind", "usable"),
    [
        ("450 greylisted", PassingFault, True),
        ("550 no such user", LastingFault, True),
        ("421 going down", PassingFault, None),
        ("drop", PassingFault, False),
        ("hang", PassingFault, False),
    ],
)
async def test_a_mail_may_be_refused(
    post: Post, answer: str, kind: type[MailFault], usable: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """4xx, a lost connection and silence pass, 5xx lasts; after an answer the connection takes the next mail."""
    if answer == "hang":
        monkeypatch.setattr(smtp, "ANSWER_SECONDS_MAX", 0.3)
    post.answers = [answer]
    with mail_server(post) as port:
        async with SmtpServer.from_url(f"smtp://127.0.0.1:{port}").connected() as connection:
            with pytest.raises(kind) as failed:
                await connection.send(a_mail(), SENDER, RECEIVER)
            if isinstance(failed.value, PassingFault) and usable is not None:
                assert usable is failed.value.usable
            if usable:
                await connection.send(a_mail(), SENDER, RECEIVER)
    if usable:
        assert answer in str(failed.value)
        assert 1 == len(post.mails)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("550 5.1.1 <Ada@example.org>: User unknown", "550 5.1.1 <(an address)>: User unknown"),
        ("450 ada+lots@mx.example.org is over quota", "450 (an address) is over quota"),
        ("550 #5.1.0 Address rejected ada@example.org.", "550 #5.1.0 Address rejected (an address)"),
    ],
)
async def test_no_reason_shows_an_address(post: Post, said: str, shown: str) -> None:
    """The server repeats the receiver's address; the reason, which staff and the log get, does not."""
    post.to[RECEIVER] = said
    with mail_server(post) as port:
        refused = await fault(f"smtp://127.0.0.1:{port}")
    assert f"the mail server refuses the mail: {shown}" == str(refused)


async def test_letters_beyond_ascii_need_a_server_that_takes_them(post: Post) -> None:
    """An address with other letters goes out by SMTPUTF8."""
    with mail_server(post) as port:
        await send(f"smtp://127.0.0.1:{port}", "jürgen@example.org")
    assert ["jürgen@example.org"] == post.receivers
    assert "jürgen@example.org" == post.mails[0]["To"]


async def test_a_sender_with_letters_beyond_ascii_loses_no_mail() -> None:
    """A server that does not take the sender of the settings is a fault of the settings: mails wait until they are right."""
    async with scripted_server({}) as port, SmtpServer("127.0.0.1", port, "none").connected() as connection:
        with pytest.raises(ServerFault, match="takes no sender with letters beyond ASCII: change mail_sender"):
            await connection.send(a_mail(), "gebote@häuser.example", RECEIVER)


async def test_a_server_that_ends_before_it_says_what_it_takes_loses_no_mail() -> None:
    """A connection that is lost at EHLO says nothing about the receiver."""
    async with scripted_server({"EHLO": "421 going down"}) as port:
        assert isinstance(await fault(f"smtp://127.0.0.1:{port}", "jürgen@example.org"), ServerFault)


@pytest.mark.parametrize("methods", ["PLAIN", "LOGIN"])
async def test_no_reason_shows_the_password(methods: str) -> None:
    """A server that repeats what it does not understand repeats the password, too, in the form in which it was sent."""
    odd = {
        "EHLO": f"250-here\r\n250 AUTH {methods}",
        "AUTH": "334 VXNlcm5hbWU6" if methods == "LOGIN" else "535 {line}",
    }
    said = {b64encode(one.encode()).decode(): "500 {line}" for one in (USER, PASSWORD)}
    async with scripted_server(odd | {one.upper(): answer for one, answer in said.items()}) as port:
        with pytest.raises(ServerFault) as failed:
            async with SmtpServer("127.0.0.1", port, "none", USER, PASSWORD).connected():
                pass
    assert "refuses user or password: 5" in str(failed.value)
    assert "(the password)" in str(failed.value)
    assert not any(one in str(failed.value) for one in (PASSWORD, b64encode(PASSWORD.encode()).decode()))


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ({"": "HTTP/1.1 400 Bad Request"}, "does not speak SMTP as it should: correct smtp_url"),
        ({"": "220-x\r\n" * 100_000}, "does not speak SMTP as it should: correct smtp_url"),
        ({"RCPT": "550 no\x1b[2J"}, "the mail server refuses the mail: 550 no\\u001b[2J"),
    ],
)
async def test_reasons_are_fit_for_the_log(answers: dict[str, str], reason: str) -> None:
    """What is no SMTP is named as such, and what could steer a terminal is escaped."""
    async with scripted_server(answers) as port:
        assert str(await fault(f"smtp://127.0.0.1:{port}")).endswith(reason)


async def test_a_long_answer_is_cut() -> None:
    """A server that says much does not fill the log."""
    async with scripted_server({"RCPT": f"550-{'x' * 4000}\r\n550 y"}) as port:
        found = str(await fault(f"smtp://127.0.0.1:{port}"))
    assert smtp.REASON_CHARACTERS_MAX + 1 == len(found)


async def test_a_login_that_is_not_offered_is_named() -> None:
    """The settings have an account for a server that has no logins."""
    async with scripted_server({}) as port:
        found = await fault(f"smtp://{USER}:x@127.0.0.1:{port}")
    assert str(found).endswith("takes no login: leave user and password out of smtp_url")
