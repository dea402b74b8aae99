"""A real mail server for tests: with STARTTLS and a login if wanted, and with the faults of real ones."""

from __future__ import annotations

import asyncio
import email
import ssl
import subprocess
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import Any, cast

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from tests.needs import need

USER, PASSWORD = "house", "open/sesame@1"
TAKEN = "250 OK"


class Post:
    """What the mail server does with mails: it keeps them, unless `answers` say otherwise.

    `answers` are used up one by one: a line to answer the mail with, `drop` to cut the connection off once the mail is there,
    or `hang` to never answer. `to` says it for a receiver, each time.
    """

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []
        """The mails that were taken, in order; also those whose sender was never told."""
        self.receivers: list[str] = []
        self.answers: list[str] = []
        self.to: dict[str, str] = {}
        self.sender_answer = TAKEN
        self.by_connection: int | None = None
        """How many mails each connection takes before it ends; None for any number."""
        self.ends_after_refusal = False
        """Whether it cuts the connection off once it has refused a receiver, at the next command."""
        self._begun: Counter[Session] = Counter()

    @property
    def subjects(self) -> list[str]:
        """The subjects of the mails that were taken."""
        return [str(mail["Subject"]) for mail in self.mails]

    async def handle_MAIL(  # noqa: N802  # aiosmtpd's name
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        """Answer MAIL FROM."""
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        self._begun[session] += 1
        if self.by_connection is not None and self._begun[session] > self.by_connection:
            return "421 4.7.0 Too many mails by this connection"
        return self.sender_answer

    async def handle_RCPT(  # noqa: N802  # aiosmtpd's name
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        """Answer RCPT TO."""
        answer = self.to.get(address, TAKEN)
        if answer == TAKEN:
            envelope.rcpt_tos.append(address)
        return answer

    async def handle_RSET(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802  # aiosmtpd's name
        """Answer RSET, which follows a refusal."""
        if self.ends_after_refusal:
            cast("Any", server.transport).abort()
        return TAKEN

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802  # aiosmtpd's name
        """Take a mail, or do as `answers` say."""
        answer = self.answers.pop(0) if self.answers else TAKEN
        if answer == "hang":
            await asyncio.sleep(3600)
        if answer in {TAKEN, "drop"}:
            content = cast("bytes", envelope.content)
            mail = email.message_from_bytes(content, policy=default.clone(utf8=True))
            self.mails.append(mail)
            self.receivers.append(envelope.rcpt_tos[0])
        if answer == "drop":
            cast("Any", server.transport).abort()
        return answer


@asynccontextmanager
async def scripted_server(answers: Mapping[str, str]) -> AsyncIterator[int]:
    """Serve on a port, which is yielded, and answer each command by its first word: what `answers` say, otherwise 250.

    The greeting is that of the word `""`. `{line}` in an answer is the line of the client.
    """

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer), suppress(ConnectionError):
            writer.write(f"{answers.get('', '220 here')}\r\n".encode())
            while line := (await reader.readline()).decode().strip():
                command, _, _ = line.partition(" ")
                writer.write(f"{answers.get(command.upper(), TAKEN).format(line=line)}\r\n".encode())

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


@contextmanager
def mail_server(post: Post, *, port: int = 0, certificate: tuple[Path, Path] | None = None) -> Iterator[int]:
    """Serve mails on a port of this machine, which is yielded; with a `certificate` STARTTLS and a login are needed."""
    options: dict[str, Any] = {"enable_SMTPUTF8": True}
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        options |= {
            "tls_context": context,
            "require_starttls": True,
            "auth_required": True,
            "authenticator": _authenticate,
        }
    controller = _OnAnyPort(post, hostname="127.0.0.1", port=port, **options)
    controller.start()
    try:
        yield int(controller.port)
    finally:
        controller.stop()


class _OnAnyPort(Controller):
    """The controller of the library connects to its own port once, which is not 0."""

    def _trigger_server(self) -> None:
        self.port = cast("Any", self).server.sockets[0].getsockname()[1]
        super()._trigger_server()  # type: ignore[no-untyped-call]  # the library has no types there


def _authenticate(server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: object) -> AuthResult:
    good = isinstance(data, LoginPassword) and (data.login, data.password) == (USER.encode(), PASSWORD.encode())
    return AuthResult(success=good, handled=False)


def certificate(folder: Path, name: str = "localhost") -> tuple[Path, Path]:
    """Make a certificate of this machine and its key."""
    files = ("-keyout", str(folder / "key.pem"), "-out", str(folder / "server.pem"))
    subject = ("-days", "2", "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}")
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    subprocess.run(
        [need("openssl"), "req", "-x509", *curve, *subject, *files], check=True, capture_output=True, timeout=60
    )
    return folder / "server.pem", folder / "key.pem"
