"""The files by which the house and the process that prints talk: names within the folder of one paper."""

from __future__ import annotations

DATA = "data.json"
"""What the paper shows; photos lie beside it as `NAME.webp`, for those that the data call `NAME.jpg`."""
MADE = "paper.pdf"
FAULT = "fault.txt"
"""Why the paper does not keep the standard, or could not be set; for the log."""
READY = b"r"
"""The only output of the process: its limits are set, so any failure from here on is due to the paper."""
