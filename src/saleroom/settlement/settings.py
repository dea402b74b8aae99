"""The settings of settlement: what the papers of the house say of it."""

from __future__ import annotations

import re
from typing import Literal, Self
from zoneinfo import ZoneInfo

from pydantic import Field, SecretStr, ValidationInfo, field_validator, model_validator

from saleroom.kernel.errors import Fault
from saleroom.platform_settings import Number, Numbers, PlatformSettings
from saleroom.settlement.domain.bank.payouts import PayingHouse
from saleroom.settlement.domain.documents.content import Bank, Party
from saleroom.settlement.domain.documents.parties import TEXT_MAX, parse_country, parse_vat_id
from saleroom.settlement.domain.documents.retention import YEARS, YEARS_MAX
from saleroom.settlement.domain.online.card_payments import NOT_TAKEN
from saleroom.settlement.domain.reminders.reminding import DUE_DAYS_MAX, Automatic, Calendar, days_fault


class SettlementSettings(PlatformSettings):
    """The settings of a house that sends invoices."""

    house_street: str | None = Field(
        None, max_length=TEXT_MAX, description="Street and number of the house, for its invoices."
    )
    house_postcode: str | None = Field(None, max_length=TEXT_MAX, description="Postcode of the house.")
    house_city: str | None = Field(None, max_length=TEXT_MAX, description="City of the house.")
    house_country: str | None = Field(
        None, description="Country of the house, such as DE; electronic invoices need it."
    )
    house_vat_id: str | None = Field(None, description="VAT number of the house, such as DE136695976.")
    house_tax_number: str | None = Field(
        None, max_length=TEXT_MAX, description="Tax number of the house, if it has no VAT number."
    )
    house_iban: str | None = Field(None, description="Account (IBAN) that invoices are paid to and payouts come from.")
    house_account_holder: str | None = Field(
        None, max_length=TEXT_MAX, description="Holder of that account as the bank has it; otherwise house_name."
    )
    house_bic: str | None = Field(None, description="BIC of the bank of that account, if transfers need it.")
    documents_years: int = Field(
        YEARS, ge=1, le=YEARS_MAX, description="Whole years after its own in which a document keeps name and address."
    )

    invoice_due_days: Number = Field(
        14, ge=0, le=DUE_DAYS_MAX, description="In how many days an invoice is due for which nobody names a day."
    )
    reminder_days: Numbers = Field(
        (3, 14), description="How many days after that each reminder of an unpaid invoice is due, such as 3,14."
    )
    strike_days: Number = Field(
        28, ge=0, le=DUE_DAYS_MAX, description="How many days after that an unpaid invoice is a strike; 0 for never."
    )
    strikes_max: Number = Field(
        3, ge=0, le=100, description="How many strikes ban their user until all is paid; 0 for never."
    )
    automatic_reminders: Literal["off", "reminders", "strikes"] = Field(
        "off", description="What of this the house does by itself: nothing (off), reminders, or strikes too."
    )

    stripe_key: SecretStr | None = Field(
        None,
        description="Secret key of Stripe (sk_… or rk_…), to take payments of invoices by card online. Without it: none.",
    )
    stripe_webhook_secret: SecretStr | None = Field(
        None, description="Signing secret (whsec_…) of the endpoint to which Stripe sends what has happened."
    )
    stripe_url: str = Field("https://api.stripe.com", description="Address of Stripe's API; another one for tests.")
    stripe_checkout_url: str = Field(
        "https://checkout.stripe.com",
        description="Origin of Stripe's pages to pay on; another one for a domain of your own there.",
    )

    @field_validator("stripe_key")
    @classmethod
    def _usable_key(cls, value: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        """Check the key with the address of the house and the currency, which are settings of the platform."""
        if value is None:
            return None
        found = re.fullmatch(r"(?:sk|rk)_(test|live)_[A-Za-z0-9_]{8,240}", value.get_secret_value())
        if found is None:
            raise ValueError("write the secret key, which begins with sk_live_, sk_test_, rk_live_ or rk_test_")
        url = info.data.get("public_url", "")
        if url is None:
            raise ValueError("it needs public_url too: the address to which people come back after they paid")
        if found[1] == "live" and not url.startswith("https://"):
            raise ValueError("a live key needs a public_url with https; write a test key to try it out")
        if info.data.get("currency") in NOT_TAKEN:
            raise ValueError("the house takes no cards online in this currency (docs/settlement.md)")
        return value

    @field_validator("stripe_webhook_secret")
    @classmethod
    def _with_key(cls, value: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        """Check the secret with the key, which is why that stands above it."""
        if "stripe_key" not in info.data:
            return value
        if value is None and info.data["stripe_key"] is not None:
            raise ValueError("stripe_key needs it too: otherwise anybody could say that something was paid")
        if value is not None and info.data["stripe_key"] is None:
            raise ValueError("it needs stripe_key too")
        if value is not None and not re.fullmatch(r"whsec_[A-Za-z0-9+/=_-]{8,240}", value.get_secret_value()):
            raise ValueError("write the signing secret of the endpoint, which begins with whsec_")
        return value

    @field_validator("stripe_url", "stripe_checkout_url")
    @classmethod
    def _origin(cls, value: str) -> str:
        if not re.fullmatch(
            r"https://[^/?#@*\s]+|http://(?:127\.0\.0\.1|localhost|\[::1\])(?::[0-9]+)?", value.rstrip("/")
        ):
            raise ValueError("write https://host; http is for this machine alone")
        return value.rstrip("/")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        calendar = calendar_of(self)
        fault = days_fault(calendar.reminder_days, calendar.strike_day)
        if fault is not None:
            raise ValueError(f"reminder_days and strike_days: {fault}")
        return self

    @field_validator("house_country")
    @classmethod
    def _known_country(cls, value: str | None) -> str | None:
        return None if value is None else _said(parse_country(value))

    @field_validator("house_vat_id")
    @classmethod
    def _known_vat_id(cls, value: str | None) -> str | None:
        return None if value is None else _said(parse_vat_id(value))

    @field_validator("house_iban")
    @classmethod
    def _known_iban(cls, value: str | None) -> str | None:
        if value is None:
            return None
        from stdnum import iban  # it loads slowly, and a house without an account starts without it

        found = _compact(value)
        if not iban.is_valid(found):
            raise ValueError("write an IBAN, such as DE75512108001245126199; the check digits of this one are wrong")
        return found

    @field_validator("house_bic")
    @classmethod
    def _known_bic(cls, value: str | None) -> str | None:
        if value is None:
            return None
        from stdnum import bic  # as above

        found = _compact(value)
        if not bic.is_valid(found):
            raise ValueError("write a BIC of 8 or 11 characters, such as SOLADEST600")
        return found


def _said(found: str | Fault) -> str:
    if isinstance(found, Fault):
        raise ValueError(found.message)
    return found


def _compact(value: str) -> str:
    """Return a number of a bank without spaces, in capitals."""
    return "".join(value.split()).upper()


def house_of(settings: SettlementSettings) -> Party:
    """Return the house as its documents name it."""
    return Party(
        name=settings.house_name,
        street=settings.house_street or "",
        postcode=settings.house_postcode or "",
        city=settings.house_city or "",
        country=settings.house_country or "",
        vat_id=settings.house_vat_id or "",
        tax_number=settings.house_tax_number or "",
    )


def calendar_of(settings: SettlementSettings) -> Calendar:
    """Return what the house does about invoices that are not paid."""
    return Calendar(
        due_days=settings.invoice_due_days,
        reminder_days=settings.reminder_days,
        strike_day=settings.strike_days or None,
        strikes_max=settings.strikes_max,
        automatic=Automatic(settings.automatic_reminders),
        zone=ZoneInfo(settings.time_zone),
    )


def bank_of(settings: SettlementSettings) -> Bank | None:
    """Return the account that invoices are paid to."""
    return None if settings.house_iban is None else Bank(iban=settings.house_iban, bic=settings.house_bic or "")


def payer_of(settings: SettlementSettings) -> PayingHouse:
    """Return who pays out to consignors."""
    return PayingHouse(
        name=settings.house_name,
        holder=settings.house_account_holder or settings.house_name,
        bank=bank_of(settings),
        currency=settings.currency,
    )
