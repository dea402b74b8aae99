"""The bank accounts of consignors, to which the house pays out: changed by staff, or by themselves with the password."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from starlette.responses import Response

from saleroom.accounts.api.accounts import PRIVATE, any_string
from saleroom.accounts.domain.errors import CodeRequired, WrongCode, WrongPassword
from saleroom.accounts.service.confirming import CONFIRMATIONS
from saleroom.http.endpoints import Access, Call, Endpoint
from saleroom.http.forms import Field, Form, checked, string
from saleroom.http.requests import client_address
from saleroom.http.responses import json_response
from saleroom.kernel.errors import Busy, Fault, Invalid, TooManyRequests
from saleroom.sales.api.fields import CONSIGNOR, words_field
from saleroom.sales.domain.errors import UnknownConsignor
from saleroom.settlement.domain.bank.payout_views import PayoutAccountsView, PayoutAccountView
from saleroom.settlement.domain.bank.transfers import (
    HOLDER_MAX,
    IBAN_MAX,
    NO_IBAN,
    BankAccount,
    holder_fault,
    read_account,
)
from saleroom.settlement.service.bank import payout_accounts
from saleroom.settlement.services import SettlementServices


def _holder(raw: bytes) -> Any:
    found = _HOLDER.parse(raw)
    return holder_fault(found) or found if isinstance(found, str) else found


_HOLDER = words_field("accountHolder", "holder", HOLDER_MAX, "The name of the account, as its bank has it.", least=1)
ACCOUNT_FIELDS = (
    Field(name="accountHolder", to="holder", parse=_holder, schema=_HOLDER.schema, about=_HOLDER.about),
    Field(
        name="iban",
        to="iban",
        parse=checked(str, form=NO_IBAN),
        schema={"type": "string", "maxLength": IBAN_MAX},
        required=True,
        nullable=True,
        about="The IBAN; the BIC follows from it. null takes the account away.",
    ),
)


def _whole(values: dict[str, Any]) -> dict[str, list[Fault]]:
    """Return the faults of an account without its holder, or with an IBAN that is far too long."""
    if values.get("iban") is None:
        return {}
    faults = {} if "holder" in values else {"accountHolder": [Fault("required", "is required")]}
    if len(values["iban"]) > IBAN_MAX:
        faults["iban"] = [Fault("iban_length", "has not as many characters as an IBAN of its country")]
    return faults


_CODE = Field(
    name="code",
    to="code",
    parse=string,
    schema={"type": "string"},
    nullable=True,
    about="For an account with one-time codes: the code of the app, or a recovery code.",
)
_EXAMPLE = {"accountHolder": "Ada Lovelace", "iban": "DE75512108001245126199"}
ACCOUNT = Form(name="PayoutAccountChange", example=_EXAMPLE, fields=ACCOUNT_FIELDS, check=_whole)
OWN_ACCOUNT = Form(
    name="OwnPayoutAccountChange",
    example={**_EXAMPLE, "password": "correct horse"},
    fields=(*ACCOUNT_FIELDS, any_string("password", "password"), _CODE),
    check=_whole,
)


async def account_in(sent: dict[str, Any]) -> BankAccount | None:
    """Return the account in a form, None to take it away. Raises Invalid for an IBAN that is none."""
    if sent["iban"] is None:
        return None
    found = await asyncio.to_thread(read_account, sent["holder"], sent["iban"])
    if isinstance(found, Fault):
        raise Invalid({"iban": [found]})
    return found


async def show_account(call: Call[SettlementServices]) -> Response:
    """GET /consignors/{code}/payout-account."""
    read = call.services.database.read
    return json_response(await read(payout_accounts.shown, call.token, call.identifier), 200, PRIVATE)


async def change_account(call: Call[SettlementServices]) -> Response:
    """PUT /consignors/{code}/payout-account."""
    account, write = await account_in(call.values), call.services.tokens.write
    return json_response(await write(payout_accounts.change, call.token, call.identifier, account), 200, PRIVATE)


async def show_mine(call: Call[SettlementServices]) -> Response:
    """GET /me/payout-accounts."""
    return json_response(await call.services.database.read(payout_accounts.mine, call.token), 200, PRIVATE)


async def change_mine(call: Call[SettlementServices]) -> Response:
    """PUT /me/payout-accounts/{code}."""
    found = await changed(call.services, call.token, call.identifier, call.values, client_address(call.request))
    return json_response(found, 200, PRIVATE)


async def changed(
    services: SettlementServices, token: str, code: str, sent: dict[str, Any], address: str
) -> PayoutAccountsView:
    """Change the account of one of the consignors that a user is. Raises as `Confirmations.run` and `account_in` do."""
    confirmations = services.database.provided(CONFIRMATIONS)
    assert confirmations is not None, "accounts are opened before settlement"
    account = await account_in(sent)
    given = (sent["password"], sent.get("code"), address)
    return await confirmations.run(token, *given, payout_accounts.change_own, code, account)


_RIGHT = "Needs the right `settle`."
_GUARDED = (UnknownConsignor, WrongPassword, CodeRequired, WrongCode, TooManyRequests, Busy)
_one = partial(Endpoint[SettlementServices], tag="settlement", access=Access.TOKEN)
ENDPOINTS: tuple[Endpoint[SettlementServices], ...] = (
    _one(
        method="GET",
        path="/consignors/{code}/payout-account",
        name="payoutAccount",
        summary="Show the bank account of a consignor",
        handler=show_account,
        identifier=CONSIGNOR,
        answer=PayoutAccountView,
        errors=(UnknownConsignor,),
        about=_RIGHT,
    ),
    _one(
        method="PUT",
        path="/consignors/{code}/payout-account",
        name="changePayoutAccount",
        summary="Give a consignor a bank account, or take it away",
        handler=change_account,
        identifier=CONSIGNOR,
        form=ACCOUNT,
        answer=PayoutAccountView,
        errors=(UnknownConsignor,),
        about=f"{_RIGHT} A consignor with an account in the house hears of it. The audit log notes it, without the number.",
    ),
    _one(
        method="GET",
        path="/me/payout-accounts",
        name="myPayoutAccounts",
        summary="Show my bank accounts, to which the house pays out",
        handler=show_mine,
        answer=PayoutAccountsView,
        about="One for each consignor that the user is, with the number masked.",
    ),
    _one(
        method="PUT",
        path="/me/payout-accounts/{code}",
        name="changeMyPayoutAccount",
        summary="Change my bank account, or take it away",
        handler=change_mine,
        identifier=CONSIGNOR,
        form=OWN_ACCOUNT,
        answer=PayoutAccountsView,
        errors=_GUARDED,
        about="It needs the password, and a code if the account has one-time codes. A mail says that it was changed.",
    ),
)
