"""Things made on a wheel or a lathe. Each draws itself on a canvas, in three colours; `chance` varies it."""

from __future__ import annotations

import math
from random import Random

from scripts.demo_pictures.canvas import (
    CERAMIC,
    GLASS,
    METAL,
    SOFT,
    WOOD,
    Canvas,
    Colour,
    box,
    colour,
    ellipse,
    mixed,
    smooth,
    toned,
)

Colours = tuple[Colour, Colour, Colour]
"""The thing's own, a second one, and one that stands out."""

INK = colour("22201d")
CREAM = colour("f1e9d6")
BRASS = colour("c69a45")


def vase(canvas: Canvas, colours: Colours, chance: Random) -> None:
    """A baluster vase with painted leaves between two bands."""
    main, second, accent = colours
    belly = chance.uniform(0.92, 1.08)
    profile = [(0, 78), (14, 84), (55, 118), (170, 170 * belly), (290, 136), (372, 68), (420, 54), (455, 64), (478, 88)]
    canvas.turned(profile, main)
    canvas.disc(478, 88, toned(main, 0.15))
    canvas.disc(477, 76, toned(main, -0.72))
    radius = 166 * belly
    canvas.band((96, 141), (107, 146), second)
    canvas.band((252, 151), (262, 147), second)
    for number in range(9):
        angle = math.radians(-72 + 18 * number)
        x, width = radius * math.sin(angle), 15 * math.cos(angle)
        low = 122 - 20 * math.cos(angle)
        tone = -0.4 * max(0.0, math.sin(angle)) + 0.12 * max(0.0, -math.sin(angle))
        canvas.fill(
            smooth([(x, low), (x + width, low + 60), (x, low + 118), (x - width, low + 60)], closed=True),
            toned(accent if number % 2 else second, tone),
        )
    canvas.band((395, 61), (404, 58), second)


def bowl(canvas: Canvas, colours: Colours, chance: Random) -> None:
    """A wide bowl, whose inside is seen."""
    main, second, accent = colours
    flare = chance.uniform(0.95, 1.08)
    wide = 262 * flare
    canvas.turned([(0, 92), (20, 86), (34, 96), (80, 178), (150, 236 * flare), (205, wide)], main)
    canvas.band((120, 216 * flare), (134, 226 * flare), accent)
    canvas.disc(205, wide, toned(second, 0.2))
    canvas.fill(ellipse(0, 205, wide - 9, (wide - 9) * 0.13), second, ((0, -0.5), (0.5, -0.15), (1, 0.25)))
    canvas.fill(ellipse(0, 196, wide * 0.62, wide * 0.05), toned(second, -0.25), SOFT)


def teapot(canvas: Canvas, colours: Colours, chance: Random) -> None:
    """A round teapot with its lid, spout to the right."""
    main, second, accent = colours
    plump = chance.uniform(0.95, 1.06)
    handle = smooth([(-120, 262), (-205, 282), (-262, 220), (-240, 130), (-150, 78)])
    canvas.rod(handle, 30, second)
    canvas.fill(
        smooth(
            [(110, 180), (182, 176), (228, 226), (262, 300), (300, 306), (300, 262), (262, 150), (206, 70), (120, 50)],
            closed=True,
        ),
        main,
        ((0, 0.05), (0.35, 0.1), (0.6, -0.35), (1, -0.25)),
    )
    canvas.fill(ellipse(283, 303, 21, 7), toned(main, -0.7))
    canvas.turned([(0, 96), (14, 102), (60, 160), (145, 196 * plump), (225, 160), (278, 92)], main)
    canvas.band((128, 193 * plump), (140, 195 * plump), accent)
    canvas.band((150, 195 * plump), (155, 195 * plump), accent)
    canvas.turned([(278, 98), (286, 98), (312, 66), (326, 22), (334, 13), (348, 24), (364, 22), (374, 4)], main)
    canvas.band((281, 98), (287, 98), second)


def candlesticks(canvas: Canvas, colours: Colours, chance: Random) -> None:
    """A pair of candlesticks with candles, one behind the other."""
    main, _, wax = colours
    profile = [
        (0, 92),
        (10, 94),
        (24, 72),
        (40, 26),
        (70, 22),
        (92, 44),
        (112, 22),
        (200, 15),
        (228, 34),
        (246, 17),
        (262, 20),
        (282, 50),
        (290, 50),
    ]
    for x, burnt in ((-135, chance.uniform(120, 190)), (135, chance.uniform(60, 150))):
        canvas.turned([(290 + height, 24) for height in (0, burnt / 2, burnt)], wax, SOFT, x=x)
        canvas.disc(290 + burnt, 24, toned(wax, 0.3), x=x)
        canvas.stroke([(x, 290 + burnt), (x + 2, 304 + burnt), (x + 6, 312 + burnt)], 4, INK)
        canvas.turned(profile, main, METAL, x=x)
        canvas.disc(290, 50, toned(main, 0.25), METAL, x=x)
        canvas.turned([(288, 26), (306, 27), (310, 29)], main, METAL, x=x)


def lamp(canvas: Canvas, colours: Colours, chance: Random) -> None:
    """A table lamp that is lit."""
    main, shade, accent = colours
    warm = colour("ffe2a0")
    canvas.glow(ellipse(0, 430, 330, 250), warm, 0.5, 90)
    canvas.turned([(0, 96), (14, 98), (26, 70)], accent, METAL)
    canvas.turned([(26, 50), (60, 94), (130, 122 * chance.uniform(0.9, 1.05)), (205, 82), (250, 30), (262, 22)], main)
    canvas.band((248, 31), (258, 24), accent, METAL)
    canvas.turned([(262, 10), (340, 10)], accent, METAL, curved=False)
    lit = mixed(shade, warm, 0.45)
    glow = ((0, -0.18), (0.3, 0.28), (0.55, 0.42), (0.8, 0.1), (1, -0.25))
    canvas.turned([(318, 216), (520, 118)], lit, glow, curved=False)
    canvas.band((318, 216), (326, 212), toned(accent, 0.05), glow)
    canvas.band((512, 122), (520, 118), toned(accent, 0.05), glow)
    canvas.disc(520, 118, colour("fff4d6"))


