"""Drafts: forms of lots as their sellers left them, and how many are kept for how long."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct

DRAFTS_MAX = 10
"""The most drafts of one user. The form that a draft comes from bounds its size (`http/multipart.py`)."""
DRAFT_LIFETIME = timedelta(days=30)
"""How long a draft is kept after it was last written."""


class DraftForm(Struct, frozen=True):
    """A form as it was left: the texts by field, the rows of the ladder, and the ids of the photos in their order."""

    texts: dict[str, str]
    tiers: list[tuple[str, str]]
    photos: list[str]

    @property
    def changes_a_lot(self) -> bool:
        """Whether it is a form of changes: it names the version of the lot."""
        return bool(self.texts.get("version"))


class SavedDraft(Struct, frozen=True):
    """A draft as its seller finds it. The `gid` is its own; a draft of changes to a lot has the gid of the lot."""

    gid: str
    form: DraftForm
    saved_at: datetime
