"""From the bytes of a picture to its renditions or its refusal."""

import contextlib
import io
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from saleroom.bidding.service.renditions import make
from saleroom.kernel.errors import Invalid
from tests import pictures
from tests.pictures import BLUE, GREEN, RED, WHITE, close, corners, middle, plain, quartered, written


def code(data: bytes) -> str:
    """Return the code of a picture's fault."""
    with pytest.raises(Invalid) as caught:
        make(data)
    [fault] = caught.value.faults["photo"]
    return fault.code


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF", "AVIF"])
def test_each_kind_of_picture_is_taken(kind: str) -> None:
    """JPEG, PNG, WebP, GIF and AVIF come out as WebP of the same look."""
    made = make(written(quartered(), kind))
    assert ((640, 480), [400, 640]) == ((made.width, made.height), sorted(made.files))
    for width, data in made.files.items():
        image = Image.open(io.BytesIO(data))
        assert ("WEBP", (width, width * 3 // 4)) == (image.format, image.size)
        assert ["red", "green", "blue", "white"] == corners(data)


@pytest.mark.parametrize(
    ("size", "widths"),
    [
        ((16, 16), [16]),
        ((399, 300), [399]),
        ((400, 300), [400]),
        ((1599, 1200), [400, 800, 1599]),
        ((1600, 200), [400, 800, 1600]),
        ((4032, 3024), [400, 800, 1600]),
        ((3024, 4032), [400, 800, 1600]),
    ],
)
def test_no_width_is_above_the_originals(size: tuple[int, int], widths: list[int]) -> None:
    """A picture is made 400, 800 and 1,600 pixels wide, but no wider than it is, and keeps its proportions."""
    made = make(plain(size))
    assert widths == sorted(made.files)
    assert (widths[-1], round(widths[-1] * size[1] / size[0])) == (made.width, made.height)
    for width, data in made.files.items():
        assert (width, round(width * size[1] / size[0])) == Image.open(io.BytesIO(data)).size


@pytest.mark.parametrize("size", [(640, 480), (3280, 410), (410, 3280)])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_picture_is_turned_upright(orientation: int, size: tuple[int, int]) -> None:
    """However the camera was held, the picture stands upright, and its width is that of the upright picture."""
    made = make(pictures.turned(orientation, size))
    assert min(size[0], 1600) == made.width
    assert ["red", "green", "blue", "white"] == corners(made.files[made.width])


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "AVIF"])
def test_nothing_is_left_of_what_a_camera_writes(kind: str) -> None:
    """Place, camera, comments and colour profile of the file that is sent are in no file that is kept."""
    sent = pictures.told_much(kind)
    assert b"SECRETCAM" in sent or Image.open(io.BytesIO(sent)).getexif()[pictures.MAKER] == "SECRETCAM"
    for data in make(sent).files.values():
        assert b"SECRET" not in data
        assert {b"EXIF", b"XMP ", b"ICCP"}.isdisjoint(data[start : start + 4] for start in range(len(data)))
        image: Any = Image.open(io.BytesIO(data))
        assert ({}, {}) == (dict(image.getexif()), dict(image.getexif().get_ifd(pictures.GPS)))


def see_through(mode: str) -> bytes:
    """Return a fully transparent picture."""
    if mode == "P":
        picture = Image.new("P", (64, 64), 0)
        picture.putpalette([254, 0, 0] * 256)
        return written(picture, "PNG", transparency=0)
    return plain((64, 64), mode, {"RGBA": (254, 0, 0, 0), "LA": (0, 0)}[mode], "PNG")


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_transparency_becomes_white(mode: str) -> None:
    """A transparent picture becomes white."""
    assert WHITE == middle(make(see_through(mode)).files[64])


def test_half_of_a_colour_on_white() -> None:
    """A half-transparent colour is mixed half and half with white."""
    assert close((254, 127, 127), middle(make(plain((64, 64), "RGBA", (254, 0, 0, 128), "PNG")).files[64]))


@pytest.mark.parametrize(
    ("data", "colour"),
    [
        pytest.param(plain((64, 64), "CMYK", (0, 255, 255, 0)), RED, id="CMYK"),
        pytest.param(plain((64, 64), "L", 128, "PNG"), (128, 128, 128), id="grey"),
        pytest.param(plain((64, 64), "1", 1, "PNG"), WHITE, id="black and white"),
        pytest.param(written(Image.new("I;16", (64, 64), 32896), "PNG"), (128, 128, 128), id="grey of 16 bits"),
        pytest.param(written(Image.new("RGB", (64, 64), BLUE).quantize(2), "PNG"), BLUE, id="palette"),
        pytest.param(pictures.in_wide_gamut((254, 0, 0)), GREEN, id="profile"),
    ],
)
def test_colours_of_every_kind(data: bytes, colour: tuple[int, int, int]) -> None:
    """Inks, greys, 16 bits, palettes and colour profiles all come out as the colour they stand for, in sRGB."""
    assert close(colour, middle(make(data).files[64]), within=20)


