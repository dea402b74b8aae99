"""Unsubscribing by the link of a mail: without a login, by what only the house can compute."""

from __future__ import annotations

import hmac
import re

from saleroom.accounts.storage import accounts, erasures
from saleroom.notices.domain.choices import ALL, CHANNELS
from saleroom.notices.storage import choices
from saleroom.outbox.kinds import Sign
from saleroom.storage.database import Transaction

_TOKEN = re.compile(r"([1-9][0-9]{0,17})\.([a-z]{1,16})\.([A-Za-z0-9_-]{22})")


def stop_token(sign: Sign, user_id: int, channel: str) -> str:
    """Return the token of the link by which a user stops all words by a channel. It is good for as long as the mail is kept."""
    return f"{user_id}.{channel}.{sign(f'stop {user_id} {channel}')}"


def read_token(sign: Sign, token: str) -> tuple[int, str] | None:
    """Return the user and the channel of a token; None if the house has made no such token."""
    found = _TOKEN.fullmatch(token)
    if found is None or found[2] not in CHANNELS:
        return None
    user_id, channel = int(found[1]), found[2]
    return (user_id, channel) if hmac.compare_digest(found[3], sign(f"stop {user_id} {channel}")) else None


def stop(tx: Transaction, user_id: int, channel: str) -> None:
    """Send a user nothing more about lots by a channel; what they chose of words about money stays.

    A repeat changes nothing; somebody who was erased gets nothing anyway.
    """
    if erasures.is_erased(tx, user_id):
        return
    accounts.lock_user(tx, user_id)
    kept = choices.of_user(tx, user_id).about_money(channel)
    choices.choose(tx, user_id, channel, {ALL: False, **kept})
