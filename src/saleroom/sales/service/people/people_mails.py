"""Mails about people of sales: that staff have approved or declined somebody."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saleroom.accounts.service.account_mails import tell
from saleroom.kernel.identifiers import GID
from saleroom.outbox.kinds import MailKind, Sign
from saleroom.outbox.message import Word, number_of
from saleroom.sales.domain.participants import Participant, Standing
from saleroom.sales.domain.sale import Sale
from saleroom.sales.storage import participants, sales
from saleroom.storage.database import Transaction

DECISION = "registration_decided"


def tell_of_decision(tx: Transaction, sale: Sale, was: Participant | None, one: Participant) -> None:
    """Post word to somebody who can bid in a sale from now on, or was declined. Nobody hears of a sale that is a draft."""
    known = None if was is None else _decision(was)
    if sale.is_public and _decision(one) not in (None, known):
        tell(tx, one.user.id, DECISION, {"user": one.user.id, "sale": sale.gid})


def _decision(one: Participant) -> str | None:
    """Return what staff have decided, as the mail says it; None while they have not."""
    if one.may_bid:
        return Standing.APPROVED.value
    return Standing.DECLINED.value if one.is_declined else None


def _context(tx: Transaction, word: Word, sign: Sign) -> Mapping[str, Any] | None:
    """Return what the mail says, as things stand now: staff may have decided otherwise since."""
    gid, user_id = str(word.facts.get("sale")), number_of(word.facts, "user")
    sale = sales.get(tx, gid) if GID.fullmatch(gid) is not None else None
    one = None if sale is None or sale.over or user_id is None else participants.find(tx, sale.id, user_id)
    if sale is None or one is None or (decision := _decision(one)) is None:
        return None
    path = f"/mine/sales/{sale.gid}"
    said = {"decision": decision, "reason": one.reason, "paddle": one.paddle, "path": path}
    return {"title": sale.terms.title, "username": one.user.name, **said}


MAILS = (
    MailKind(
        name=DECISION,
        folder=Path(__file__).parents[2] / "web",
        template="mail/registration_decided.html",
        context=_context,
    ),
)
"""The mails of sales, whatever their receivers chose."""
