"""The statements that a use case takes."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import event

from saleroom.storage.database import Transaction


def counted(tx: Transaction, use_case: Callable[..., Any], *args: Any) -> tuple[Any, list[str]]:
    """Return what a use case returns, and the statements that it took."""
    heard = list[str]()

    def hear(_: object, __: object, statement: str, *___: object) -> None:
        heard.append(statement)

    event.listen(tx.connection, "before_cursor_execute", hear)
    found = use_case(tx, *args)
    event.remove(tx.connection, "before_cursor_execute", hear)
    return found, heard
