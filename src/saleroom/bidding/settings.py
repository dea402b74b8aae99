"""The settings of bidding."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from saleroom.platform_settings import Number, PlatformSettings


class BiddingSettings(PlatformSettings):
    """The settings of a house with auctions."""

    auctions_per_user_max: Number = Field(
        1000, ge=1, le=1_000_000, description="Auctions that one user may run at a time, and create in 24 hours."
    )
    photo_bytes_max: Number = Field(
        20_000_000, ge=100_000, le=100_000_000, description="Largest file of a photo, in bytes."
    )
    outage_reopens: bool = Field(True, description="Whether auctions that ended during an outage get time again.")
    signing_key_file: Path | None = Field(
        None,
        description="File (PEM, Ed25519) of the key that receipts are signed with; made if missing. None: the database.",
    )
