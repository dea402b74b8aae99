"""Mails about accounts: posted by the transaction that causes them, and what each says when it is made."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saleroom.accounts.domain.invitations import LIFETIME as INVITATION_LIFETIME
from saleroom.accounts.domain.invitations import PATH as JOIN_PATH
from saleroom.accounts.domain.invitations import Invitation
from saleroom.accounts.domain.mails import LIFETIMES, MAILBOX_LIMITS, MailLink, Purpose, Sign
from saleroom.accounts.storage import accounts, invitations, mail_addresses, mail_links
from saleroom.kernel.instants import instant
from saleroom.outbox import store
from saleroom.outbox.kinds import MailKind
from saleroom.outbox.message import Message, Word, number_of
from saleroom.storage.database import Transaction

FOLDER = Path(__file__).parent.parent / "web"
"""The folder of the templates."""
RESET_PATH = "/password/new"
VERIFICATION_PATH = "/address/confirm"
"""The pages that links lead to. The secret stands in the fragment, which browsers send to no server."""


def post_link(tx: Transaction, link: MailLink, language: str | None) -> None:
    """Post the mail with a link."""
    message = Message(
        kind=link.purpose.value,
        key=f"link {link.id} {link.made_at.isoformat()}",  # SQLite gives the number of a deleted row again
        address=link.address,
        facts={"link": link.id},
        language=language,
        lasts=LIFETIMES[link.purpose],
    )
    store.post(tx, message)


def post_invitation(tx: Transaction, invitation: Invitation, language: str | None) -> None:
    """Post the mail with an invitation."""
    message = Message(
        kind="invitation",
        key=f"invitation {invitation.id} {invitation.made_at.isoformat()}",
        address=invitation.address,
        facts={"invitation": invitation.id},
        language=language,
        lasts=INVITATION_LIFETIME,
    )
    store.post(tx, message)


def mailbox_is_full(tx: Transaction, address: str, purpose: Purpose) -> bool:
    """Return whether a mailbox has had as many links for this purpose as it may for now, and lock it.

    Nobody is told, as it may be somebody else's. Lock users before.
    """
    return mail_links.mailbox_wait(tx, address, purpose, MAILBOX_LIMITS, tx.now()) > 0


def tell(tx: Transaction, user_id: int, kind: str, facts: Mapping[str, Any] | None = None) -> None:
    """Post word to a user about their account, if they have a verified mail address."""
    found = mail_addresses.verified(tx, [user_id]).get(user_id)
    if found is not None:
        tell_at(tx, found, kind, facts or {})


def tell_at(tx: Transaction, given: mail_addresses.MailAddress, kind: str, facts: Mapping[str, Any]) -> None:
    """Post word to a user at the address that was theirs when it happened."""
    now = tx.now()
    account = accounts.find(tx, given.user_id)
    message = Message(
        kind=kind,
        key=f"{kind} {given.user_id} {now.isoformat()}",
        address=given.address,
        facts={"username": account.username, "at": instant(now), **facts},
        language=given.language,
    )
    store.post(tx, message)


def tell_of_erasure(tx: Transaction, given: mail_addresses.MailAddress) -> None:
    """Post the last word to somebody who was erased, at the address that was theirs. It does not have their name."""
    now = tx.now()
    message = Message(
        kind="erased",
        key=f"erased {given.user_id} {now.isoformat()}",
        address=given.address,
        facts={"at": instant(now)},
        language=given.language,
    )
    store.post(tx, message)


def _link(path: str) -> Any:
    def context(tx: Transaction, word: Word, sign: Sign) -> Mapping[str, Any] | None:
        number = number_of(word.facts, "link")
        link = None if number is None else mail_links.find(tx, number)
        if link is None or not link.is_good(tx.now()):
            return None
        login = accounts.login_of(tx, link.user_id)
        digest = login.password_digest if link.purpose is Purpose.RESET else None
        code = link.code(digest, sign)
        return {"username": login.account.username, "address": link.address, "code": code, "path": f"{path}#{code}"}

    return context


def _invitation(tx: Transaction, word: Word, sign: Sign) -> Mapping[str, Any] | None:
    number = number_of(word.facts, "invitation")
    found = None if number is None else invitations.find(tx, number)
    if found is None or found.address != word.address or not found.is_good(tx.now()):
        return None
    code, ends = found.code(sign), instant(found.expires_at)
    return {"by": found.by, "role": found.role.value, "ends": ends, "code": code, "path": f"{JOIN_PATH}#{code}"}


def _facts(tx: Transaction, word: Word, sign: Sign) -> Mapping[str, Any] | None:
    return word.facts


MAILS = (
    MailKind(
        name=Purpose.VERIFICATION, folder=FOLDER, template="mail/verification.html", context=_link(VERIFICATION_PATH)
    ),
    MailKind(name=Purpose.RESET, folder=FOLDER, template="mail/reset.html", context=_link(RESET_PATH)),
    MailKind(name="invitation", folder=FOLDER, template="mail/invitation.html", context=_invitation),
    *(
        MailKind(name=name, folder=FOLDER, template=f"mail/{name}.html", context=_facts)
        for name in (
            *("password_changed", "new_login", "address_changed", "codes_off"),
            *("passkey_added", "passkey_removed"),
            *("sanction", "bar_lifted", "seller_approved", "erased"),
        )
    ),
)
"""The mails about accounts, whatever their receivers chose. A link stands in none that does not need it."""
