from hashlib import sha256

import pytest

from saleroom.kernel.errors import Fault
from saleroom.sales.domain.photo_files import (
    PhotoEffect,
    PhotoName,
    SentPhoto,
    is_of_the_system,
    photo_name,
    plan_photos,
)


def sent(path: str, content: str) -> SentPhoto:
    """Return a photo of an archive."""
    name = photo_name(path)
    assert isinstance(name, PhotoName)
    return SentPhoto(name, path, digest(content))


def digest(content: str) -> str:
    """Return the digest of a file."""
    return sha256(content.encode()).hexdigest()


@pytest.mark.parametrize(
    ("path", "label", "number"),
    [
        ("12A-2.jpg", "12A", 2),
        ("photos/day 1/12a_3.JPEG", "12A", 3),
        ("C:\\lots\\7.png", "7", 1),
        ("012 (2).webp", "12", 2),
        ("3-12.avif", "3", 12),
    ],
)
def test_the_name_of_a_file_says_lot_and_number(path: str, label: str, number: int) -> None:
    """A file is named by its label and number, in any folder."""
    assert PhotoName(label, number) == photo_name(path)


@pytest.mark.parametrize("path", ["clock.jpg", "12ABC.jpg", "12A-13.jpg", "12A-0.jpg", "12A-2.heic", "12A-2"])
def test_other_names_are_faults(path: str) -> None:
    """A file that names no lot, no number or no kind that is accepted is refused and not skipped."""
    assert isinstance(photo_name(path), Fault)


@pytest.mark.parametrize(
    ("path", "system"),
    [("__MACOSX/._12.jpg", True), ("a/.DS_Store", True), ("Thumbs.db", True), ("a/", True), ("a/12.jpg", False)],
)
def test_files_that_systems_add_are_known(path: str, system: bool) -> None:
    """What macOS and Windows put into archives is no photo of a person."""
    assert system == is_of_the_system(path)


def test_photos_are_replaced_by_number_and_the_same_bytes_are_kept() -> None:
    """The digest tells whether a photo at a number changes; numbers that are not sent stay."""
    present = {"1": [digest("a"), digest("b")], "2": []}
    plans, faults = plan_photos(
        [sent("1-1.jpg", "a"), sent("1-2.jpg", "c"), sent("1-3.jpg", "d"), sent("2.jpg", "e")], present, {}
    )
    assert [(one.label, one.effects) for one in plans] == [
        ("1", {1: PhotoEffect.UNCHANGED, 2: PhotoEffect.REPLACED, 3: PhotoEffect.NEW}),
        ("2", {1: PhotoEffect.NEW}),
    ]
    assert not faults


def test_gaps_unknown_lots_doubles_and_fixed_lots_are_faults_by_their_files() -> None:
    """Each file that cannot be placed is named; a photo that is there already is none of them."""
    photos = [("1-3.jpg", "x"), ("9.jpg", "x"), ("a/2.jpg", "x"), ("b/2.png", "x"), ("3.jpg", "same"), ("3-2.jpg", "x")]
    present = {"1": [digest("a")], "2": [], "3": [digest("same")]}
    _, faults = plan_photos([sent(*one) for one in photos], present, {"3": Fault("has_bids", "has bids")})
    assert {path: fault.code for path, fault in faults.items()} == {
        "1-3.jpg": "photo_gap",
        "9.jpg": "unknown_lot",
        "b/2.png": "repeated_photo",
        "3-2.jpg": "has_bids",
    }
