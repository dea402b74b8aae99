"""The program of the process that prints: it limits itself, sets one paper with Typst, and ends.

Its folder has the data of the paper and its photos, and gets the PDF. The templates are of the house. They read texts of people
as values, which Typst never runs.
"""

from __future__ import annotations

import os
import resource
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec
import segno
import typst
from fontTools.ttLib import TTFont
from PIL import Image

from saleroom.confined.program import end_with, set_limit
from saleroom.sales.domain.paper import printable
from saleroom.sales.service.paper.paper_files import DATA, FAULT, MADE, READY

TEMPLATES = Path(__file__).parents[2] / "paper"
FONTS = TEMPLATES / "fonts"
CPU_SECONDS_MAX = 150
MEMORY_BYTES_MAX = 2 * 2**30
"""Address space of the process, of which it uses less (docs/paper.md)."""
FILE_BYTES_MAX = 512 * 2**20
NICENESS = 10
PHOTO_WIDTH, PHOTO_QUALITY = 400, 80
"""Photos are 44 mm wide on paper: 230 dots to the inch."""
_MASK = 3
_QUIET_ZONE = 4
"""As in `site/qr_codes.py`."""
_MISSING = "\ufffd"


def main() -> None:
    """Set the paper of a sale, of the kind and in the folder that the arguments name."""
    run(typeset)


def run(work: Callable[[str, Path], bytes]) -> None:
    """Be the process that prints: limit itself, write `paper.pdf` to the folder that the arguments name, and end."""
    kind, folder = sys.argv[2], Path(sys.argv[3])
    _limit()
    threading.Thread(target=end_with, args=(sys.stdin.buffer,), daemon=True).start()
    sys.stdout.buffer.write(READY)
    sys.stdout.buffer.flush()
    try:
        (folder / MADE).write_bytes(work(kind, folder))
    except (typst.TypstError, OSError, ValueError) as error:
        (folder / FAULT).write_text(str(error))
        os._exit(1)
    os._exit(0)


def typeset(kind: str, folder: Path) -> bytes:
    """Return the paper of a sale from `data.json` and the photos in a folder, which are WebP. Raises TypstError."""
    for photo in folder.glob("*.webp"):
        photo.with_suffix(".jpg").write_bytes(_as_jpeg(photo.read_bytes()))
        photo.unlink()
    data = msgspec.json.decode((folder / DATA).read_bytes())
    for lot in data.get("lots", []):
        if lot.get("photo") and not (folder / lot["photo"]["file"]).exists():
            lot["photo"] = None  # it was taken from the lot while the others were read
    return set_paper(TEMPLATES / f"{kind.replace('-', '_')}.typ", folder, data)


def set_paper(
    template: Path, folder: Path, data: Any, standards: Sequence[typst.PDFStandard] = ("ua-1",), at: int | None = None
) -> bytes:
    """Return data as a tagged PDF by a template; files that it shows are in the folder. `at` is when it was made (UNIX time).

    It keeps the standards. If some text cannot, the paper is set all the same, and a file says why. Raises TypstError.
    """
    (folder / DATA).write_bytes(msgspec.json.encode(_prepared(data, _glyphs())))
    for source, name in ((template, "main.typ"), (TEMPLATES / "common.typ", "common.typ")):
        shutil.copy(source, folder / name)
    try:
        return _compiled(folder, standards, at)
    except typst.TypstError as error:
        (folder / FAULT).write_text(str(error))
        return _compiled(folder, (), at)


def _compiled(folder: Path, standards: Sequence[typst.PDFStandard], at: int | None) -> bytes:
    fonts = typst.Fonts(include_system_fonts=False, include_embedded_fonts=False, font_paths=[str(FONTS)])
    main, root = str(folder / "main.typ"), str(folder)
    made = typst.compile(main, root=root, font_paths=fonts, format="pdf", pdf_standards=list(standards), timestamp=at)
    assert isinstance(made, bytes), "without a file for it, it is returned"
    return made


def _prepared(value: Any, glyphs: frozenset[int]) -> Any:
    """Return data as the templates read them: texts that can be printed, and codes drawn for their addresses."""
    if isinstance(value, str):
        return "".join(one if ord(one) in glyphs else _MISSING for one in printable(value))
    if isinstance(value, list):
        return [_prepared(one, glyphs) for one in value]
    if isinstance(value, dict):
        drawn = {"svg": _code(value["address"])} if "address" in value else {}
        return {name: _prepared(one, glyphs) for name, one in value.items() if name != "address"} | drawn
    return value


def _glyphs() -> frozenset[int]:
    """Return the characters that the fonts have, and those that need no glyph. PDF/UA knows no character without one."""
    found = {0x09, 0x200B}
    for file in _font_files():
        with TTFont(file, lazy=True) as font:
            found |= font.getBestCmap().keys()
    return frozenset(found)


def _font_files() -> Iterator[Path]:
    return (file for file in sorted(FONTS.iterdir()) if file.suffix == ".ttf")


def _code(address: str) -> str:
    drawn = BytesIO()
    code = segno.make(address, error="m", micro=False, boost_error=False, mask=_MASK)
    code.save(drawn, kind="svg", border=_QUIET_ZONE, dark="#000", light="#fff", xmldecl=False)
    return drawn.getvalue().decode()


def _as_jpeg(photo: bytes) -> bytes:
    """Return a photo that goes into a PDF as it is: Typst would unpack any other."""
    made = BytesIO()
    with Image.open(BytesIO(photo), formats=["WEBP"]) as picture:
        picture.thumbnail((PHOTO_WIDTH, PHOTO_WIDTH * 4))
        picture.convert("RGB").save(made, "JPEG", quality=PHOTO_QUALITY)
    return made.getvalue()


def _limit() -> None:
    """Set the limits: priority below the house, processor time, memory, the size of a file."""
    os.nice(NICENESS)
    with suppress(OSError):  # Linux: if memory runs out, the kernel kills this process and not the house
        Path("/proc/self/oom_score_adj").write_text("1000")
    set_limit(resource.RLIMIT_CORE, 0)
    set_limit(resource.RLIMIT_FSIZE, FILE_BYTES_MAX)
    set_limit(resource.RLIMIT_CPU, CPU_SECONDS_MAX)
    set_limit(resource.RLIMIT_AS, MEMORY_BYTES_MAX)
