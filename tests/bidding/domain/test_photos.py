"""Photos as values: the file for a width, the sizes that are accepted, and the lists that a lot can have."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saleroom.bidding.domain.photos import (
    PER_LOT_MAX,
    PIXELS_MAX,
    RATIO_MAX,
    SIDE_MIN,
    WIDTHS,
    Photo,
    is_webp,
    made_widths,
    refuse_bad_list,
    size_fault,
    too_many_pixels,
)
from saleroom.kernel.errors import Invalid

SIDES = st.integers(1, 100_000)


@pytest.mark.parametrize(
    ("asked", "given"), [(1, 400), (400, 400), (401, 800), (800, 800), (801, 1000), (1000, 1000), (9999, 1000)]
)
def test_the_narrowest_that_is_wide_enough_is_shown(asked: int, given: int) -> None:
    """The address for a width is that of the narrowest file at least as wide, otherwise of the widest."""
    assert f"/photos/abc/{given}.webp" == Photo("abc", 1000, 500, made_widths(1000)).url(asked)


@given(SIDES)
def test_widths_rise_to_the_originals(width: int) -> None:
    """The widths rise, none is wider than the original, and the widest is as wide as the original, or 1,600."""
    made = made_widths(width)
    assert list(made) == sorted(set(made))
    assert min(width, WIDTHS[-1]) == made[-1]
    assert set(made) <= {*WIDTHS, width}


@given(SIDES, SIDES)
def test_sizes_have_bounds(width: int, height: int) -> None:
    """A size is accepted only within the bounds for its pixels, its shorter side, and the ratio of its sides."""
    fits = width * height <= PIXELS_MAX and min(width, height) >= SIDE_MIN
    fits = fits and max(width, height) <= RATIO_MAX * min(width, height)
    assert fits is (size_fault(width, height) is None)


@pytest.mark.parametrize("size", [(10_000, 6_000), (6_000, 10_000), (16, 128), (128, 16), (16, 16)])
def test_sizes_on_the_bounds_are_taken(size: tuple[int, int]) -> None:
    """A size exactly on a bound is accepted."""
    assert size_fault(*size) is None


@pytest.mark.parametrize("ids", [[], ["a"], [str(n) for n in range(PER_LOT_MAX)]])
def test_lists_that_a_lot_can_have(ids: list[str]) -> None:
    """A lot has zero to twelve photos."""
    refuse_bad_list(ids)


@pytest.mark.parametrize(
    ("ids", "code"), [([str(n) for n in range(PER_LOT_MAX + 1)], "too_many_photos"), (["a", "b", "a"], "repeated")]
)
def test_lists_that_no_lot_can_have(ids: list[str], code: str) -> None:
    """Thirteen photos are too many, and a photo cannot be on a lot twice."""
    with pytest.raises(Invalid) as caught:
        refuse_bad_list(ids)
    assert {"photos": [code]} == {field: [one.code for one in found] for field, found in caught.value.faults.items()}


def test_a_file_of_webp_is_whole() -> None:
    """A file of WebP has its two names, and its length without the first eight bytes."""
    whole = b"RIFF" + (12).to_bytes(4, "little") + b"WEBPVP8 data"
    assert is_webp(whole)
    for other in (b"", b"RIFF", whole[:-1], whole + b"x", b"RIFX" + whole[4:], whole[:8] + b"WAVE" + whole[12:]):
        assert not is_webp(other)
    assert not is_webp(b"RIFF" + (12).to_bytes(4, "big") + b"WEBPVP8 data")


def test_the_most_pixels_to_the_pixel() -> None:
    """A single pixel more than the most is refused as too many."""
    assert size_fault(PIXELS_MAX + 1, 1) == too_many_pixels(PIXELS_MAX // 1_000_000)
    assert size_fault(PIXELS_MAX, 1) != too_many_pixels(PIXELS_MAX // 1_000_000)
