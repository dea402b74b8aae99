"""Things of the house and the wall. Each draws itself on a canvas, in three colours; `chance` varies it."""

from __future__ import annotations

import math
from random import Random

from scripts.demo_pictures.canvas import (
    FLAT,
    METAL,
    SOFT,
    WOOD,
    Canvas,
    Colour,
    Point,
    box,
    colour,
    ellipse,
    mixed,
    smooth,
    toned,
)
from scripts.demo_pictures.vessels import BRASS, CREAM, INK, Colours

TOP_LIT = ((0, 0.3), (0.15, 0.06), (0.8, -0.1), (1, -0.3))


def clock(canvas: Canvas, colours: Colours, chance: Random) -> None:
    """A bracket clock in an arched case."""
    wood, dial, metal = colours
    for x in (-150, 150):
        canvas.turned([(0, 20), (8, 24), (20, 18)], metal, METAL, x=x)
    canvas.fill(box(0, 18, 392, 30, 4), toned(wood, -0.1), TOP_LIT, down=True)
    canvas.fill(box(0, 46, 356, 26, 3), wood, WOOD)
    case = [(-160, 70), (160, 70), (160, 330), *ellipse(0, 330, 160, 132, 0, 180), (-160, 330)]
    canvas.fill(case, wood, WOOD)
    canvas.stroke(ellipse(0, 330, 152, 124, 0, 180), 5, toned(wood, 0.22), round_ends=False)
    canvas.fill(
        [(-132, 92), (132, 92), (132, 318), *ellipse(0, 318, 132, 116, 0, 180), (-132, 318)], toned(wood, -0.4), FLAT
    )
    face(canvas, (0, 302), 118, dial, metal, chance)
    canvas.fill(box(0, 104, 150, 44, 22), metal, METAL)
    canvas.fill(box(0, 112, 134, 28, 14), toned(wood, -0.55))
    canvas.turned([(458, 30), (466, 32), (478, 12), (492, 20), (508, 16), (520, 2)], metal, METAL)
    for side in (-1, 1):
        canvas.fill(box(side * 148, 74, 16, 250, 3), toned(wood, 0.08), WOOD)
        canvas.turned([(322, 14), (330, 17), (344, 10), (352, 2)], metal, METAL, x=side * 148)


def face(canvas: Canvas, middle: Point, radius: float, dial: Colour, metal: Colour, chance: Random) -> None:
    """Draw a dial with hours and hands."""
    x, y = middle
    canvas.fill(ellipse(x, y, radius, radius), metal, METAL)
    canvas.fill(ellipse(x, y, radius * 0.91, radius * 0.91), toned(metal, -0.35))
    canvas.fill(ellipse(x, y, radius * 0.88, radius * 0.88), dial, SOFT)
    for hour in range(60):
        angle = math.tau * hour / 60
        long = 0.62 if hour % 15 == 0 else 0.67 if hour % 5 == 0 else 0.78
        ends = [(x + radius * far * math.cos(angle), y + radius * far * math.sin(angle)) for far in (long, 0.82)]
        canvas.stroke(ends, radius * (0.045 if hour % 5 == 0 else 0.01), INK, round_ends=False)
    hours, minutes = chance.uniform(0.7, 0.95), chance.uniform(0.1, 0.4)
    for turn, long, width in ((hours, 0.46, 0.05), (minutes, 0.7, 0.032)):
        angle = math.tau * turn
        tip = (x + radius * long * math.cos(angle), y + radius * long * math.sin(angle))
        canvas.stroke([(x, y), tip], radius * width, INK)
    canvas.ball(x, y, radius * 0.06, metal)


