"""What the demo sells: pictures and pieces are the same for the same seed, and no two are alike."""

import io
import itertools

import pytest
from PIL import Image, ImageChops, ImageStat

from saleroom.tools.demo.catalogue import Piece, pieces
from saleroom.tools.demo.pictures import THINGS, VIEWS

ROUND = 44
"""How many pieces the catalogue has."""


def some(count: int, seed: int = 1) -> list[Piece]:
    """Return the first pieces of a seed."""
    return list(itertools.islice(pieces(seed), count))


def opened(data: bytes) -> Image.Image:
    """Return a picture, decoded; it must be a JPEG as the house takes it."""
    image = Image.open(io.BytesIO(data), formats=("JPEG",))
    image.load()
    return image


@pytest.mark.parametrize("piece", some(len(THINGS)), ids=lambda piece: piece.thing)
def test_a_thing_is_drawn_as_itself_each_time(piece: Piece) -> None:
    """The same thing, seed and view give the same bytes; they show more than a wall, and fill the middle of the picture."""
    drawn = piece.picture(0)
    assert drawn == piece.picture(0)
    image = opened(drawn)
    assert (1000, 750) == image.size
    empty = Image.new("RGB", image.size, image.getpixel((30, 30)))
    seen = ImageChops.difference(image, empty).convert("L").crop((300, 150, 700, 600))
    assert ImageStat.Stat(seen).stddev[0] > 20, "there is nothing in the middle"


def test_no_two_pictures_are_alike() -> None:
    """Every thing, view and seed has a picture of its own."""
    first = some(3)
    drawn = [piece.picture(0) for piece in some(len(THINGS))]
    drawn += [piece.picture(view) for piece in first for view in range(1, VIEWS)]
    drawn += [same.picture(0) for piece in first for same in some(len(THINGS), 2) if same.thing == piece.thing]
    assert len(drawn) == len(set(drawn))


def test_a_page_of_the_catalogue_shows_one_thing_of_a_kind() -> None:
    """The first pieces are of different kinds, in another order for another seed, and the same for the same."""
    count = len(THINGS)
    assert sorted(THINGS) == sorted(piece.thing for piece in some(count))
    assert some(count) == some(count)
    assert [piece.thing for piece in some(count)] != [piece.thing for piece in some(count, 2)]


def test_the_catalogue_goes_round_with_other_pictures() -> None:
    """After all pieces have been up they come again, in the same words and with another seed."""
    shown = some(2 * ROUND)
    first, again = ({piece.name: piece.seed for piece in half} for half in (shown[:ROUND], shown[ROUND:]))
    assert ROUND == len(first)
    assert set(first) == set(again)
    assert [] == [name for name in first if first[name] == again[name]]


@pytest.mark.parametrize("piece", some(ROUND), ids=lambda piece: piece.name)
def test_a_piece_is_described_as_a_house_takes_it(piece: Piece) -> None:
    """Names and descriptions keep to the house's limits, and an estimate is a range."""
    assert 5 < len(piece.name) <= 80
    assert 60 < len(piece.description) < 2000
    low, high = piece.estimate
    assert 0 < low < high < 3 * low