def test_a_broken_colour_profile_is_ignored() -> None:
    """A broken colour profile is ignored: the picture's numbers are taken as they are."""
    assert close(RED, middle(make(written(Image.new("RGB", (64, 64), RED), "PNG", icc_profile=b"none")).files[64]))


def test_the_first_picture_of_an_animation_is_kept() -> None:
    """The first picture of an animated GIF is kept, and the others are not even decoded."""
    others = [Image.effect_noise((64, 64), 80) for _ in range(20)]
    data = written(Image.new("RGB", (64, 64), RED), "GIF", save_all=True, append_images=others)
    assert 21 == Image.open(io.BytesIO(data)).n_frames  # type: ignore[attr-defined]  # only animated pictures have it
    assert close(RED, middle(make(data).files[64]))
    assert close(RED, middle(make(data[: len(data) // 2]).files[64]))


def test_the_picture_of_a_phone_with_several_in_it() -> None:
    """From a JPEG that holds a second picture behind the first, as some phones make it, the first is taken."""
    data = written(Image.new("RGB", (64, 64), RED), "MPO", save_all=True, append_images=[Image.new("RGB", (64, 64))])
    assert "MPO" == Image.open(io.BytesIO(data)).format
    assert close(RED, middle(make(data).files[64]))


NO_PICTURES = {
    "empty": b"",
    "text": b"not a picture",
    "svg": b"<svg xmlns='http://www.w3.org/2000/svg' width='64' height='64'><script>1</script></svg>",
    "html": b"<!DOCTYPE html><script>alert(1)</script>",
    "pdf": b"%PDF-1.7\n",
    "heic": b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + b"\0" * 100,
    "bmp": plain(kind="BMP"),
    "tiff": plain(kind="TIFF"),
    "ico": plain(kind="ICO"),
    "eps": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 64 64\n",
}


@pytest.mark.parametrize("data", NO_PICTURES.values(), ids=NO_PICTURES.keys())
def test_other_kinds_of_files_are_refused(data: bytes) -> None:
    """Text, scripts, documents and pictures of other kinds are refused as no picture."""
    assert "not_an_image" == code(data)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "AVIF"])
def test_a_file_that_breaks_off(kind: str) -> None:
    """A picture without its second half is refused as broken off."""
    data = written(Image.effect_noise((640, 480), 80).convert("RGB"), kind)
    assert "image_truncated" == code(data[: len(data) // 2])


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(plain((1, 1), kind="PNG"), "image_too_small", id="1x1"),
        pytest.param(plain((15, 64)), "image_too_small", id="15x64"),
        pytest.param(plain((1, 60_000)), "image_too_small", id="1x60000"),
        pytest.param(plain((16, 129)), "image_too_narrow", id="16x129"),
        pytest.param(plain((60_000, 20)), "image_too_narrow", id="60000x20"),
        pytest.param(pictures.png_that_claims(10_000, 6_001), "image_too_large", id="60.01 million"),
        pytest.param(pictures.png_that_claims(2**31 - 1, 2**31 - 1), "image_too_large", id="2**62"),
        pytest.param(pictures.png_that_claims(65_535, 1), "image_too_small", id="65535x1"),
        pytest.param(pictures.png_that_claims(10_000, 6_000), "image_truncated", id="60 million that are not there"),
    ],
)
def test_sizes_that_are_refused(data: bytes, expected: str) -> None:
    """A picture that is too large, too small or too narrow is refused by its header alone."""
    assert expected == code(data)


BASES = [written(quartered((96, 64)), kind) for kind in ("JPEG", "PNG", "WEBP", "GIF", "AVIF")] + [pictures.told_much()]


@pytest.mark.filterwarnings("ignore::UserWarning:PIL")
@settings(max_examples=150, deadline=None)
@given(st.sampled_from(BASES), st.lists(st.tuples(st.integers(0, 2**32), st.integers(0, 255)), max_size=12), st.data())
def test_a_damaged_file_is_decoded_or_refused(base: bytes, changes: list[tuple[int, int]], data: st.DataObject) -> None:
    """A file with any bytes changed and any end cut off is either made or refused; nothing else is raised."""
    changed = bytearray(base)
    for place, value in changes:
        changed[place % len(changed)] = value
    changed = changed[: data.draw(st.integers(0, len(changed)))]
    with contextlib.suppress(Invalid):
        made = make(bytes(changed))
        assert made.width == max(made.files)
