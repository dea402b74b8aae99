"""One picture of a lot: the wall, the plinth, and the thing."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from PIL import Image

from scripts.demo_pictures import curios, furnishings, vessels
from scripts.demo_pictures.canvas import BASE, HEIGHT, WIDTH, Canvas, Colour, Point, box, colour, ellipse, mixed, toned
from scripts.demo_pictures.vessels import Colours

_DETAILS: dict[str, Point] = {
    "vase": (-30, 250), "bowl": (40, 150), "teapot": (90, 220), "candlesticks": (-110, 330), "lamp": (0, 260),
    "wine": (0, 190), "chess": (-60, 240), "globe": (-20, 330), "clock": (0, 300), "chair": (40, 330), "radio": (80, 190),
    "books": (-80, 240), "painting": (60, 250), "poster": (0, 330), "mirror": (-60, 360), "violin": (0, 190),
    "ring": (0, 330), "camera": (10, 150), "watch": (0, 220), "boat": (0, 240), "telescope": (160, 380),
    "pearls": (0, 200),
}  # fmt: skip
"""The middle of the view from near."""
_HUNG = ("painting", "poster", "mirror")
_THINGS: dict[str, Callable[[Canvas, Colours, Random], None]] = {
    name: getattr(module, name)
    for module in (vessels, furnishings, curios)
    for name in _DETAILS
    if hasattr(module, name)
}

_SHADOW = (24, 18, 12)
_WALLS = tuple(
    colour(text)
    for text in ("c9c2b2", "9fae9f", "b9a58c", "8d9cab", "c8a793", "a9b3a0", "94a3a4", "bcae9a", "a99aa3", "c4b48f")
)


def draw(thing: str, colours: str, view: int) -> Image.Image:
    """Return a picture of 1000 by 750 of a thing in three colours (`rrggbb`); the same arguments give the same picture.

    View 0 shows all of it, 1 a part from near, and 2 a rule beside it.
    """
    chance = Random(f"{thing} 1000")
    one, other, third = (colour(text) for text in colours.split())
    wall = chance.choice(_WALLS)
    canvas = Canvas(2.2, _DETAILS[thing]) if view == 1 else Canvas(1.14, (0, 268 if thing in _HUNG else 236))
    if view == 2:
        wall = colour("d9d7d1")
    if thing in _HUNG:
        _wall(canvas, wall, hung=True)
    else:
        _wall(canvas, wall)
        _plinth(canvas, toned(mixed(wall, (236, 230, 220), 0.55), 0.12))
    canvas.refine()
    _THINGS[thing](canvas, (one, other, third), chance)
    if view == 2:
        _rule(canvas, 405)
    return canvas.done()


def _wall(canvas: Canvas, wall: Colour, *, hung: bool = False) -> None:
    """Draw the wall, with a soft light from the upper left, and where the light does not reach."""
    low = BASE - HEIGHT
    canvas.fill(box(0, low, WIDTH, HEIGHT + 20), wall, ((0, 0.06), (0.6, -0.08), (1, -0.26)))
    canvas.glow(ellipse(-260, 420, 320, 260), (255, 250, 238), 0.5, 190)
    if hung:
        canvas.fill(box(0, low, WIDTH, 46), toned(wall, -0.32), ((0, 0.1), (1, -0.15)))
        canvas.fill(box(0, low + 40, WIDTH, 10), toned(wall, 0.25), ((0, 0.1), (1, -0.25)))


def _plinth(canvas: Canvas, stone: Colour) -> None:
    """Draw what the thing stands on, and the thing's shadow on it."""
    canvas.fill([(-470, 46), (470, 46), (540, -64), (-540, -64)], stone, ((0, 0.18), (0.5, 0.02), (1, -0.16)))
    canvas.fill([(-540, -64), (540, -64), (540, -400), (-540, -400)], toned(stone, -0.2), ((0, 0.06), (1, -0.3)))
    canvas.fill([(-540, -64), (540, -64), (539, -70), (-539, -70)], toned(stone, 0.45), ((0, 0.2), (1, -0.2)))
    canvas.glow(ellipse(120, -4, 300, 36), _SHADOW, 0.5, 22)
    canvas.glow(ellipse(16, -8, 190, 24), _SHADOW, 0.55, 10)


def _rule(canvas: Canvas, x: float) -> None:
    """Lay a rule beside the thing, as a saleroom's photographer does."""
    low = -52
    canvas.glow(box(x + 3, low - 4, 210, 18), _SHADOW, 0.4, 5)
    canvas.fill(box(x, low, 210, 20), (245, 242, 234))
    for number in range(10):
        left = x - 105 + 21 * number
        if number % 2:
            canvas.fill(box(left + 10.5, low + 2, 21, 8), (34, 32, 29))
        canvas.fill(box(left + 1, low + 11, 1.8, 7), (34, 32, 29))
