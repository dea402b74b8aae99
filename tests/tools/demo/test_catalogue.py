"""The demo's catalogue: every piece has its pictures, and the same seed gives the same order."""

import io
import itertools

import pytest
from PIL import Image, ImageChops, ImageStat

from saleroom.tools.demo.catalogue import VIEWS, Piece, catalogue, pieces
from scripts.demo_pictures.pictures import draw

PIECES = catalogue()
KINDS = {piece.thing for piece in PIECES}


def first(count: int, seed: int = 1) -> list[Piece]:
    """Return the first pieces of a seed."""
    return list(itertools.islice(pieces(seed), count))


def difference(one: Image.Image, other: Image.Image) -> float:
    """Return the mean difference of two pictures, 0 for none and 255 for black against white."""
    return sum(ImageStat.Stat(ImageChops.difference(one, other.convert("RGB"))).mean) / 3


@pytest.mark.parametrize("piece", PIECES, ids=lambda piece: piece.file(0).stem)
def test_each_piece_has_its_pictures(piece: Piece) -> None:
    """Every view is a WebP file of 1000 by 750 that shows something in the middle."""
    for view in range(len(VIEWS)):
        image = Image.open(io.BytesIO(piece.picture(view)), formats=("WEBP",))
        assert (1000, 750) == image.size
        wall = Image.new("RGB", image.size, image.getpixel((30, 30)))
        middle = ImageChops.difference(image, wall).convert("L").crop((300, 150, 700, 600))
        assert ImageStat.Stat(middle).stddev[0] > 15, f"view {view} shows nothing in the middle"


@pytest.mark.parametrize("piece", first(len(KINDS)), ids=lambda piece: piece.thing)
def test_the_script_draws_the_pictures_again(piece: Piece) -> None:
    """scripts/demo_pictures draws the pictures in the files, except for the loss of compression."""
    assert difference(draw(piece.thing, piece.colours, 0), Image.open(piece.file(0))) < 3


def test_no_two_pictures_are_alike() -> None:
    """Each piece and view has a separate picture, and no file is unused."""
    files = [piece.file(view) for piece in PIECES for view in range(len(VIEWS))]
    assert len(files) == len({file.read_bytes() for file in files})
    assert set(files) == set(files[0].parent.iterdir())


def test_a_page_of_the_catalogue_shows_one_piece_of_each_kind() -> None:
    """The first pieces are of different kinds, in an order that depends on the seed alone."""
    count = len(KINDS)
    assert KINDS == {piece.thing for piece in first(count)}
    assert first(count) == first(count)
    assert [piece.thing for piece in first(count)] != [piece.thing for piece in first(count, 2)]


def test_the_catalogue_starts_again_after_its_last_piece() -> None:
    """Each round has every piece once."""
    shown = first(2 * len(PIECES))
    assert set(PIECES) == set(shown[: len(PIECES)]) == set(shown[len(PIECES) :])


@pytest.mark.parametrize("piece", PIECES, ids=lambda piece: piece.name)
def test_a_piece_is_described_as_a_house_takes_it(piece: Piece) -> None:
    """Names and descriptions are within the house's limits, and an estimate is a range."""
    assert 5 < len(piece.name) <= 80
    assert 60 < len(piece.description) < 2000
    low, high = piece.estimate
    assert 0 < low < high < 3 * low