def chair(canvas: Canvas, colours: Colours, chance: Random) -> None:
    """A dining chair with a ladder back and an upholstered seat."""
    wood, seat, _ = colours
    for side in (-1, 1):
        canvas.tube((side * 108, 30), (side * 112, 250), (20, 24), toned(wood, -0.3), WOOD)
        canvas.tube((side * 118, 235), (side * 128, 520), (26, 20), wood, WOOD)
    for number, low in enumerate((290, 362, 434)):
        lift = 16 + 4 * number
        rail = [(-122, low), (0, low + lift), (122, low), (123, low + 34), (0, low + 40 + lift), (-123, low + 34)]
        canvas.fill([*smooth(rail[:3]), *smooth(rail[3:])], wood, WOOD)
    crest = [(-134, 500), (0, 520), (134, 500), (140, 532), (70, 546), (0, 556), (-70, 546), (-140, 532)]
    canvas.fill([*smooth(crest[:3]), *smooth(crest[3:])], toned(wood, 0.05), WOOD)
    canvas.fill([(-128, 252), (128, 252), (168, 196), (-168, 196)], seat, FLAT)
    canvas.fill(smooth([(-128, 254), (0, 268), (128, 254), (166, 206), (0, 196), (-166, 206)], closed=True), seat, SOFT)
    canvas.fill(box(0, 166, 336, 36, 6), wood, WOOD)
    canvas.tube((-138, 84), (138, 84), (15, 15), toned(wood, -0.12), WOOD)
    for side in (-1, 1):
        profile = [(-26, 13), (-16, 17), (20, 14), (70, 21), (84, 15), (140, 24), (156, 26), (190, 26)]
        canvas.turned(profile, wood, WOOD, x=side * 150)
    del chance


def radio(canvas: Canvas, colours: Colours, chance: Random) -> None:
    """A table radio with a lit dial."""
    case, cloth, knob = colours
    canvas.fill(box(0, 8, 520, 330, 60), toned(case, -0.25), WOOD)
    canvas.fill(box(-4, 14, 506, 318, 56), case, TOP_LIT, down=True)
    canvas.fill(box(-92, 62, 270, 228, 26), toned(case, -0.5))
    canvas.fill(box(-92, 68, 258, 216, 22), cloth, FLAT)
    for number in range(7):
        canvas.fill(box(-188 + 32 * number, 70, 9, 212, 4), case, WOOD)
    canvas.fill(box(152, 168, 172, 122, 20), toned(case, -0.55))
    canvas.fill(box(152, 174, 160, 110, 16), colour("ffdf9a"), ((0, 0.25), (0.5, 0.05), (1, -0.3)))
    for number in range(13):
        angle = math.radians(20 + 140 * number / 12)
        ends = [(152 + far * math.cos(angle), 184 + far * math.sin(angle)) for far in (66, 84 if number % 3 else 92)]
        canvas.stroke(ends, 3, colour("6b4a1c"))
    angle = math.radians(chance.uniform(50, 130))
    canvas.stroke([(152, 184), (152 + 82 * math.cos(angle), 184 + 82 * math.sin(angle))], 4, colour("a3271c"))
    for x in (106, 198):
        canvas.fill(ellipse(x + 3, 104, 39, 39), toned(case, -0.6))
        canvas.fill(ellipse(x, 108, 36, 36), knob, METAL)
        canvas.fill(ellipse(x, 108, 24, 24), toned(knob, -0.15), METAL)
    for x in (-190, 190):
        canvas.fill(box(x, -6, 54, 16, 5), INK)


def books(canvas: Canvas, colours: Colours, chance: Random) -> None:
    """A set of leather-bound volumes, the last one leaning."""
    main, second, gilt = colours
    x = -250.0
    for number in range(6):
        leather = main if number % 3 else second
        wide, high = chance.uniform(58, 78), chance.uniform(310, 380)
        middle = x + wide / 2
        canvas.fill([(x, 0), (x + wide, 0), (x + wide, high), *smooth([(middle, high + 5), (x, high)])], leather, WOOD)
        for at in (0.06, 0.22, 0.42, 0.62, 0.82, 0.94):
            canvas.fill(box(middle, high * at, wide, 9, 2), toned(leather, 0.12), WOOD)
            canvas.fill(box(middle, high * at + 12, wide * 0.9, 2.5), gilt, METAL)
        canvas.fill(
            box(middle, high * 0.67, wide * 0.86, high * 0.12, 3), toned(second if number % 3 else main, -0.35), WOOD
        )
        for at in (0.7, 0.73, 0.76):
            canvas.fill(box(middle, high * at, wide * 0.5, 3), gilt, METAL)
        canvas.ball(middle, high * 0.52, 6, gilt)
        x += wide + 2
    foot, lean = x + 96, 0.30
    dx, dy = -math.sin(lean), math.cos(lean)
    corners = [
        (foot, 0),
        (foot + 62 * dy, 62 * lean),
        (foot + 62 * dy + 330 * dx, 62 * lean + 330 * dy),
        (foot + 330 * dx, 330 * dy),
    ]
    canvas.fill(corners, second, WOOD)
    for at in (0.12, 0.2, 0.78, 0.86):
        canvas.stroke(
            [
                (one[0] + (other[0] - one[0]) * at, one[1] + (other[1] - one[1]) * at)
                for one, other in ((corners[0], corners[3]), (corners[1], corners[2]))
            ],
            5,
            gilt,
            round_ends=False,
        )


