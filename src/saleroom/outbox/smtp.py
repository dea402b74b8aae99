"""The mail server: how to reach it, and one connection to it. Its answers become one of three kinds of fault."""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.policy import SMTP as LINES

import aiosmtplib

from saleroom.kernel.server_urls import authority, server_url
from saleroom.kernel.terminal import plain

SHOW = "show"
"""In place of the URL of a mail server: mails are shown on a page. For houses to look at."""
CONNECT_SECONDS_MAX = 15.0
ANSWER_SECONDS_MAX = 30.0
REASON_CHARACTERS_MAX = 300
"""Servers say as much as they like, which reasons quote."""
_FORM = "write smtp+starttls://user:password@host:587, and in a password / ? # @ : as %2F %3F %23 %40 %3A"
_ADDRESS = re.compile(r"[^\s<>()\"',;:]+@[^\s<>()\"',;:]+")
_PORTS = {"smtp+starttls": 587, "smtps": 465, "smtp": 25}


class MailFault(Exception):
    """A mail was not sent; the message says why in words for the operator, without any secret."""

    def __init__(self, reason: str) -> None:
        super().__init__(plain(reason.replace("\n", " "), REASON_CHARACTERS_MAX))


class ServerFault(MailFault):
    """The server cannot be used at all for now: it is away, or refuses the account or the sender. Mails wait."""


class MailRefusal(MailFault):
    """The server refuses one mail. `usable` says whether the connection can take another one."""

    def __init__(self, reason: str, *, usable: bool) -> None:
        self.usable = usable
        super().__init__(reason)


class PassingFault(MailRefusal):
    """This mail was not taken now. It is tried again, and may have arrived all the same."""


class LastingFault(MailRefusal):
    """This mail or its receiver is refused for good."""


@dataclass(frozen=True)
class SmtpServer:
    """A mail server and the account on it. `tls` is `none`, `starttls` or `tls` (from the first byte)."""

    host: str
    port: int
    tls: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    ca_file: str | None = None

    @classmethod
    def from_url(cls, url: str, *, ca_file: str | None = None) -> SmtpServer:
        """Read `smtp://`, `smtp+starttls://` or `smtps://` with `user:password@host:port` (ports 25, 587 and 465).

        User and password are percent-decoded. `ca_file` (PEM) replaces the machine's own list of authorities. Raises ValueError
        naming the fault, never the password.
        """
        server = server_url(url, "SMTP", _PORTS, _FORM)
        if (server.user is None) != (server.password is None):
            raise ValueError(f"the SMTP URL needs both user and password, or neither; {_FORM}")
        if server.user is not None and server.scheme == "smtp" and server.host not in ("localhost", "127.0.0.1", "::1"):
            raise ValueError("a password needs TLS: write smtp+starttls:// or smtps:// instead of smtp://")
        tls = {"smtp": "none", "smtp+starttls": "starttls", "smtps": "tls"}[server.scheme]
        if ca_file is not None:
            _context(ca_file)
        return cls(server.host, server.port, tls, server.user, server.password, ca_file)

    @property
    def url(self) -> str:
        """The server's address without the account, for people."""
        scheme = {"none": "smtp", "starttls": "smtp+starttls", "tls": "smtps"}[self.tls]
        return f"{scheme}://{authority(self.host, self.port)}"

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[Connection]:
        """Connect and log in. Raises ServerFault."""
        client = _Client(
            hostname=self.host,
            port=self.port,
            use_tls=self.tls == "tls",
            start_tls=self.tls == "starttls",
            tls_context=None if self.tls == "none" else _context(self.ca_file),
            timeout=CONNECT_SECONDS_MAX,
        )
        try:
            async with asyncio.timeout(2 * CONNECT_SECONDS_MAX):
                await client.connect()
                if self.user is not None and self.password is not None:
                    await client.login(self.user, self.password)
        except (aiosmtplib.SMTPException, OSError, TimeoutError) as error:
            client.close()
            raise ServerFault(self._without_secrets(self._in_words(error))) from None
        try:
            yield Connection(self, client)
        finally:
            with suppress(aiosmtplib.SMTPException, OSError, TimeoutError):
                await client.quit(timeout=2)
            client.close()

    def _without_secrets(self, reason: str) -> str:
        """Return a reason without the password, which a server may repeat as it was sent."""
        if self.password is None:
            return reason
        sent = (f"\0{self.user}\0{self.password}", self.password)
        for secret in (*(b64encode(one.encode()).decode() for one in sent), self.password):
            reason = reason.replace(secret, "(the password)")
        return reason

    def _in_words(self, error: BaseException) -> str:
        """Return why the server could not be reached or refused the account, with the remedy."""
        where = self.url
        cause = error.__cause__ or error.__context__ or error
        no_tls = "does not speak TLS here: write smtp+starttls:// (587) or smtps:// (465) as the server needs"
        rows: tuple[tuple[bool, str], ...] = (
            (
                isinstance(error, aiosmtplib.SMTPAuthenticationError),
                f"{where} refuses user or password: {_said(error)}",
            ),
            (_is_no_smtp(error), f"{where} {_said(error)}: correct smtp_url"),
            (isinstance(error, aiosmtplib.SMTPResponseException), f"{where} refuses this house: {_said(error)}"),
            (isinstance(cause, ssl.SSLCertVerificationError), f"the certificate of {where} is not valid: {cause}"),
            ("AUTH extension" in str(error), f"{where} takes no login: leave user and password out of smtp_url"),
            (isinstance(cause, ssl.SSLError) or "STARTTLS" in str(error), f"{where} {no_tls}"),
            (isinstance(cause, socket.gaierror), f"no host has the name {self.host}: correct smtp_url"),
            (isinstance(cause, ConnectionRefusedError), f"nothing listens at {where}: start it, or correct smtp_url"),
            (isinstance(error, TimeoutError), f"{where} does not answer"),
        )
        return next(
            (words for holds, words in rows if holds), f"{where} cannot be used: {str(error) or type(error).__name__}"
        )


