"""The tables of bidding for exports and imports."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from saleroom.bidding.domain.photos import is_webp
from saleroom.bidding.storage.auctions import is_block
from saleroom.bidding.storage.drafts import is_content
from saleroom.bidding.storage.forgetting import forget
from saleroom.bidding.storage.search_index import INDEX, drop_index, make_index
from saleroom.bidding.storage.tables import (
    archived,
    auctions,
    bidder_names,
    bids,
    calendar_links,
    draft_photos,
    drafts,
    events,
    photo_files,
    photos,
    questions,
    remarks,
    signing_keys,
    texts,
    watches,
)
from saleroom.kernel.errors import Fault
from saleroom.kernel.identifiers import GID
from saleroom.kernel.texts import control_fault
from saleroom.storage.areas import AreaTables
from saleroom.storage.database import Transaction


def _gid_fault(value: str) -> Fault | None:
    return None if GID.fullmatch(value) else Fault("gid", "must be 1 to 64 characters of A-Z, a-z, 0-9, '_' and '-'")


def _file_fault(row: Mapping[str, Any]) -> str | None:
    """Return the fault of a file. Browsers get its bytes, and its digest in a header."""
    if is_webp(row["bytes"]) and hashlib.sha256(row["bytes"]).hexdigest() == row["digest"]:
        return None
    return "the file of a photo is not WebP, or not what its digest says"


def _draft_fault(row: Mapping[str, Any]) -> str | None:
    return None if is_content(row["content"]) else "the content of a draft is not a form"


def _block_fault(value: str) -> Fault | None:
    return None if is_block(value) else Fault("block", "must be the state of a lot on the block as JSON")


def _rebuild(tx: Transaction, tell: Callable[[int], object]) -> None:
    drop_index(tx)
    make_index(tx, tell)


TABLES = AreaTables(
    tables=(
        auctions,
        texts,
        bids,
        bidder_names,
        events,
        archived,
        signing_keys,
        photos,
        photo_files,
        watches,
        calendar_links,
        drafts,
        draft_photos,
        remarks,
        questions,
    ),
    not_exported=(texts,),
    filled_at_start=(signing_keys,),
    large_rows=(photo_files,),
    ledgers=auctions,
    # A lot that is over keeps its photos, whose digests are in its ledger, and the questions that it has answered. The names
    # in sales go once they are out of the ledgers.
    stays=(
        auctions.c.author_id,
        auctions.c.current_bidder_id,
        bidder_names.c.user_id,
        photos.c.owner_id,
        questions.c.asker_id,
    ),
    forget=forget,
    text_rules={
        auctions.c.gid: _gid_fault,
        photos.c.gid: _gid_fault,
        auctions.c.block: _block_fault,
        drafts.c.gid: _gid_fault,
        # Any text of a form, which is checked when the lot is put on sale; JSON escapes control characters.
        drafts.c.content: lambda value: None,
        **dict.fromkeys(
            (
                bids.c.voided,
                auctions.c.taken_down,
                auctions.c.withheld,
                auctions.c.cancelled_for,
                remarks.c.text,
                questions.c.text,
                questions.c.answer,
                auctions.c.description,
            ),
            lambda value: control_fault(value, lines=True),
        ),
    },
    row_rules={photo_files: _file_fault, drafts: _draft_fault},
    rebuild=_rebuild,
    index_prefix=INDEX,
)
