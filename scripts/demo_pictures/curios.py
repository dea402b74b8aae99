"""Instruments, jewels and toys. Each draws itself on a canvas, in three colours; `chance` varies it."""

from __future__ import annotations

import math
from random import Random

from scripts.demo_pictures.canvas import (
    CERAMIC,
    FLAT,
    METAL,
    SOFT,
    WOOD,
    Canvas,
    box,
    colour,
    ellipse,
    mixed,
    smooth,
    toned,
)
from scripts.demo_pictures.furnishings import TOP_LIT, face
from scripts.demo_pictures.vessels import CREAM, INK, Colours


def violin(canvas: Canvas, colours: Colours, chance: Random) -> None:
    """A violin standing upright, its bow beside it."""
    varnish, dark, _ = colours
    half = [
        (0, 0),
        (4, 62),
        (22, 98),
        (64, 112),
        (106, 100),
        (134, 74),
        (168, 62),
        (196, 66),
        (222, 80),
        (254, 86),
        (284, 72),
        (300, 40),
        (304, 0),
    ]
    outline = smooth([(width, height) for height, width in half])
    body = [*outline, *[(-x, y) for x, y in reversed(outline)]]
    canvas.glow([(x + 18, y - 6) for x, y in body], (20, 16, 12), 0.45, 12)
    canvas.fill(body, toned(varnish, -0.5))
    canvas.fill(
        [(x * 0.96, 152 + (y - 152) * 0.975) for x, y in body],
        varnish,
        ((0, -0.3), (0.3, 0.25), (0.62, 0.02), (1, -0.42)),
    )
    canvas.stroke([(x * 0.9, 152 + (y - 152) * 0.94) for x, y in [*body, body[0]]], 2, toned(varnish, -0.5))
    for side in (-1, 1):
        hole = smooth(
            [(side * 30, 196), (side * 40, 190), (side * 38, 172), (side * 48, 150), (side * 58, 132), (side * 50, 124)]
        )
        canvas.stroke(hole, 6, INK)
        canvas.ball(side * 32, 193, 6, INK, 0.1)
        canvas.ball(side * 52, 128, 7, INK, 0.1)
    canvas.tube((0, 296), (0, 468), (34, 25), toned(varnish, -0.15), WOOD)
    canvas.fill([(-21, 196), (21, 196), (13, 462), (-13, 462)], dark, WOOD)
    canvas.fill([(-26, 40), (26, 40), (20, 112), (-20, 112)], dark, WOOD)
    canvas.fill(smooth([(-40, 152), (0, 166), (40, 152), (34, 144), (0, 152), (-34, 144)], closed=True), CREAM, WOOD)
    canvas.fill([(-14, 462), (14, 462), (12, 522), (-12, 522)], toned(varnish, -0.1), WOOD)
    for number, y in enumerate((474, 488, 502, 515)):
        side = 1 if number % 2 else -1
        canvas.tube((0, y), (side * 46, y + 4), (7, 8), dark, WOOD)
        canvas.ball(side * 48, y + 4, 8, dark)
    canvas.ball(0, 534, 22, toned(varnish, -0.05), 0.5)
    canvas.stroke(ellipse(2, 534, 12, 12, 0, 300), 3, toned(varnish, -0.5))
    for number in range(4):
        canvas.stroke([(-9 + 6 * number, 100), (-12 + 8 * number, 160), (-6 + 4 * number, 466)], 1.5, colour("e9e4da"))
    lean = chance.uniform(24, 44)
    canvas.stroke([(186, 4), (178 + lean, 500)], 3.5, CREAM)
    canvas.tube((198, 0), (186 + lean, 512), (9, 7), dark, WOOD)
    canvas.fill(box(191, 22, 24, 34, 4), INK)


