"""A canvas over Pillow, with light from the upper left: it fills shapes with gradients, and shades turned things.

Lengths are in units of which a picture has 1200 by 900. `x` is 0 in the middle, `y` is 0 where a thing stands and grows
upwards. Things are drawn at twice the size and reduced at the end, which smooths the edges.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise

from PIL import Image, ImageDraw, ImageFilter

WIDTH, HEIGHT = 1200, 900
BASE = 690
"""The distance from the upper edge to the base of a thing."""
PIXELS = (1000, 750)
FINE = 2
"""How many times larger a picture is drawn than saved."""
TILT = 0.13
"""The height of a flat circle as seen a little from above, as a share of its width."""

Colour = tuple[int, int, int]
Point = tuple[float, float]
Stops = Sequence[tuple[float, float]]
"""Points of a gradient: the place from 0 to 1, and the tone from -1 (black) through 0 (the colour) to 1 (white)."""

CERAMIC: Stops = ((0, -0.5), (0.1, -0.28), (0.26, 0.3), (0.36, 0.22), (0.6, -0.12), (0.86, -0.5), (1, -0.38))
METAL: Stops = ((0, -0.55), (0.08, -0.3), (0.2, 0.62), (0.3, 0.1), (0.5, -0.25), (0.68, 0.32), (0.8, -0.45), (1, -0.3))
WOOD: Stops = ((0, -0.3), (0.2, 0.12), (0.6, -0.08), (1, -0.4))
GLASS: Stops = ((0, -0.2), (0.07, 0.25), (0.12, -0.4), (0.22, 0.35), (0.27, -0.2), (0.8, -0.5), (0.92, 0.05), (1, -0.4))
FLAT: Stops = ((0, 0.1), (1, -0.12))
SOFT: Stops = ((0, 0.16), (0.5, 0.02), (1, -0.2))


def colour(text: str) -> Colour:
    """Return the colour that `rrggbb` is."""
    return int(text[0:2], 16), int(text[2:4], 16), int(text[4:6], 16)


def toned(base: Colour, tone: float) -> Colour:
    """Return `base` lighter (`tone` up to 1) or darker (down to -1)."""
    towards = 255 if tone > 0 else 0
    return _rgb(part + (towards - part) * abs(tone) for part in base)


def mixed(one: Colour, other: Colour, share: float) -> Colour:
    """Return a colour between two: `share` 0 is the first, 1 the second."""
    return _rgb(a + (b - a) * share for a, b in zip(one, other, strict=True))


def smooth(points: Sequence[Point], *, closed: bool = False, steps: int = 10) -> list[Point]:
    """Return a curve through `points` (Catmull-Rom)."""
    count = len(points)
    found: list[Point] = []
    for number in range(count if closed else count - 1):
        if closed:
            p0, p1, p2, p3 = (points[(number + step) % count] for step in (-1, 0, 1, 2))
        else:
            p0, p1, p2, p3 = (points[min(max(number + step, 0), count - 1)] for step in (-1, 0, 1, 2))
        for step in range(steps):
            t = step / steps
            found.append((_between(t, p0[0], p1[0], p2[0], p3[0]), _between(t, p0[1], p1[1], p2[1], p3[1])))
    return found if closed else [*found, points[-1]]


def ellipse(x: float, y: float, rx: float, ry: float, begin: float = 0, end: float = 360) -> list[Point]:
    """Return the points of an ellipse, or of the part between two angles; 0 is to the right, 90 is up."""
    count = 60
    angles = (math.radians(begin + (end - begin) * number / count) for number in range(count + 1))
    return [(x + rx * math.cos(angle), y + ry * math.sin(angle)) for angle in angles]


def box(x: float, y: float, width: float, height: float, radius: float = 0) -> list[Point]:
    """Return a rectangle that stands at (x, y), which is the middle of its lower side."""
    left, right, top = x - width / 2, x + width / 2, y + height
    if not radius:
        return [(left, y), (right, y), (right, top), (left, top)]
    corners = ((right, top, -1, -1, 0), (left, top, 1, -1, 90), (left, y, 1, 1, 180), (right, y, -1, 1, 270))
    return [
        point
        for at_x, at_y, dx, dy, angle in corners
        for point in ellipse(at_x + dx * radius, at_y + dy * radius, radius, radius, angle, angle + 90)[::6]
    ]


class Canvas:
    """One picture with the middle at `focus`, magnified `zoom` times."""

    def __init__(self, zoom: float, focus: Point) -> None:
        self._zoom = zoom * PIXELS[0] / WIDTH
        self._focus = focus
        self._measure(Image.new("RGB", PIXELS))

    def refine(self) -> None:
        """Continue at a larger size, which makes edges smooth; the wall and the light drawn so far need no such size."""
        self._zoom *= FINE
        self._measure(self.image.resize((PIXELS[0] * FINE, PIXELS[1] * FINE), Image.Resampling.BILINEAR))

    def _measure(self, image: Image.Image) -> None:
        self.image = image
        self._left = image.width / 2 - self._focus[0] * self._zoom
        self._down = image.height / 2 + self._focus[1] * self._zoom

    def done(self) -> Image.Image:
        """Return the picture, reduced to its size."""
        return self.image.reduce(FINE)

    def fill(
        self, points: Sequence[Point], base: Colour, stops: Stops = (), *, down: bool = False, alpha: float = 1.0
    ) -> None:
        """Fill a polygon with one colour, or with a gradient from left to right, or from top `down`."""
        placed = [self._pixel(point) for point in points]
        left, top = math.floor(min(x for x, _ in placed)), math.floor(min(y for _, y in placed))
        right, bottom = math.ceil(max(x for x, _ in placed)) + 1, math.ceil(max(y for _, y in placed)) + 1
        if right <= 0 or bottom <= 0 or left >= self.image.width or top >= self.image.height:
            return
        mask = Image.new("L", (right - left, bottom - top))
        ImageDraw.Draw(mask).polygon([(x - left, y - top) for x, y in placed], fill=round(255 * alpha))
        if not stops:
            self.image.paste(base, (left, top, right, bottom), mask)
            return
        strip = _strip(base, tuple(stops))
        if down:
            strip = strip.transpose(Image.Transpose.ROTATE_270)
        # In two steps, as smoothing along and repeating across is a fifth of the work of smoothing both ways.
        strip = strip.resize((1, mask.height) if down else (mask.width, 1), Image.Resampling.BILINEAR)
        self.image.paste(strip.resize(mask.size, Image.Resampling.NEAREST), (left, top), mask)

    def turned(
        self, profile: Sequence[Point], base: Colour, stops: Stops = CERAMIC, *, x: float = 0.0, curved: bool = True
    ) -> None:
        """Draw a thing made on a lathe: `profile` has (height, radius) from the bottom to the top."""
        rounded = smooth(profile) if curved else list(profile)
        strip = _strip(base, tuple(stops))
        (low, radius), (high, _) = rounded[0], rounded[-1]
        step = 1 / self._zoom * 2
        height = low - radius * TILT
        while height < high:
            reach = radius * math.sqrt(max(0.0, 1 - ((low - height) / (radius * TILT or 1)) ** 2))
            self._row(strip, x, height, _radius(rounded, height) if height >= low else reach, step)
            height += step

    def band(
        self, low: tuple[float, float], high: tuple[float, float], base: Colour, stops: Stops = CERAMIC, x: float = 0.0
    ) -> None:
        """Draw a band round a turned thing, between two (height, radius)."""
        lower = ellipse(x, low[0], low[1], low[1] * TILT, 180, 360)
        upper = ellipse(x, high[0], high[1], high[1] * TILT, 360, 180)
        self.fill([*lower, *upper], base, stops)

    def disc(self, height: float, radius: float, base: Colour, stops: Stops = (), x: float = 0.0) -> None:
        """Draw a circle that lies flat: a mouth, a rim, a lid."""
        self.fill(ellipse(x, height, radius, radius * TILT), base, stops)

    def ball(self, x: float, y: float, radius: float, base: Colour, shine: float = 0.75) -> None:
        """Draw a sphere."""
        size = max(2, round(2 * radius * self._zoom))
        left, top = self._pixel((x - radius, y + radius))
        mask = Image.new("L", (size, size))
        ImageDraw.Draw(mask).ellipse((0, 0, size - 1, size - 1), fill=255)
        self.image.paste(_ball(base, shine).resize((size, size)), (round(left), round(top)), mask)

    def tube(self, begin: Point, end: Point, widths: tuple[float, float], base: Colour, stops: Stops = METAL) -> None:
        """Draw a round bar from one point to another, as wide as `widths` at its ends."""
        dx, dy = end[0] - begin[0], end[1] - begin[1]
        length = math.hypot(dx, dy) or 1.0
        across = (dy / length, -dx / length)
        if across[0] + across[1] * 0.5 < 0:
            across = (-across[0], -across[1])
        strip = _strip(base, tuple(stops))
        count = 28
        for number in range(count):
            found = strip.getpixel((round(255 * number / (count - 1)), 0))
            assert isinstance(found, tuple), "it is an RGB image"
            sides = [number / count - 0.5, (number + 1.3) / count - 0.5]
            corners = [
                (point[0] + across[0] * side * width, point[1] + across[1] * side * width)
                for point, width, order in ((begin, widths[0], sides), (end, widths[1], sides[::-1]))
                for side in order
            ]
            self.fill(corners, (found[0], found[1], found[2]))

    def stroke(self, points: Sequence[Point], width: float, base: Colour, *, round_ends: bool = True) -> None:
        """Draw a line through `points`."""
        draw = ImageDraw.Draw(self.image)
        placed = [self._pixel(point) for point in points]
        pixels = max(1, round(width * self._zoom))
        draw.line(placed, fill=base, width=pixels, joint="curve")
        if round_ends and pixels > 3:
            for x, y in (placed[0], placed[-1]):
                draw.ellipse((x - pixels / 2, y - pixels / 2, x + pixels / 2, y + pixels / 2), fill=base)

    def rod(self, points: Sequence[Point], width: float, base: Colour) -> None:
        """Draw a bent rod with a light side: a handle, an arm, a leg."""
        lit = width * 0.13
        self.stroke(points, width, toned(base, -0.35))
        self.stroke([(x - lit, y + lit) for x, y in points], width * 0.66, base)
        self.stroke([(x - 1.7 * lit, y + 1.7 * lit) for x, y in points], width * 0.22, toned(base, 0.4))

    def glow(self, points: Sequence[Point], base: Colour, alpha: float, blur: float) -> None:
        """Add a soft light or a shadow that fades over `blur`."""
        fade = blur * self._zoom
        placed = [self._pixel(point) for point in points]
        left, top = max(0, min(x for x, _ in placed) - 3 * fade), max(0, min(y for _, y in placed) - 3 * fade)
        right = min(self.image.width, max(x for x, _ in placed) + 3 * fade)
        bottom = min(self.image.height, max(y for _, y in placed) + 3 * fade)
        wide, high = round(right - left), round(bottom - top)
        if wide <= 0 or high <= 0:
            return
        # A blur hides that it was made small.
        small = max(1.0, fade / 4)
        mask = Image.new("L", (math.ceil(wide / small), math.ceil(high / small)))
        ImageDraw.Draw(mask).polygon(
            [((x - left) / small, (y - top) / small) for x, y in placed], fill=round(255 * alpha)
        )
        mask = mask.filter(ImageFilter.GaussianBlur(fade / small)).resize((wide, high), Image.Resampling.BILINEAR)
        self.image.paste(base, (round(left), round(top), round(left) + wide, round(top) + high), mask)

    def _pixel(self, point: Point) -> Point:
        return self._left + point[0] * self._zoom, self._down - point[1] * self._zoom

    def _row(self, strip: Image.Image, x: float, height: float, radius: float, step: float) -> None:
        left, bottom = self._pixel((x - radius, height))
        width = round(2 * radius * self._zoom)
        if width > 0 and -2 < bottom < self.image.height + 4:
            row = strip.resize((width, 1), Image.Resampling.BILINEAR)
            high = math.ceil(step * self._zoom) + 1
            self.image.paste(row.resize((width, high), Image.Resampling.NEAREST), (round(left), round(bottom - 2)))


def _rgb(parts: Iterable[float]) -> Colour:
    red, green, blue = (min(255, max(0, round(part))) for part in parts)
    return red, green, blue


def _between(t: float, a: float, b: float, c: float, d: float) -> float:
    return b + 0.5 * t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)))


def _radius(profile: Sequence[Point], height: float) -> float:
    for (low, narrow), (high, wide) in pairwise(profile):
        if low <= height <= high:
            return narrow + (wide - narrow) * (height - low) / ((high - low) or 1)
    return 0.0


@lru_cache(maxsize=256)
def _strip(base: Colour, stops: tuple[tuple[float, float], ...]) -> Image.Image:
    """Return a gradient of 256 by 1."""
    pixels = bytearray()
    for number in range(256):
        at = number / 255
        tone = stops[-1][1]
        for (low, one), (high, other) in pairwise(stops):
            if low <= at <= high:
                tone = one + (other - one) * (at - low) / ((high - low) or 1)
                break
        pixels += bytes(toned(base, tone))
    return Image.frombytes("RGB", (256, 1), bytes(pixels))


@lru_cache(maxsize=64)
def _ball(base: Colour, shine: float) -> Image.Image:
    """Return a lit sphere of 64 by 64, to be cut out by a circle."""
    size = 64
    tones = [
        toned(base, shine * (1 - number / 107) if number < 107 else -0.62 * (number - 107) / 148)
        for number in range(256)
    ]
    pixels = bytearray()
    for down in range(size):
        for across in range(size):
            far = math.hypot(across / size - 0.34, down / size - 0.3) / 0.8
            pixels += bytes(tones[min(255, round(255 * far))])
    return Image.frombytes("RGB", (size, size), bytes(pixels))
