"""Draws every picture of the demo's catalogue into the package, in about ten seconds."""

from __future__ import annotations

import io

from saleroom.tools.demo.catalogue import VIEWS, catalogue
from scripts.demo_pictures.pictures import draw

QUALITY = 72


def main() -> None:
    """Write all files."""
    for piece in catalogue():
        for view in range(len(VIEWS)):
            stream = io.BytesIO()
            draw(piece.thing, piece.colours, view).save(stream, "WEBP", quality=QUALITY, method=6)
            piece.file(view).write_bytes(stream.getvalue())


main()
