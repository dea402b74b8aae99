"""The tables of settlement for exports and imports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from sqlalchemy import Column, Table

from saleroom.kernel.errors import Fault
from saleroom.kernel.identifiers import GID
from saleroom.settlement.storage.rates import decode_card
from saleroom.settlement.storage.tables import rate_card_versions, rate_cards, rate_choices
from saleroom.storage.areas import AreaTables, RowRule, TextRule


def _gid_fault(value: str) -> Fault | None:
    return None if GID.fullmatch(value) else Fault("gid", "must be 1 to 64 characters of A-Z, a-z, 0-9, '_' and '-'")


def _terms_fault(row: Mapping[str, Any]) -> str | None:
    try:
        decode_card(row["terms"])
    except msgspec.MsgspecError:
        return "the terms of a version are not those of a rate card"
    return None


def _choice_fault(row: Mapping[str, Any]) -> str | None:
    named = [name for name in ("sale_id", "consignor_id", "lot_id") if row[name] is not None]
    return None if len(named) == 1 else "a rate card is chosen for one sale, one consignor or one lot"


_TEXT_RULES: dict[Column[Any], TextRule] = {
    rate_cards.c.gid: _gid_fault,
    rate_card_versions.c.terms: lambda value: None,  # JSON, which escapes control characters
}
_ROW_RULES: dict[Table, RowRule] = {rate_card_versions: _terms_fault, rate_choices: _choice_fault}

TABLES = AreaTables(
    tables=(rate_cards, rate_card_versions, rate_choices),
    stays=(rate_card_versions.c.by_id, rate_choices.c.by_id),
    text_rules=_TEXT_RULES,
    row_rules=_ROW_RULES,
)