def frame(canvas: Canvas, wide: float, high: float, width: float, wood: Colour) -> None:
    """Draw a moulded frame on the wall around a field of `wide` by `high` whose middle is at (0, 270)."""
    left, right, low, up = -wide / 2, wide / 2, 270 - high / 2, 270 + high / 2
    canvas.glow(box(16, low - width - 22, wide + 2 * width, high + 2 * width), (20, 16, 12), 0.5, 16)
    for share, tone in ((1.0, 0.0), (0.72, 0.2), (0.5, -0.12), (0.16, -0.3)):
        w = width * share
        base = toned(wood, tone)
        inner = [(left, low), (right, low), (right, up), (left, up)]
        outer = [(left - w, low - w), (right + w, low - w), (right + w, up + w), (left - w, up + w)]
        for side, lit in ((0, -0.32), (1, -0.18), (2, 0.22), (3, 0.06)):
            corner = (side + 1) % 4
            canvas.fill([outer[side], outer[corner], inner[corner], inner[side]], toned(base, lit), FLAT)


def painting(canvas: Canvas, colours: Colours, chance: Random) -> None:
    """A framed landscape: sky, sun, hills and water."""
    sky, hill, sun = colours
    wide, high = 620, 400
    frame(canvas, wide, high, 58, BRASS)
    left, right, low, up = -wide / 2, wide / 2, 270 - high / 2, 270 + high / 2
    canvas.fill(box(0, low, wide, high), sky, ((0, -0.1), (0.6, 0.45), (1, 0.6)), down=True)
    at = (chance.uniform(-180, 180), chance.uniform(330, 390))
    canvas.fill(ellipse(*at, 62, 62), toned(sun, 0.5), alpha=0.45)
    canvas.fill(ellipse(*at, 40, 40), sun, SOFT)
    for layer in range(4):
        begin, height, waves = chance.uniform(0, 9), 300 - 52 * layer, chance.uniform(1.2, 2.6)
        ridge = [
            (
                left + wide * step / 40,
                max(
                    low,
                    height
                    + (34 - 5 * layer) * math.sin(begin + waves * step / 6)
                    + 9 * math.sin(begin * 3 + step * 0.9),
                ),
            )
            for step in range(41)
        ]
        shade = mixed(mixed(sky, hill, 0.35 + 0.22 * layer), INK, 0.06 * layer)
        canvas.fill([(left, low), *ridge, (right, low)], shade, ((0, 0.2), (1, -0.25)), down=True)
    canvas.fill(box(0, low, wide, 74), mixed(sky, hill, 0.3), ((0, 0.3), (1, -0.3)), down=True)
    for _ in range(26):
        x, y = chance.uniform(left + 40, right - 40), low + chance.uniform(6, 68)
        reach = chance.uniform(8, 34)
        canvas.stroke([(x - reach, y), (min(right - 6, x + reach), y)], 2.4, mixed(sky, sun, chance.uniform(0.1, 0.7)))
    for x in sorted(chance.uniform(left + 30, right - 30) for _ in range(4)):
        tall = chance.uniform(50, 96)
        canvas.fill(
            smooth([(x, 140), (x + 15, 160), (x, 140 + tall), (x - 15, 160)], closed=True), toned(hill, -0.5), FLAT
        )
    canvas.fill(
        [(left, up), (right, up), (right, up - 8), (left + 8, up - 8), (left + 8, low), (left, low)], INK, alpha=0.25
    )