class Connection:
    """One connection to a mail server; of use until a fault that is not LastingFault."""

    def __init__(self, server: SmtpServer, client: aiosmtplib.SMTP) -> None:
        self._server = server
        self._client = client

    async def send(self, mail: EmailMessage, sender: str, receiver: str) -> None:
        """Hand over one mail. Raises ServerFault, PassingFault or LastingFault."""
        client = self._client
        if not client.is_connected:
            raise ServerFault(f"{self._server.url} has ended the connection")
        wide = not (receiver.isascii() and sender.isascii())
        if wide and not await self._takes_wide():
            if not sender.isascii():
                raise ServerFault(f"{self._server.url} takes no sender with letters beyond ASCII: change mail_sender")
            raise LastingFault("the mail server takes no address with letters beyond ASCII (SMTPUTF8)", usable=True)
        policy = LINES.clone(utf8=wide)
        options = ["SMTPUTF8"] if wide else []
        try:
            await client.mail(sender, options=options, encoding="utf-8", timeout=ANSWER_SECONDS_MAX)
        except (aiosmtplib.SMTPException, OSError, TimeoutError) as error:
            raise ServerFault(self._refused(error, f"refuses the sender {sender}")) from None
        try:
            await client.rcpt(receiver, encoding="utf-8", timeout=ANSWER_SECONDS_MAX)
            await client.data(mail.as_bytes(policy=policy), timeout=ANSWER_SECONDS_MAX)
        except aiosmtplib.SMTPResponseException as error:
            await self._begin_again()
            # Servers repeat the receiver's address, which nobody reads in the outbox or the log.
            reason = f"the mail server refuses the mail: {_ADDRESS.sub('(an address)', _said(error))}"
            if 500 <= error.code < 600:
                raise LastingFault(reason, usable=client.is_connected) from None
            raise PassingFault(reason, usable=client.is_connected) from None
        except (aiosmtplib.SMTPException, OSError, TimeoutError) as error:
            client.close()
            raise PassingFault(self._refused(error, "refuses the mail"), usable=False) from None

    async def _takes_wide(self) -> bool:
        """Return whether the server takes addresses with letters beyond ASCII, which it says in its answer to EHLO.

        Raises ServerFault.
        """
        try:
            if self._client.is_ehlo_or_helo_needed:
                await self._client.ehlo(timeout=ANSWER_SECONDS_MAX)
        except (aiosmtplib.SMTPException, OSError, TimeoutError) as error:
            if isinstance(error, aiosmtplib.SMTPHeloError) and 500 <= error.code < 600:
                return False  # it does not know the command
            raise ServerFault(self._refused(error, "does not say what it takes")) from None
        return self._client.supports_extension("smtputf8")

    def _refused(self, error: BaseException, what: str) -> str:
        if isinstance(error, aiosmtplib.SMTPResponseException):
            return f"{self._server.url} {what}: {_said(error)}"
        if isinstance(error, TimeoutError):
            return f"{self._server.url} does not answer"
        return f"{self._server.url} has ended the connection"

    async def _begin_again(self) -> None:
        """Make the connection ready for another mail."""
        try:
            await self._client.rset(timeout=ANSWER_SECONDS_MAX)
        except (aiosmtplib.SMTPException, OSError, TimeoutError):
            self._client.close()


class _Client(aiosmtplib.SMTP):
    """A client whose socket is closed with it. Over TLS, the library's waits until the server ends the connection, too."""

    def close(self) -> None:
        """Close the connection and its socket; the library calls it for every end."""
        transport = self.transport
        super().close()
        if isinstance(transport, asyncio.WriteTransport):
            transport.abort()


def where_mails_go(url: str | None, origin: str) -> str:
    """Return where the mails of a house go, for people; `origin` is its own address."""
    if url == SHOW:
        return f"none go out; anybody can read them at {origin}/mails"
    return "off" if url is None else SmtpServer.from_url(url).url


def _said(error: BaseException) -> str:
    """Return what the server said."""
    if _is_no_smtp(error):
        return "does not speak SMTP as it should"
    return f"{error.code} {error.message}" if isinstance(error, aiosmtplib.SMTPResponseException) else str(error)


def _is_no_smtp(error: BaseException) -> bool:
    """Return whether an answer could not be read; the library gives it a code of its own."""
    return isinstance(error, aiosmtplib.SMTPResponseException) and error.code < 0


def _context(ca_file: str | None) -> ssl.SSLContext:
    """Make the context for TLS. Raises ValueError if the authority file cannot be used."""
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:
        reason = error.strerror or "it holds no certificate in PEM form"
        raise ValueError(f"the authority file {ca_file!r} of the mail server cannot be used: {reason}") from None
