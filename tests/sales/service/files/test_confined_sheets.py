"""Sheets that a confined process reads: what comes back, and what becomes of a file that passes a limit."""

import threading
from collections.abc import Iterator
from decimal import Decimal

import pytest
from msgspec import structs

from saleroom.confined import confinement
from saleroom.confined.confinement import Confinement
from saleroom.kernel.errors import Invalid
from saleroom.sales.service.files import sheets
from tests.decodings import decodings
from tests.sales.service.files.test_sheets import SHEET, xlsx

pytestmark = pytest.mark.usefixtures("confined_process")


@pytest.fixture
def confined() -> Iterator[Confinement]:
    """What reads sheets."""
    made = Confinement("sheets")
    yield made
    made.close()


@pytest.mark.parametrize(
    "data",
    [
        SHEET.encode(),
        xlsx(["Lot", "Title", "Reserve", "Notes"], [12, "Clock", 0.1 + 0.2], ["12A", True, 1250, "a"], [], [3, "=x"]),
        xlsx(["Lot", "Title"], [1, 10**25], [2, 2**63 - 1], [3, -(10**25)], [4, 1e300], [5, -1.5]),
    ],
)
async def test_the_process_gives_the_same_answer(confined: Confinement, data: bytes) -> None:
    """Texts, amounts, large numbers and headings come back as they are read; a refusal with its faults and facts."""
    try:
        expected = sheets.read(data)
    except Invalid as here:
        with pytest.raises(Invalid) as there:
            await sheets.read_confined(confined, data)
        [one], [other] = here.faults["catalogue"], there.value.faults["catalogue"]
        assert (one, one.facts) == (other, other.facts)
    else:
        found = await sheets.read_confined(confined, data)
        assert expected == found
        assert [[type(cell) for cell in row] for row in expected[0]] == [
            [type(cell) for cell in row] for row in found[0]
        ]


async def test_the_answer_is_decoded_row_by_row_beside_the_loop(confined: Confinement) -> None:
    """The event loop waits for one row at most: each is decoded by itself, in the thread of the work on files."""
    with decodings() as decoded:
        rows, _ = await sheets.read_confined(confined, b"Lot;Title\n" + b"1;Clock\n" * 200)
    [(thread, count)] = decoded.items()
    assert thread != threading.current_thread().name
    assert len(rows) < count


@pytest.mark.parametrize(
    ("does", "code"),
    [
        ("bytearray(2**32)", "sheet_too_costly"),
        ("[0 for _ in iter(int, 1)]", "sheet_too_costly"),
        ("__import__('os').abort()", "not_a_sheet"),
    ],
)
async def test_a_limit_is_named_with_its_remedy(
    confined: Confinement, monkeypatch: pytest.MonkeyPatch, does: str, code: str
) -> None:
    """A file that takes too much memory or processor time is refused as such, and a crash is the fault of its file."""
    start = "import sys; sys.path[:] = sys.argv[4:]; from saleroom.sales.service.files import sheets"
    change = f"sheets.read_to_send = lambda data: {does}"
    monkeypatch.setattr(confinement, "START", f"{start}\n{change}\nfrom saleroom.confined.program import main; main()")
    monkeypatch.setattr(sheets, "WORK", structs.replace(sheets.WORK, cpu_seconds=1))
    with pytest.raises(Invalid) as refused:
        await sheets.read_confined(confined, b"Lot;Title")
    [fault] = refused.value.faults["catalogue"]
    assert fault.code == code
    monkeypatch.undo()
    assert Decimal("0.3") == (await sheets.read_confined(confined, xlsx(["Lot", "Title"], [1, 0.3])))[0][1][1]