def wine(canvas: Canvas, colours: Colours, chance: Random) -> None:
    """Three bottles of one year."""
    glass, foil, label = colours
    profile = [(0, 66), (8, 68), (250, 68), (290, 62), (340, 30), (365, 24), (470, 24)]
    for x in (-185, 185, 0):
        low = 0 if x else -26
        canvas.turned([(low + height, radius) for height, radius in profile], glass, GLASS, x=x)
        canvas.turned(
            [(low + 392, 25), (low + 470, 25), (low + 474, 27), (low + 486, 27)], foil, CERAMIC, x=x, curved=False
        )
        canvas.disc(low + 486, 27, toned(foil, 0.2), x=x)
        canvas.band((low + 88, 68), (low + 226, 68), label, SOFT, x)
        for at, part in ((206, 0.55), (172, 0.36), (160, 0.45), (112, 0.3)):
            canvas.stroke([(x - 66 * part, low + at - 8), (x, low + at - 9.5), (x + 66 * part, low + at - 8)], 4, foil)
        crest = [(x - 15, low + 150), (x + 15, low + 150), (x + 13, low + 132), (x, low + 120), (x - 13, low + 132)]
        canvas.fill(crest, toned(foil, chance.uniform(-0.1, 0.1)))


def chess(canvas: Canvas, colours: Colours, chance: Random) -> None:
    """A king, a queen and pawns of a set."""
    dark, light, _ = colours
    base = [(0, 66), (14, 68), (26, 56), (34, 60), (46, 44), (60, 34)]
    king = [*base, (170, 24), (250, 32), (258, 46), (268, 46), (276, 30), (300, 44), (322, 40), (330, 12)]
    queen = [*base, (150, 22), (222, 30), (230, 43), (240, 43), (248, 28), (284, 50), (288, 50)]
    pawn = [(0, 48), (12, 50), (22, 40), (34, 30), (90, 18), (112, 20), (116, 32), (124, 32), (130, 16)]
    canvas.turned(queen, light, WOOD, x=150)
    canvas.ball(150, 296, 15, light, 0.5)
    for number in range(5):
        canvas.ball(112 + 19 * number, 292, 9, light, 0.5)
    canvas.turned(king, dark, WOOD, x=-110)
    canvas.fill(box(-110, 328, 13, 52, 2), dark, WOOD)
    canvas.fill(box(-110, 348, 40, 13, 2), dark, WOOD)
    for x, stained in ((20, dark), (258, light), (-232, dark)):
        canvas.turned([(height - 18, radius) for height, radius in pawn], stained, WOOD, x=x + chance.uniform(-8, 8))
        canvas.ball(x, 134, 29, stained, 0.5)


_LANDS = (
    (
        (-0.84, 0.36),
        (-0.62, 0.64),
        (-0.28, 0.82),
        (-0.1, 0.78),
        (-0.22, 0.6),
        (-0.16, 0.44),
        (-0.38, 0.34),
        (-0.44, 0.14),
        (-0.6, 0.3),
    ),
    (
        (-0.34, 0.06),
        (-0.14, 0.02),
        (0.02, -0.16),
        (-0.08, -0.4),
        (-0.2, -0.74),
        (-0.3, -0.6),
        (-0.32, -0.3),
        (-0.44, -0.1),
    ),
    ((0.16, 0.7), (0.42, 0.72), (0.66, 0.54), (0.8, 0.3), (0.58, 0.36), (0.4, 0.3), (0.3, 0.44), (0.12, 0.5)),
    ((0.2, 0.26), (0.44, 0.22), (0.68, 0.06), (0.6, -0.28), (0.44, -0.56), (0.34, -0.28), (0.36, -0.06), (0.14, 0.06)),
)
"""Outlines of land on a globe of radius 1."""


def globe(canvas: Canvas, colours: Colours, chance: Random) -> None:
    """A globe on a turned stand."""
    wood, sea, land = colours
    canvas.turned([(0, 128), (16, 132), (28, 104), (44, 40), (90, 22), (108, 44), (122, 20), (150, 16)], wood, WOOD)
    x, y, radius = 0, 322, 168
    canvas.rod(ellipse(x, y, radius + 22, radius + 22, 100, 290), 17, BRASS)
    tilt = chance.uniform(-0.3, 0.1)
    canvas.ball(x, y, radius, sea, 0.45)
    for outline in _LANDS:
        points = [(x + radius * px, y + radius * py) for px, py in (_spun(point, tilt) for point in outline)]
        canvas.fill(smooth(points, closed=True), land, ((0, 0.1), (1, -0.34)))
    for share in (-0.62, -0.32, 0, 0.32, 0.62):
        half = radius * math.sqrt(1 - share * share)
        canvas.stroke(ellipse(x, y + radius * share, half, half * 0.12, 180, 360), 1.6, toned(sea, 0.32))
    for share in (0.32, 0.72):
        canvas.stroke(ellipse(x, y, radius * share, radius), 1.6, toned(sea, 0.28))
    canvas.ball(x, y + radius + 22, 12, BRASS)


def _spun(point: tuple[float, float], angle: float) -> tuple[float, float]:
    """Return a point turned about the middle."""
    x, y = point
    return x * math.cos(angle) - y * math.sin(angle), x * math.sin(angle) + y * math.cos(angle)
