"""What each request about a sale should have come to: by whom it may be asked, and what the rules say of it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from saleroom.kernel.errors import Refusal
from saleroom.sales.domain.book import BookLine
from tests.bidding.domain.playing import units
from tests.simulation import book_model, need_model, people_model, result_model
from tests.simulation.block_model import OF_A_LOT, act, agrees
from tests.simulation.plan_entries import CLERKS, STAFF
from tests.simulation.sale_model import SaleModel

if TYPE_CHECKING:
    from tests.simulation.model import Model

ONCE = ("act", "withdraw", "give", "enter", "take_back")
"""The requests with an Idempotency-Key, which comes last."""
OF_SALES = (*ONCE, "set_order", "register", "admit", "change", "check_in", "merge")


class ModelMismatch(Exception):
    """The house decided otherwise than the model."""


def allowed(use_case: str, said: list[Any]) -> set[int]:
    """Return who of the staff may do something in a sale."""
    above = use_case in ("withdraw", "set_order") or (use_case == "act" and said[0].act in OF_A_LOT)
    return {STAFF} if above else {STAFF, *CLERKS}


def decided_in(model: Model, use_case: str, person: int, said: list[Any], answer: Any, now: datetime) -> str | None:
    """Let somebody do something in the sale, and return the code of a refusal. Raises ModelMismatch for a wrong answer."""
    sale = model.sale
    assert sale is not None, "there is a sale"
    match use_case:
        case "act":
            code = act(sale, said[0], now)
            if code is None and isinstance(answer, bytes) and (differs := agrees(sale, answer)):
                raise ModelMismatch(f"the block (the model's, the house's): {differs}")
            return code
        case "give":
            return _give(sale, person, said, answer)
        case "enter" if isinstance(said[0], BookLine):
            return book_model.enter(sale, person, said[0], now)
        case "enter" | "take_back":
            return _result(model, sale, use_case, person, said[0], answer, now)
        case "withdraw":
            return sale.withdraw(said[0], said[1], now)
        case "set_order":
            return sale.set_order(said[0], said[1], now)
        case "change":
            return people_model.change(sale, said[0], said[1])
        case "check_in":
            return people_model.check_in(sale, said[0], said[1])
        case "merge":
            return people_model.merge(sale, said[0], said[1])
    gid = "" if isinstance(answer, Refusal) else answer.participant.gid
    if use_case == "register":
        return people_model.register(sale, person, gid)
    return people_model.admit(sale, model.people[answer.participant.user.id], gid, said[0])


def _give(sale: SaleModel, person: int, said: list[Any], answer: Any) -> str | None:
    """Somebody online gives at the present level."""
    amount, again = said
    if not sale.live or sale.over or sale.status == "paused":
        return "not_live" if not sale.live else "sale_over" if sale.over else "sale_paused"
    if sale.last is None or sale.last not in sale.needs:
        return "no_lot_on_block" if sale.last is None else sale.refuses(person) or "of_needs"
    code = need_model.pledge(sale, sale.last, person, units(amount), again=again)
    if code is None and isinstance(answer, bytes):
        mine, told = len(sale.needs[sale.last].pledges), msgspec.json.decode(answer)["pledge"]
        if mine != told:
            raise ModelMismatch(f"pledge {told} should be number {mine}")
    return code


def _result(
    model: Model, sale: SaleModel, use_case: str, person: int, line: Any, answer: Any, now: datetime
) -> str | None:
    """Staff enter a result, or take one back."""
    shown = msgspec.json.decode(answer) if isinstance(answer, bytes) else None
    if use_case == "take_back":
        code = result_model.take_back(sale, person, line, now)
    else:
        made = "made" if shown is None or line.name is None else model.gid_of(shown["lots"][0]["label"])
        code = result_model.enter(sale, person, line, made, now)
    if code is None and shown is not None:
        mine = len(sale.waiting()), [result_model.state(sale, one["label"]) for one in shown["lots"]]
        told = shown["lotsLeft"], [one["state"] for one in shown["lots"]]
        if mine != told:
            raise ModelMismatch(f"the lots of the result (the model's, the house's): {mine}, {told}")
    return code
