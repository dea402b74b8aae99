"""The settings of accounts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, ValidationInfo, field_validator

from saleroom.platform_settings import Number, PlatformSettings


class AccountSettings(PlatformSettings):
    """The settings of a house with accounts."""

    registration: Literal["open", "closed"] = Field(
        "open", description="open lets everybody register; closed leaves it to `saleroom users add`."
    )
    registrations_per_hour: Number = Field(300, ge=1, description="Registrations that one address may make in an hour.")
    failed_logins_per_hour: Number = Field(
        600, ge=10, description="Failed logins that one address may have in an hour, whatever the names."
    )
    session_idle_minutes: Number = Field(
        0,
        ge=0,
        le=43200,
        description="Minutes after which a login that nobody uses ends; 0: it ends after 30 days alone.",
    )
    account_mails_per_hour: Number = Field(
        100, ge=1, description="Mails about accounts that requests from one address may cause in an hour."
    )
    new_login_mails: bool = Field(
        True, description="Tell users by mail of a login from a device that was not logged in before."
    )
    breached_passwords: Path | None = Field(
        None,
        description="List of breached passwords, which nobody may choose: a sorted file of SHA-1 hashes, or its ranges.",
    )
    staff_one_time_codes: bool = Field(
        False,
        description="Whether staff has the rights of its roles only with one-time codes, or after a login by a passkey.",
    )
    mail_required: bool = Field(
        False, description="Whether people bid, buy and offer lots only after they have verified a mail address."
    )
    load_key: SecretStr | None = Field(
        None, description="Key with which `saleroom load` gets test users; 16 characters or more. Without it: none."
    )

    @field_validator("mail_required")
    @classmethod
    def _can_be_met(cls, value: bool, info: ValidationInfo) -> bool:
        if value and "smtp_url" in info.data and info.data["smtp_url"] is None:
            raise ValueError("it needs smtp_url too: nobody can verify an address in a house that sends no mails")
        return value

    @field_validator("load_key")
    @classmethod
    def _hard_to_guess(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not re.fullmatch(r"[!-~]{16,256}", value.get_secret_value()):
            raise ValueError("write 16 to 256 characters without spaces, all of them ASCII")
        return value
