"""The tables of sales for exports and imports."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from sqlalchemy import Column, Table

from saleroom.bidding.domain.events import Channel
from saleroom.kernel.errors import Contradiction, Fault
from saleroom.kernel.identifiers import GID
from saleroom.kernel.texts import control_fault
from saleroom.sales.domain.labels import label_order, parse_label
from saleroom.sales.domain.lots import TaxScheme
from saleroom.sales.domain.needs import Stage, refuse_contradictory_need
from saleroom.sales.domain.paper import DIGEST_PATTERN
from saleroom.sales.domain.participants import Standing
from saleroom.sales.domain.sale import Kind, Names, Registration, SaleStatus
from saleroom.sales.storage.forgetting import forget
from saleroom.sales.storage.lots import decode_need, decode_terms
from saleroom.sales.storage.tables import (
    after_sale,
    book_lines,
    consignors,
    lot_photos,
    lot_prints,
    lots,
    mergers,
    participants,
    pledges,
    sale_events,
    sales,
)
from saleroom.storage.areas import AreaTables, TextRule

_DIGEST = re.compile(DIGEST_PATTERN)


def _gid_fault(value: str) -> Fault | None:
    return None if GID.fullmatch(value) else Fault("gid", "must be 1 to 64 characters of A-Z, a-z, 0-9, '_' and '-'")


def _label_fault(value: str) -> Fault | None:
    found = parse_label(value)
    if isinstance(found, Fault):
        return found
    return None if found == value else Fault("label_format", f"must be written {found}")


def _one_of(*choices: str) -> TextRule:
    fault = Fault("choice", f"must be one of {', '.join(choices)}")
    return lambda value: None if value in choices else fault


def _lot_fault(row: Mapping[str, Any]) -> str | None:
    if row["label_order"] != label_order(row["label"]):
        return "the order of a lot's number is not that of the number"
    if (row["terms"] is None) == (row["auction_id"] is None):
        return "a lot has either an auction or the terms of one"
    try:
        if row["terms"] is not None:
            decode_terms(row["terms"])
    except msgspec.MsgspecError:
        return "the terms of a lot are not those of an auction"
    if (row["need"] is None) != (row["stage"] is None) or (row["need"] is not None and row["terms"] is None):
        return "a lot is an auction, or it has a need and the stage of that"
    try:
        if row["need"] is not None:
            refuse_contradictory_need(decode_need(row["need"]))
    except (msgspec.MsgspecError, Contradiction):
        return "the need of a lot is not that of a fund-a-need"
    return None


def _merger_fault(row: Mapping[str, Any]) -> str | None:
    return "a user is merged with somebody else" if row["source_id"] == row["target_id"] else None


def _several(*columns: Column[Any]) -> dict[Column[Any], TextRule]:
    return dict.fromkeys(columns, lambda value: control_fault(value, lines=True))


TEXT_RULES: dict[Column[Any], TextRule] = {
    **{table.c.gid: _gid_fault for table in (sales, lots, consignors, participants)},
    **_several(sales.c.description, sales.c.cancelled_for, lots.c.withdrawn_for, consignors.c.contact),
    **_several(participants.c.reason, participants.c.contact),
    participants.c.status: _one_of(*Standing),
    participants.c.channel: _one_of(*Channel),
    sales.c.block: _gid_fault,
    sales.c.kind: _one_of(*Kind),
    sales.c.status: _one_of(*SaleStatus),
    sales.c.names: _one_of(*Names),
    sales.c.registration: _one_of(*Registration),
    lots.c.label: _label_fault,
    lots.c.tax_scheme: _one_of(*TaxScheme),
    lot_prints.c.digest: lambda value: (
        None if _DIGEST.fullmatch(value) else Fault("digest", "must be 32 hexadecimal digits")
    ),
    lots.c.terms: lambda value: None,  # JSON, which escapes control characters
    lots.c.need: lambda value: None,
    lots.c.stage: _one_of(*Stage),
    pledges.c.channel: _one_of(*Channel),
}
_ROW_RULES: dict[Table, Any] = {lots: _lot_fault, mergers: _merger_fault}

TABLES = AreaTables(
    tables=(
        sales,
        consignors,
        lots,
        lot_photos,
        lot_prints,
        participants,
        mergers,
        pledges,
        book_lines,
        sale_events,
        after_sale,
    ),
    # A line of the book keeps its clerk, and
    # a sale its owner as its auctions keep their author; `forget` takes the account and the contact from a consignor.
    # The owner of the money of a merged registration stays, as the journal does.
    # A pledge stays as a bid does: what was raised stays true, and its user is a pseudonym then.
    stays=(
        sales.c.owner_id,
        consignors.c.user_id,
        book_lines.c.clerk_id,
        pledges.c.user_id,
        mergers.c.source_id,
        mergers.c.target_id,
        after_sale.c.by_id,
    ),
    forget=forget,
    text_rules=TEXT_RULES,
    row_rules=_ROW_RULES,
)
