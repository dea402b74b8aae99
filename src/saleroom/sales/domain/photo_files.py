"""Photos of a catalogue by the names of their files: `12A-2.jpg` is the second photo of lot 12A."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

from saleroom.bidding.domain.photos import PER_LOT_MAX
from saleroom.kernel.errors import Fault
from saleroom.sales.domain.labels import parse_label

_NAME = re.compile(
    r"([0-9]+ ?[A-Za-z]{0,2})(?:[-_ ]+([0-9]{1,3})| ?\(([0-9]{1,3})\))?\.(?:jpe?g|png|webp|gif|avif)", re.IGNORECASE
)
_OF_SYSTEMS = frozenset({"thumbs.db", "desktop.ini", "__macosx"})
"""Files and folders that Windows and macOS put into archives by themselves, beside those whose names begin with a point."""


class PhotoName(Struct, frozen=True, order=True):
    """The place of a photo: the label of its lot, and its number there, from 1."""

    label: str
    number: int


class PhotoEffect(StrEnum):
    """What a photo of an archive does."""

    NEW = "new"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"


class SentPhoto(Struct, frozen=True):
    """A photo of an archive, by the path of its file and the SHA-256 of its bytes."""

    name: PhotoName
    path: str
    digest: str


class PhotoPlan(Struct, frozen=True):
    """What an archive does with the photos of one lot, by their numbers."""

    label: str
    effects: Mapping[int, PhotoEffect]

    @property
    def changes(self) -> bool:
        """Whether it does anything."""
        return any(effect is not PhotoEffect.UNCHANGED for effect in self.effects.values())


def is_of_the_system(path: str) -> bool:
    """Whether a path in an archive is a folder, or was put there by Windows or macOS and not by a person."""
    parts = re.split(r"[/\\]", path)
    return not parts[-1] or any(part.startswith(".") or part.lower() in _OF_SYSTEMS for part in parts)


def photo_name(path: str) -> PhotoName | Fault:
    """Return the place that the name of a file says, or its fault. The folders before it do not matter."""
    found = _NAME.fullmatch(re.split(r"[/\\]", path)[-1])
    label = None if found is None else parse_label(found[1].replace(" ", ""))
    number = 0 if found is None else int(found[2] or found[3] or 1)
    if isinstance(label, str) and 1 <= number <= PER_LOT_MAX:
        return PhotoName(label, number)
    return Fault("photo_name", f"must be named by its lot and its number there up to {PER_LOT_MAX}, such as 12A-2.jpg")


def plan_photos(
    sent: Iterable[SentPhoto], present: Mapping[str, Sequence[str | None]], fixed: Mapping[str, Fault]
) -> tuple[list[PhotoPlan], dict[str, Fault]]:
    """Return what the photos do with those of the lots, and the faults by the path of the file.

    `present` are the digests of the photos of each lot, None if unknown, in their order; a label that is not there is no lot.
    `fixed` are the faults of a change to the photos of a lot.
    """
    by_label: dict[str, dict[int, SentPhoto]] = defaultdict(dict)
    faults: dict[str, Fault] = {}
    for one in sent:
        first = by_label[one.name.label].setdefault(one.name.number, one)
        if first is not one:
            faults[one.path] = Fault(
                "repeated_photo", f"must be given once; {first.path} is photo {one.name.number} too"
            )
    plans = []
    for label, photos in sorted(by_label.items()):
        if label not in present:
            unknown = Fault("unknown_lot", f"there is no lot {label}, neither in the sale nor in the file")
            faults |= {one.path: unknown for one in photos.values()}
            continue
        found = PhotoPlan(label, {number: _effect(one, present[label]) for number, one in sorted(photos.items())})
        plans.append(found)
        many = len(present[label])
        for number, one in sorted(photos.items()):
            if number > many + 1:
                message = f"lot {label} would have no photo {many + 1}; number its photos without a gap"
                faults[one.path] = Fault("photo_gap", message)
            many = max(many, number)
            if label in fixed and found.effects[number] is not PhotoEffect.UNCHANGED:
                faults[one.path] = fixed[label]
    return plans, faults


def _effect(one: SentPhoto, present: Sequence[str | None]) -> PhotoEffect:
    if one.name.number > len(present):
        return PhotoEffect.NEW
    return PhotoEffect.UNCHANGED if present[one.name.number - 1] == one.digest else PhotoEffect.REPLACED
