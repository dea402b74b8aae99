"""The settings of notices."""

from __future__ import annotations

from typing import Literal
from zoneinfo import available_timezones

from pydantic import Field, field_validator

from saleroom.platform_settings import Number, PlatformSettings


class NoticeSettings(PlatformSettings):
    """The settings of a house that sends word to people."""

    time_zone: str = Field("UTC", description="Time zone of the house, such as Europe/Berlin, for times in mails.")
    notices_gather_seconds: Number = Field(
        60, ge=0, le=3600, description="How long word that somebody was outbid waits for more, to be one mail."
    )

    web_push: Literal["off", "public", "anywhere"] = Field(
        "public",
        description="Which push services get messages to browsers: those at public addresses, any (anywhere), or none (off).",
    )

    @field_validator("time_zone")
    @classmethod
    def _known_zone(cls, value: str) -> str:
        if value not in available_timezones():
            raise ValueError("write the name of a time zone, such as Europe/Berlin")
        return value
