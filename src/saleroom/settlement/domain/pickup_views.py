"""The JSON of pick-up."""

from __future__ import annotations

from msgspec import Struct


class PickupView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A sold lot at the door. `is_paid`: it can be handed out. The last members are null until it was."""

    label: str
    lot_name: str
    paddle: int | None
    username: str
    person_name: str
    due: str
    is_paid: bool
    handed_out_at: str | None
    handed_out_by: str | None
    handed_out_to: str | None
    unpaid_reason: str | None


class PickupsView(Struct, frozen=True, kw_only=True, rename="camel"):
    """The sold lots of a sale, in the order of calling. `to_hand_out` is how many are still in the house."""

    sale: str
    to_hand_out: int
    pickups: list[PickupView]
