"""The fields of the form for a lot by their labels, and where their faults are shown."""

from __future__ import annotations

from collections.abc import Iterable

from saleroom.site.language import N_, Language

LABELS = {
    "name": N_("Name of the lot"),
    "description": N_("Description"),
    "photos": N_("Photos"),
    "startingPrice": N_("Starting price"),
    "endsAt": N_("End of the sale"),
    "reservePrice": N_("Reserve price"),
    "buyNowPrice": N_("Buy now price"),
    "startsAt": N_("Start of the sale"),
    "increment": N_("Steps between bids"),
    "step": N_("The same step at every price"),
    "softClose": N_("Late bids"),
    "window": N_("A bid is late in the last"),
    "extension": N_("Time left after a late bid"),
    "cap": N_("The end never moves past"),
}
"""The fields of the form, in the order of the page."""
PROBLEM = N_("%(field)s: %(fault)s")


def ordered(faults: Iterable[str]) -> list[str]:
    """Return fields with faults in the order of the page."""
    order = list(LABELS)
    return sorted(faults, key=lambda field: (order.index(_labelled(field)), field))


def problem(language: Language, field: str, fault: str) -> str:
    """Return what is wrong with a field, with its label before it."""
    label = language.gettext(LABELS[_labelled(field)])
    return language.gettext(PROBLEM, field=label, fault=fault)


def _labelled(field: str) -> str:
    """Return the field whose label goes with a fault: the rows of a ladder are of one, the rest is of the whole form."""
    return "increment" if field.startswith("tier-") else field if field in LABELS else "name"


def anchor(field: str) -> str:
    """Return where on the page a fault of this field is mended."""
    return field if field.startswith("tier-") else _labelled(field)


def is_more(field: str) -> bool:
    """Whether a field is one of those that are folded away at first."""
    return list(LABELS).index(_labelled(field)) > list(LABELS).index("endsAt")
