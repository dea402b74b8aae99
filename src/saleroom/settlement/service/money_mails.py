"""Words about money: each is posted by the transaction that causes it, and says how things stand when it is sent."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from saleroom.kernel.errors import Fault
from saleroom.kernel.identifiers import GID
from saleroom.kernel.money import ZERO, parse_money
from saleroom.outbox import store
from saleroom.outbox.kinds import MailKind, Sign
from saleroom.outbox.message import CHANNELS, MAIL, Message, Word
from saleroom.sales.domain.sale import Sale
from saleroom.sales.storage import sales
from saleroom.settlement.domain.documents.content import DocumentKind
from saleroom.settlement.service import buyer_credits
from saleroom.settlement.service.document_money import row_of
from saleroom.settlement.storage import documents
from saleroom.settlement.storage.documents import StoredDocument
from saleroom.settlement.storage.payouts import Payout
from saleroom.storage.database import Transaction

MINE = "/mine/documents"
"""The page of a person's own documents, to which these mails lead."""
ACCOUNTS = "/mine/payouts"
"""The page of a person's own bank accounts."""
ACCOUNT_CHANGED = "payout_account"
_ISSUED: Mapping[DocumentKind, str] = {
    DocumentKind.INVOICE: "invoice",
    DocumentKind.STATEMENT: "statement",
    DocumentKind.CREDIT_NOTE: "credit_note",
}


def tell_of_document(tx: Transaction, one: StoredDocument) -> None:
    """Post the word that a document was issued: that there is an invoice, or by a receipt that money has moved."""
    if one.owner.user_id is None:
        return
    said = _ISSUED.get(one.document.kind) or ("paid" if one.document.paid > ZERO else "paid_out")
    post(tx, said, one.gid, one.owner.user_id, {"document": one.gid})


def tell_of_payment(tx: Transaction, sale: Sale, user_id: int, entry_id: int, amount: str) -> None:
    """Post the word that a payment without a receipt was taken, by the number of its entry in the journal."""
    post(tx, "paid", f"entry {entry_id}", user_id, {"sale": sale.gid, "amount": amount})


def tell_of_payout(tx: Transaction, one: Payout) -> None:
    """Post the word that a transfer to a consignor is on its way, once, by the number of the entry that posted it."""
    if one.user_id is not None:
        facts = {"sale": one.sale, "amount": str(one.amount)}
        post(tx, "paid_out", f"entry {one.entry_id}", one.user_id, facts)


def tell_of_failed_payout(tx: Transaction, one: Payout) -> None:
    """Post the word that a transfer which was told did not arrive, or came back; not why, as somebody has written that."""
    if one.user_id is not None:
        facts = {"sale": one.sale, "amount": str(one.amount)}
        post(tx, "payout_failed", f"entry {one.entry_id}", one.user_id, facts)


def tell_of_account(tx: Transaction, user_id: int, consignor: str) -> None:
    """Post the word that the bank account of a consignor was changed: somebody else may have done it. It has no number."""
    post(tx, ACCOUNT_CHANGED, tx.now().isoformat(), user_id, {"consignor": consignor}, channels=(MAIL,))


def post(
    tx: Transaction,
    kind: str,
    cause: str,
    user_id: int,
    facts: Mapping[str, Any],
    channels: Collection[str] = CHANNELS,
) -> None:
    """Post a word about money to a user, once for each cause, by those channels by which the house sends words."""
    key = f"{kind}:{cause}:{user_id}"
    store.post_all(
        tx,
        [
            Message(kind=kind, key=key, receiver=user_id, facts=facts, channel=channel)
            for channel in channels
            if tx.is_on(store.SENT_BY[channel])
        ],
    )


def document_of(tx: Transaction, word: Word) -> StoredDocument | None:
    """Return the document that a word is about, if it is still its receiver's."""
    gid = str(word.facts.get("document"))
    found = documents.find(tx, gid) if GID.fullmatch(gid) is not None else None
    return found if found is not None and found.owner.user_id == word.receiver else None


