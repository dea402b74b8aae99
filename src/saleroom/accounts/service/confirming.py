"""Confirmation: what may only be done by somebody who gives the password again, for the areas after this one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from saleroom.accounts.domain.accounts import Account
from saleroom.accounts.service import codes
from saleroom.accounts.service.accounts import Accounts
from saleroom.accounts.service.sealing import Sealing
from saleroom.kernel.errors import Refusal
from saleroom.storage.database import SharedPart, Transaction

R = TypeVar("R")


class Confirmations:
    """Runs use cases for users who have just given their password, and a code if they have one-time codes."""

    def __init__(self, accounts: Accounts, sealing: Sealing) -> None:
        self._accounts = accounts
        self._sealing = sealing

    async def run(
        self,
        token: str,
        password: str,
        code: str | None,
        address: str,
        use_case: Callable[..., R | Refusal],
        *args: Any,
    ) -> R:
        """Run `use_case(tx, account, *args)` for the token's user. `address` is that of the request.

        Raises CodeRequired, WrongCode, and as `Accounts.with_password` does.
        """
        return await self._accounts.with_password(
            token, password, address, _with_code, self._sealing, code, use_case, args
        )


CONFIRMATIONS: SharedPart[Confirmations] = SharedPart()


def _with_code(
    tx: Transaction,
    account: Account,
    sealing: Sealing,
    code: str | None,
    use_case: Callable[..., R | Refusal],
    args: tuple[Any, ...],
) -> R | Refusal:
    refused = codes.refusal_of(tx, sealing, account.id, code)
    if refused is not None:
        return refused
    return use_case(tx, account, *args)