def ring(canvas: Canvas, colours: Colours, chance: Random) -> None:
    """A ring with one stone, in its box."""
    gold, stone, velvet = colours
    canvas.fill(box(0, 0, 380, 122, 16), velvet, TOP_LIT, down=True)
    canvas.fill(box(0, 84, 380, 40, 14), toned(velvet, -0.3), WOOD)
    canvas.fill(
        smooth([(-176, 118), (0, 142), (176, 118), (150, 96), (0, 88), (-150, 96)], closed=True),
        toned(velvet, 0.16),
        SOFT,
    )
    circle = ellipse(0, 232, 128, 128, -62, 242)
    canvas.stroke(circle, 31, toned(gold, -0.5), round_ends=False)
    canvas.stroke([(x - 2, y + 2) for x, y in circle], 24, gold, round_ends=False)
    canvas.stroke([(x - 4, y + 3) for x, y in circle], 9, toned(gold, 0.55), round_ends=False)
    canvas.stroke(ellipse(0, 232, 119, 119, -40, 60), 6, toned(gold, -0.3), round_ends=False)
    canvas.fill(
        smooth([(-74, 118), (0, 128), (74, 118), (70, 104), (0, 108), (-70, 104)], closed=True), toned(velvet, -0.5)
    )
    y = 368
    for side in (-1, 1):
        canvas.tube((side * 20, y - 24), (side * 62, y + 40), (14, 9), gold)
    table, girdle, tip = 40, 74, -58
    facets = 6
    for number in range(facets):
        left, right = (-girdle + 2 * girdle * part / facets for part in (number, number + 1))
        tone = (0.35, -0.15, 0.1, -0.3, 0.2, -0.45)[number] + chance.uniform(-0.06, 0.06)
        canvas.fill([(left, y + 30), (right, y + 30), (0, y + tip)], toned(stone, tone))
        shares = [(-table + 2 * table * part / facets) for part in (number, number + 1)]
        canvas.fill(
            [(left, y + 30), (right, y + 30), (shares[1], y + 62), (shares[0], y + 62)],
            toned(stone, tone + 0.25 if tone < 0.3 else 0.1),
        )
    canvas.fill([(-table, y + 62), (table, y + 62), (table - 14, y + 54), (-table + 14, y + 54)], toned(stone, 0.65))
    for side in (-1, 1):
        canvas.ball(side * 72, y + 32, 9, gold)
    for x, at, reach in ((-34, y + 66, 26), (88, y + 8, 14)):
        for dx, dy in ((reach, 0), (0, reach)):
            canvas.stroke([(x - dx, at - dy), (x + dx, at + dy)], 2.5, (255, 255, 255))


def camera(canvas: Canvas, colours: Colours, chance: Random) -> None:
    """A rangefinder camera."""
    leather, metal, accent = colours
    canvas.fill(box(0, 0, 500, 270, 44), toned(leather, -0.25), WOOD)
    canvas.fill(box(-3, 6, 490, 258, 40), leather, TOP_LIT, down=True)
    canvas.fill(box(0, 0, 500, 36, 18), metal, TOP_LIT, down=True)
    canvas.fill(box(0, 214, 506, 88, 26), metal, TOP_LIT, down=True)
    canvas.fill(box(-40, 290, 250, 36, 12), metal, TOP_LIT, down=True)
    canvas.turned([(300, 34), (326, 34)], metal, METAL, x=196, curved=False)
    canvas.disc(326, 34, toned(metal, 0.2), METAL, x=196)
    canvas.turned([(300, 30), (318, 30)], metal, METAL, x=-206, curved=False)
    canvas.disc(318, 30, toned(metal, 0.2), METAL, x=-206)
    canvas.turned([(300, 13), (316, 13)], accent, METAL, x=130, curved=False)
    for x, wide in ((-112, 66), (20, 38), (94, 34)):
        canvas.fill(box(x, 236, wide, 44, 8), toned(metal, -0.6))
        canvas.fill(box(x, 241, wide - 10, 34, 5), colour("3d4f66"), ((0, 0.55), (0.5, -0.1), (1, -0.5)))
    x, y = 0, 118
    canvas.glow(ellipse(x + 14, y - 16, 124, 120), (0, 0, 0), 0.5, 12)
    for radius, base, stops in (
        (122, metal, METAL),
        (112, toned(metal, -0.2), METAL),
        (98, INK, SOFT),
        (90, metal, METAL),
        (78, INK, FLAT),
        (64, toned(INK, 0.12), SOFT),
        (54, colour("1c2b45"), ((0, 0.3), (1, -0.6))),
        (36, colour("121a2c"), SOFT),
    ):
        canvas.fill(ellipse(x, y, radius, radius), base, stops)
    for number in range(24):
        angle = math.tau * number / 24
        ends = [(x + far * math.cos(angle), y + far * math.sin(angle)) for far in (101, 109)]
        canvas.stroke(ends, 2.4, INK if number % 3 else accent, round_ends=False)
    tint = mixed(colour("6f7fd8"), accent, chance.uniform(0, 0.4))
    canvas.fill(ellipse(x - 16, y + 18, 20, 13), toned(tint, 0.5), alpha=0.75)
    canvas.fill(ellipse(x + 16, y - 18, 10, 7), toned(accent, 0.4), alpha=0.5)


