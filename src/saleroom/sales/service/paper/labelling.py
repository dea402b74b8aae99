"""The labels of lots: what each shows, whether that has changed since it was printed, and that it was printed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate
from saleroom.sales.domain.errors import UnknownLot
from saleroom.sales.domain.paper import label_digest
from saleroom.sales.domain.sale import Sale
from saleroom.sales.domain.selections import Spans, chosen
from saleroom.sales.service.access import get_one, lock_one
from saleroom.sales.storage import lots, prints
from saleroom.storage.database import Transaction


class LotLabel(Struct, frozen=True, kw_only=True):
    """The label of a lot: what it shows, the digest of that, and the last print, if there was one."""

    number: str
    name: str
    address: str
    digest: str
    printed_digest: str | None
    printed_at: datetime | None

    @property
    def is_changed(self) -> bool:
        """Whether it shows something else than when it was last printed."""
        return self.digest != self.printed_digest


def listed(
    tx: Transaction, token: str | None, gid: str, spans: Spans, origin: str, *, changed: bool = False
) -> list[LotLabel]:
    """Return the labels of a sale in the order of calling. Raises Unauthenticated, MissingRight or UnknownSale."""
    authenticate(tx, token, Right.READ).refuse_without(Right.CATALOGUE)
    return labels_of(tx, get_one(tx, gid, staff=True), spans, origin, changed=changed)


def labels_of(tx: Transaction, sale: Sale, spans: Spans, origin: str, *, changed: bool) -> list[LotLabel]:
    """Return the labels of the lots in `spans` that are not withdrawn; only those that have changed if `changed`.

    A fund-a-need is no object, so it has no label.
    """
    found = [one for one in lots.of_sale(tx, sale.id) if chosen(one.label, spans) and not one.is_withdrawn]
    found = [one for one in found if one.need is None]
    before = prints.of_lots(tx, [one.id for one in found])
    labels = []
    for one in tx.unhurried(lots.with_auctions(tx, found)):
        terms, last = one.auction or one.lot.terms, before.get(one.lot.id)
        assert terms is not None, "a lot has an auction or its terms"
        address = f"{origin}/lots/{one.lot.gid}"
        label = LotLabel(
            number=one.lot.label,
            name=terms.name,
            address=address,
            digest=label_digest(one.lot.label, terms.name, sale.terms.title, address),
            printed_digest=None if last is None else last.digest,
            printed_at=None if last is None else last.at,
        )
        if label.is_changed or not changed:
            labels.append(label)
    return labels


def note_printed(tx: Transaction, token: str, gid: str, digests: Mapping[str, str]) -> int:
    """Note that the labels of lots, by number, were printed as these digests say, and return how many.

    A label that has changed in between counts as changed afterwards, so it is printed again. Raises Unauthenticated,
    MissingRight, UnknownSale or UnknownLot.
    """
    authenticate(tx, token, Right.CATALOGUE)
    sale = lock_one(tx, gid)
    numbers = {one.label: one.id for one in lots.of_sale(tx, sale.id)}
    if not numbers.keys() >= digests.keys():
        raise UnknownLot
    prints.note(tx, {numbers[label]: digest for label, digest in digests.items()}, tx.now())
    return len(digests)