def said_of(tx: Transaction, one: StoredDocument) -> dict[str, Any]:
    """Return what is said of a document."""
    row, due_on = row_of(tx, one), one.document.due_on
    due = None if due_on is None else due_on.isoformat()
    credited = None if one.document.credits is None else one.document.credits.number
    return {
        "number": row.document_number,
        "sale": row.sale_title,
        "total": row.total,
        "open": row.still_open,
        "due_on": due,
        "credits": credited,
        "path": f"{MINE}/{one.gid}",
        "data": {
            "document": one.gid,
            "documentNumber": row.document_number,
            "sale": sales.by_id(tx, one.owner.sale_id).gid,
            "saleTitle": row.sale_title,
            "total": row.total,
            "stillOpen": row.still_open,
            "dueOn": due,
            "creditsNumber": credited,
        },
    }


def _document(tx: Transaction, word: Word, sign: Sign) -> Mapping[str, Any] | None:
    found = document_of(tx, word)
    return None if found is None else said_of(tx, found)


def _credit_note(tx: Transaction, word: Word, sign: Sign) -> Mapping[str, Any] | None:
    """Return what is said of a credit note, with what the house owes its buyer since."""
    found = document_of(tx, word)
    if found is None:
        return None
    of_consignor = found.owner.consignor_id is not None
    return {**said_of(tx, found), "credit": None if of_consignor else _credit(tx, word, found.owner.sale_id)}


def _paid(tx: Transaction, word: Word, sign: Sign) -> Mapping[str, Any] | None:
    """Return what is said of a payment of a buyer, with what the house owes them since."""
    said = _payment(tx, word, sign)
    return None if said is None else {**said, "credit": _credit(tx, word, said["sale_id"])}


def _credit(tx: Transaction, word: Word, sale_id: int) -> str | None:
    found = [] if word.receiver is None else buyer_credits.of_buyer(tx, word.receiver, [sale_id])
    return found[0].owed if found else None


def _payment(tx: Transaction, word: Word, sign: Sign) -> Mapping[str, Any] | None:
    """Return what is said of money that moved: from its receipt, or from the facts of one without."""
    found = document_of(tx, word)
    if found is not None:
        sale = sales.by_id(tx, found.owner.sale_id)
        return _moved(sale, found.document.sale, f"{abs(found.document.paid):.3f}", found.gid)
    gid, amount = str(word.facts.get("sale")), parse_money(str(word.facts.get("amount")))
    known = sales.get(tx, gid) if GID.fullmatch(gid) is not None else None
    if known is None or isinstance(amount, Fault):
        return None
    return _moved(known, known.terms.title, f"{amount:.3f}", None)


def _moved(sale: Sale, title: str, amount: str, receipt: str | None) -> dict[str, Any]:
    return {
        "amount": amount,
        "sale": title,
        "sale_id": sale.id,
        "path": MINE if receipt is None else f"{MINE}/{receipt}",
        "data": {"amount": amount, "sale": sale.gid, "saleTitle": title, "paymentReceipt": receipt},
    }


def _failed(tx: Transaction, word: Word, sign: Sign) -> Mapping[str, Any] | None:
    said = _payment(tx, word, sign)
    return None if said is None else {**said, "path": ACCOUNTS}


def _account(tx: Transaction, word: Word, sign: Sign) -> Mapping[str, Any] | None:
    return {"consignor": str(word.facts.get("consignor")), "path": ACCOUNTS}


def kind(name: str, context: Any) -> MailKind:
    """Return a kind of mail about money, by the name of its template."""
    folder = Path(__file__).parent.parent / "web"
    return MailKind(name=name, folder=folder, template=f"mail/{name}.html", context=context)


MAILS = (
    *(kind(name, _document) for name in ("invoice", "statement")),
    kind("credit_note", _credit_note),
    kind("paid", _paid),
    kind("paid_out", _payment),
    kind("payout_failed", _failed),
    kind(ACCOUNT_CHANGED, _account),
)
"""The mails about money. Their receivers choose among them by kind, with the words about lots; not about a changed account."""