def watch(canvas: Canvas, colours: Colours, chance: Random) -> None:
    """A pocket watch with its chain."""
    case, dial, _ = colours
    for number in range(21):
        share = number / 20
        x = 20 + 330 * share
        y = 452 - 470 * share + 130 * math.sin(math.pi * share)
        turn = (13, 8) if number % 2 else (8, 12)
        canvas.stroke(ellipse(x, y, *turn), 6, toned(case, -0.35))
        canvas.stroke(ellipse(x - 1, y + 1, *turn), 3, toned(case, 0.3))
    canvas.glow(ellipse(10, 176, 196, 186), (20, 16, 12), 0.45, 16)
    canvas.stroke(ellipse(0, 428, 34, 32), 12, toned(case, -0.3))
    canvas.stroke(ellipse(-1, 429, 34, 32), 6, toned(case, 0.4))
    canvas.fill(box(0, 368, 44, 38, 8), case, METAL)
    canvas.fill(ellipse(0, 186, 194, 194), toned(case, -0.35), METAL)
    canvas.fill(ellipse(-2, 188, 188, 188), case, METAL)
    face(canvas, (0, 186), 174, dial, case, chance)
    canvas.fill(ellipse(0, 118, 40, 40), toned(dial, -0.12), FLAT)
    canvas.stroke(ellipse(0, 118, 40, 40), 1.6, INK)
    angle = chance.uniform(0, math.tau)
    canvas.stroke([(0, 118), (30 * math.cos(angle), 118 + 30 * math.sin(angle))], 3, INK)
    canvas.fill(
        [*ellipse(0, 186, 150, 150, 100, 175), *ellipse(26, 158, 126, 126, 175, 100)], (255, 255, 255), alpha=0.3
    )


