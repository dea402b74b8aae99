"""The settings of bidding."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, field_validator

from saleroom.accounts.domain.rights import Sellers
from saleroom.bidding.domain.categories import read_categories
from saleroom.platform_settings import Number, PlatformSettings, Texts


class BiddingSettings(PlatformSettings):
    """The settings of a house with auctions."""

    auctions_per_user_max: Number = Field(
        1000, ge=1, le=1_000_000, description="Auctions that one user may run at a time, and create in 24 hours."
    )
    sellers: Sellers = Field(
        Sellers.EVERYONE, description="Who may offer lots: everyone, approved (users that staff approved), or staff."
    )
    photo_bytes_max: Number = Field(
        20_000_000, ge=100_000, le=100_000_000, description="Largest file of a photo, in bytes."
    )
    categories: Texts = Field(
        (),
        description="Categories of lots, in the order shown, such as Clocks, or Clocks; de=Uhren with a translation.",
    )
    outage_reopens: bool = Field(True, description="Whether auctions that ended during an outage get time again.")
    signing_key_file: Path | None = Field(
        None,
        description="File (PEM, Ed25519) of the key that receipts are signed with; made if missing. None: the database.",
    )

    archive_folder: Path | None = Field(
        None, description="Folder of the events of old lots, which saleroom archive writes. None: none are archived."
    )

    @field_validator("categories")
    @classmethod
    def _known_form(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        read_categories(value)
        return value