def poster(canvas: Canvas, colours: Colours, chance: Random) -> None:
    """A travel poster: a train line, mountains, and the sun behind them."""
    sky, rock, sun = colours
    wide, high = 370, 500
    frame(canvas, wide, high, 16, INK)
    low, up = 270 - high / 2, 270 + high / 2
    canvas.fill(box(0, low, wide, high), CREAM, FLAT)
    canvas.fill(box(0, low + 88, wide - 28, high - 102), sky, ((0, -0.05), (1, 0.35)), down=True)
    x, y = chance.uniform(-50, 50), 388.0
    for number in range(15):
        angle = math.radians(180 * number / 14)
        rays = [
            (x + far * math.cos(angle + turn), y + far * math.sin(angle + turn))
            for far, turn in ((66, -0.05), (120, -0.03), (120, 0.03), (66, 0.05))
        ]
        canvas.fill([(max(-171, min(171, px)), min(up - 14, py)) for px, py in rays], toned(sun, 0.3))
    canvas.fill(ellipse(x, y, 56, 56), sun)
    for side, peak, foot in ((-60.0, 396.0, 150), (80.0, 350.0, 130), (10.0, 300.0, 190)):
        canvas.fill(
            [(max(-171, side - foot), 150), (side, peak), (side + 16, peak - 60), (side - 8, 150)], toned(rock, 0.18)
        )
        canvas.fill(
            [(side - 8, 150), (side + 16, peak - 60), (side, peak), (min(171, side + foot), 150)], toned(rock, -0.22)
        )
        snow = [
            (side - 26, peak - 52),
            (side, peak),
            (side + 30, peak - 52),
            (side + 12, peak - 40),
            (side, peak - 60),
            (side - 12, peak - 42),
        ]
        canvas.fill(snow, CREAM)
    canvas.fill(box(0, low + 88, 342, 52), toned(rock, -0.5), FLAT)
    arches = [(-171, low + 118), (171, low + 132), (171, low + 146), (-171, low + 132)]
    canvas.fill(arches, mixed(rock, CREAM, 0.55))
    canvas.fill([(-90, low + 138), (110, low + 146), (110, low + 166), (-90, low + 158)], toned(sun, -0.2))
    for number in range(8):
        canvas.fill(box(-80 + 23 * number, low + 147 + number, 13, 8, 2), CREAM)
    for at, part in ((low + 44, 0.82), (low + 22, 0.5)):
        canvas.fill(box(0, at, wide * part, 22 if part > 0.6 else 9), rock if part > 0.6 else toned(sun, -0.2))


def mirror(canvas: Canvas, colours: Colours, chance: Random) -> None:
    """An oval mirror in a gilt frame."""
    gilt, glass, _ = colours
    canvas.glow(ellipse(18, 246, 222, 282), (20, 16, 12), 0.5, 16)
    for reach, tone in ((44, 0.0), (34, 0.25), (22, -0.2), (10, 0.12)):
        canvas.fill(ellipse(0, 270, 168 + reach, 228 + reach), toned(gilt, tone), METAL)
    for number in range(40):
        angle = math.tau * number / 40
        canvas.ball(190 * math.cos(angle), 270 + 250 * math.sin(angle), 9, gilt)
    canvas.fill(ellipse(0, 270, 170, 230), toned(gilt, -0.6))
    canvas.fill(ellipse(0, 270, 164, 224), glass, ((0, 0.55), (0.45, 0.15), (1, -0.3)), down=True)
    shift = chance.uniform(-20, 20)
    for x, width, alpha in ((-70 + shift, 56, 0.26), (6 + shift, 18, 0.2)):
        edge = [(x, y) for y in (110, 430)]
        canvas.fill(
            [
                (edge[0][0] - 40, edge[0][1]),
                (edge[0][0] - 40 + width, edge[0][1]),
                (edge[1][0] + 40 + width, edge[1][1]),
                (edge[1][0] + 40, edge[1][1]),
            ],
            (255, 255, 255),
            alpha=alpha,
        )
    canvas.fill(smooth([(-40, 536), (-16, 552), (0, 574), (16, 552), (40, 536), (0, 524)], closed=True), gilt, METAL)