def boat(canvas: Canvas, colours: Colours, chance: Random) -> None:
    """A model of a sailing boat on its stand."""
    hull, sail, accent = colours
    for x in (-92, 92):
        canvas.fill([(x - 30, 0), (x + 30, 0), (x + 15, 64), (x - 15, 64)], colour("5b3d26"), WOOD)
    canvas.fill(box(0, 0, 300, 18, 4), colour("6d4a2f"), TOP_LIT, down=True)
    canvas.fill([(-24, 40), (40, 40), (56, 76), (-40, 76)], toned(hull, -0.35), WOOD)
    canvas.fill(
        smooth([(-222, 132), (-190, 92), (-110, 64), (40, 62), (170, 90), (248, 148)]),
        hull,
        ((0, 0.15), (1, -0.4)),
        down=True,
    )
    canvas.fill([(-224, 132), (248, 148), (244, 138), (-218, 122)], toned(accent, 0.1), FLAT)
    canvas.fill(
        smooth([(-222, 132), (0, 142), (248, 148), (60, 154), (-120, 148)], closed=True), colour("b58a57"), WOOD
    )
    canvas.fill(box(-62, 142, 112, 26, 6), colour("8a5f38"), TOP_LIT, down=True)
    canvas.tube((18, 140), (18, 548), (10, 7), colour("7a5230"), WOOD)
    canvas.tube((18, 178), (-206, 190), (8, 7), colour("7a5230"), WOOD)
    bend = chance.uniform(14, 34)
    canvas.fill(
        [(10, 192), (10, 536), *smooth([(10, 536), (-90 - bend, 380), (-204, 200)]), (-204, 200)],
        sail,
        ((0, -0.16), (0.6, 0.1), (1, -0.05)),
    )
    canvas.fill(
        [*smooth([(30, 500), (110 + bend, 330), (236, 158)]), (40, 186)], toned(sail, -0.06), ((0, 0.12), (1, -0.14))
    )
    for share in (0.25, 0.5, 0.75):
        canvas.stroke([(10, 192 + 344 * share), (-200 + 170 * share, 200 + 330 * share)], 1.6, toned(sail, -0.18))
    canvas.fill([(22, 548), (78, 536), (22, 522)], accent, FLAT)


def telescope(canvas: Canvas, colours: Colours, chance: Random) -> None:
    """A brass telescope on a tripod."""
    brass, wood, band = colours
    for x in (-30, 172, -172):
        canvas.tube((x * 0.12, 252), (x, 0), (20, 13), toned(wood, -0.12 if abs(x) < 40 else 0), WOOD)
        canvas.ball(x, 2, 11, brass)
    canvas.turned([(230, 40), (244, 44), (262, 26), (300, 20)], brass, METAL)
    steep = chance.uniform(0.26, 0.38)

    def at(along: float) -> tuple[float, float]:
        return along * math.cos(steep), 320 + along * math.sin(steep)

    canvas.tube(at(-330), at(-240), (38, 38), toned(brass, -0.2))
    canvas.tube(at(-242), at(-90), (52, 52), brass)
    canvas.tube(at(-92), at(220), (76, 84), band, CERAMIC)
    for along, wide in ((-246, 60), (-96, 86), (214, 96)):
        canvas.tube(at(along), at(along + 18), (wide, wide), brass)
    canvas.tube(at(220), at(312), (90, 106), brass)
    canvas.tube(at(310), at(330), (116, 116), toned(brass, 0.1))
    canvas.tube(at(-352), at(-328), (52, 46), INK)
    canvas.tube((0, 292), (0, 330), (24, 24), brass)
    canvas.ball(0, 306, 17, brass)


def pearls(canvas: Canvas, colours: Colours, chance: Random) -> None:
    """A necklace on a bust."""
    velvet, pearl, clasp = colours
    canvas.turned([(0, 150), (16, 156), (28, 120)], toned(velvet, 0.1), SOFT)
    half = [(26, 62), (60, 150), (140, 196), (230, 190), (280, 150), (316, 92), (360, 66), (430, 60), (470, 64)]
    outline = smooth([(width, height) for height, width in half])
    canvas.fill([*outline, *[(-x, y) for x, y in reversed(outline)]], velvet, CERAMIC)
    canvas.fill(ellipse(0, 470, 64, 13), toned(velvet, 0.14))
    for drop, wide, size in ((150, 74, 10), (246, 92, 13)):
        count = 33
        for number in range(count):
            share = 2 * number / (count - 1) - 1
            x = wide * math.sin(share * math.pi * 0.74)
            y = 404 - drop * math.cos(share * math.pi / 2) ** 0.9
            grown = size * (1.1 - 0.45 * abs(share))
            canvas.ball(x + 4, y - 5, grown, toned(velvet, -0.5), 0.05)
            canvas.ball(x, y, grown, pearl, 0.8)
    canvas.fill(smooth([(-15, 130), (0, 146), (15, 130), (0, 92)], closed=True), clasp, METAL)
    canvas.ball(0, 122, 9 + chance.uniform(0, 2), toned(clasp, 0.2))
