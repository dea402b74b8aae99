"""`saleroom notices`: a mail to try the mail server, the outbox listed, and its words sent again."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from email.message import EmailMessage
from email.utils import formatdate

from saleroom.kernel.errors import Fault, Refusal
from saleroom.kernel.instants import instant
from saleroom.kernel.mail import in_header, parse_mail_address
from saleroom.kernel.mail_headers import AS_GIVEN
from saleroom.kernel.terminal import printable
from saleroom.notices.domain.errors import UnknownWord
from saleroom.notices.service import record
from saleroom.notices.service.record import Page
from saleroom.opening import run, with_tables
from saleroom.outbox.message import State, Word
from saleroom.outbox.smtp import SHOW, MailFault, SmtpServer
from saleroom.settings import Settings
from saleroom.storage.database import Database
from saleroom.tools.progress import Progress

_TEXT = "This mail was sent by the command `saleroom notices test`. The mail server takes the mails of this house.\n"


def try_mail(settings: Settings, address: str) -> str:
    """Send a mail to an address, and return a line that says what became of it. Raises Refusal."""
    receiver = parse_mail_address(address)
    if isinstance(receiver, Fault):
        raise Refusal(f"the address {receiver.message}")
    if settings.smtp_url is None or settings.mail_sender is None:
        raise Refusal("no smtp_url: no mails go out; set smtp_url and mail_sender, docs/notices.md says how")
    if settings.smtp_url == SHOW:
        raise Refusal("smtp_url is show: mails are shown on a page and none go out; set it to a mail server's URL")
    server = SmtpServer.from_url(settings.smtp_url, ca_file=settings.smtp_ca_file)
    try:
        asyncio.run(_send(server, _mail(settings.house_name, settings.mail_sender, receiver), receiver))
    except MailFault as fault:
        raise Refusal(str(fault)) from None
    return f"{server.url} has taken a mail to {receiver}. Look whether it has arrived, and not as spam."


async def _send(server: SmtpServer, mail: EmailMessage, receiver: str) -> None:
    async def send() -> None:
        async with server.connected() as connection:
            await connection.send(mail, mail["From"].addresses[0].addr_spec, receiver)

    sending = asyncio.create_task(send())
    with Progress() as progress:
        while not sending.done():
            progress.report(f"Waiting for {server.url}")
            await asyncio.wait([sending], timeout=0.2)
    sending.result()


def _mail(house: str, sender: str, receiver: str) -> EmailMessage:
    mail = EmailMessage(policy=AS_GIVEN)
    mail["From"] = in_header(sender, printable(house))
    mail["To"] = in_header(receiver)
    mail["Subject"] = f"A test of the mails of {printable(house)}"
    mail["Date"] = formatdate()
    mail["Message-ID"] = f"<test-{secrets.token_hex(12)}@{sender.rpartition('@')[2]}>"
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(_TEXT, cte="quoted-printable")
    return mail


def latest(settings: Settings, limit: int, state: str | None) -> Sequence[tuple[str, ...]]:
    """Return the latest words, each as texts: number, when, kind, state, receiver, tries, what went wrong. Raises Refusal."""

    async def work(database: Database) -> Page:
        await with_tables(database)
        return await database.read(record.page_of, [*State] if state is None else [State(state)], limit, None)

    found = run(settings, work)
    return [_shown(word, found) for word in found.words]


def _shown(word: Word, page: Page) -> tuple[str, ...]:
    receiver = page.names.get(word.receiver, "") if word.receiver is not None else "(an address)"
    return (
        str(word.id),
        instant(word.posted_at),
        word.kind,
        word.state.value,
        receiver,
        str(word.tries),
        word.last_error or "",
    )


def send_again(settings: Settings, number: int | None) -> str:
    """Have all words tried at once that wait or were given up, or one; return a line that says so. Raises Refusal."""

    async def work(database: Database) -> int:
        await with_tables(database)
        return await database.write(record.again, None, number)

    found = run(settings, work)
    if number is not None and not found:
        raise UnknownWord
    if number is not None:
        return f"The word {number} is tried at once."
    return f"{found} {'word is' if found == 1 else 'words are'} tried at once." if found else "No word waits."
