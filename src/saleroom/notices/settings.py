"""The settings of notices."""

from __future__ import annotations

import ssl
from typing import Literal

from pydantic import Field, field_validator

from saleroom.platform_settings import Number, PlatformSettings


class NoticeSettings(PlatformSettings):
    """The settings of a house that sends word to people."""

    notices_gather_seconds: Number = Field(
        60, ge=0, le=3600, description="How long word that somebody was outbid waits for more, to be one mail."
    )

    web_push: Literal["off", "public", "anywhere"] = Field(
        "public",
        description="Which push services get messages to browsers: those at public addresses, any (anywhere), or none (off).",
    )
    webhooks: Literal["off", "public", "anywhere"] = Field(
        "public",
        description="Where webhooks may lead: public https addresses, anywhere (private networks and http too), or off.",
    )
    webhooks_ca_file: str | None = Field(
        None, description="Authorities (PEM) to trust at the servers of webhooks, instead of the system's."
    )

    @field_validator("webhooks_ca_file")
    @classmethod
    def _usable_authorities(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                ssl.create_default_context(cafile=value)
            except OSError as error:
                reason = error.strerror or "it holds no certificate in PEM form"
                raise ValueError(f"the authority file {value!r} cannot be used: {reason}") from None
        return value
