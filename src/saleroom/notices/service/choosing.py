"""Choosing: what a user gets by mail, in which language, and when nothing is sent."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.storage import accounts, mail_addresses
from saleroom.accounts.storage.mail_addresses import MailAddress
from saleroom.notices.domain.choices import Choices, QuietHours
from saleroom.notices.storage import choices
from saleroom.outbox.message import MAIL, PUSH
from saleroom.storage.database import Transaction


class Chosen(Struct, frozen=True):
    """A user's mail address, if there is one, and what they chose; `is_private` if the token may not read the address."""

    address: MailAddress | None
    choices: Choices
    is_private: bool = False


class ChoiceChange(Struct, frozen=True, kw_only=True):
    """A change of choices; what it does not name stays. `quiet` is a tuple of one, so that None can take the hours away."""

    mail: Mapping[str, bool] = {}
    push: Mapping[str, bool] = {}
    quiet: tuple[QuietHours | None] | None = None
    language: str | None = None


def chosen(tx: Transaction, token: str) -> Chosen:
    """Return what the holder of `token` chose. Raises Unauthenticated or MissingRight."""
    holder = authenticate(tx, token, Right.READ)
    found = mail_addresses.find(tx, holder.id)
    return Chosen(found, choices.of_user(tx, holder.id), is_private=Right.ACCOUNT not in holder.rights)


def choose(tx: Transaction, token: str, change: ChoiceChange) -> Chosen:
    """Change what the holder of `token` chose, and return it. Raises Unauthenticated or MissingRight."""
    user_id = authenticate(tx, token, Right.ACCOUNT).id
    accounts.lock_user(tx, user_id)
    if change.mail:
        choices.choose(tx, user_id, MAIL, change.mail)
    if change.push:
        choices.choose(tx, user_id, PUSH, change.push)
    if change.quiet is not None:
        choices.keep_quiet(tx, user_id, change.quiet[0])
    if change.language is not None:
        mail_addresses.speak(tx, user_id, change.language)
    return Chosen(mail_addresses.find(tx, user_id), choices.of_user(tx, user_id))
