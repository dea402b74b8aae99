"""The settings of bidding."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationInfo, field_validator

from saleroom.accounts.domain.rights import Sellers
from saleroom.bidding.domain.categories import read_categories
from saleroom.platform_settings import Number, PlatformSettings, Texts
from saleroom.storage.objects import StorePlace


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

    photo_store_endpoint: str | None = Field(
        None, description="Address of the S3 store, such as https://s3.example. Without it: AWS in photo_store_region."
    )
    photo_store_plain_http: bool = Field(
        False, description="Whether photo_store_endpoint may be http:// on another machine, unencrypted."
    )
    photo_store_region: str = Field("us-east-1", description="Region of the S3 store.")
    photo_store_access_key_id: str | None = Field(None, min_length=1, description="Name of the key of the S3 store.")
    photo_store_secret_access_key: SecretStr | None = Field(None, min_length=1, description="Secret of that key.")
    photo_store_addressing: Literal["path", "host"] = Field(
        "path", description="Where addresses name the bucket: after the host (path), or in its name (host)."
    )
    photo_store: str | None = Field(
        None, description="Bucket that new photos go to, such as s3://bucket/folder. Without it: the database."
    )

    @property
    def photo_place(self) -> StorePlace | None:
        """The place of photos in a store, if `photo_store` names one."""
        if self.photo_store is None:
            return None
        key, secret = self.photo_store_access_key_id, self.photo_store_secret_access_key
        assert key is not None and secret is not None, "checked with the store"
        bucket = urlsplit(self.photo_store)
        return StorePlace(
            bucket=bucket.netloc,
            prefix=bucket.path.strip("/"),
            endpoint=self.photo_store_endpoint,
            region=self.photo_store_region,
            access_key_id=key,
            secret_access_key=secret.get_secret_value(),
            bucket_in_host=self.photo_store_addressing == "host",
        )

    @field_validator("photo_store_endpoint")
    @classmethod
    def _bare_endpoint(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
            raise ValueError("write https://host or https://host:port, without a key")
        if parts.path.strip("/") or parts.query or parts.fragment:
            raise ValueError("leave out what follows the host; photo_store names the bucket")
        return value.rstrip("/")

    @field_validator("photo_store_plain_http")
    @classmethod
    def _encrypted(cls, value: bool, info: ValidationInfo) -> bool:
        """Check the endpoint with what is allowed, which is why it stands above it."""
        parts = urlsplit(info.data.get("photo_store_endpoint") or "")
        if parts.scheme == "http" and not value and not _is_here(parts.hostname or ""):
            raise ValueError("photo_store_endpoint is http:// on another machine: use https://, or set this to true")
        return value

    @field_validator("photo_store_region")
    @classmethod
    def _one_name(cls, value: str) -> str:
        if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,62}", value):
            raise ValueError("write the name of a region, such as eu-central-1")
        return value

    @field_validator("photo_store")
    @classmethod
    def _bucket_with_a_key(cls, value: str | None, info: ValidationInfo) -> str | None:
        """Check the bucket with its key, which is why that stands above it."""
        if value is None:
            return None
        if not re.fullmatch(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9_-][A-Za-z0-9._-]*)*/?", value):
            raise ValueError("write s3://bucket or s3://bucket/folder")
        missing = [
            name
            for name in ("photo_store_access_key_id", "photo_store_secret_access_key")
            if name in info.data and info.data[name] is None
        ]
        if missing:
            raise ValueError(f"it needs {' and '.join(missing)} too")
        return value

    @field_validator("categories")
    @classmethod
    def _known_form(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        read_categories(value)
        return value


def _is_here(host: str) -> bool:
    """Return whether a host is this machine by its name or address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
