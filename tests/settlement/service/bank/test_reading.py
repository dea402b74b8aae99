"""Files of banks in a confined process: what comes back, and what becomes of a file that passes a limit."""

import threading
from collections.abc import Iterator

import httpx
import pytest
from msgspec import structs

from saleroom.confined import confinement
from saleroom.confined.confinement import Confinement
from saleroom.kernel.errors import Invalid
from saleroom.settlement.service.bank import camt, reading, status_reports
from tests.decodings import decodings
from tests.fixtures_house import House
from tests.settlement.api.test_bank import Banking
from tests.settlement.camt import credit, debit, statement
from tests.settlement.pain002 import block, report, sums, transfer

pytestmark = pytest.mark.usefixtures("confined_process")


@pytest.fixture
def confined() -> Iterator[Confinement]:
    """What reads files of banks."""
    made = Confinement("bank files")
    yield made
    made.close()


async def test_the_process_gives_the_same_statement(confined: Confinement) -> None:
    """Amounts, days, texts and payments that went out come back as they are read; a refusal with its faults."""
    data = statement(credit("1250.50", "INV-2026-00012", reference="R1"), debit("10.00", "PAY-2026-00001-1"))
    found = await reading.read_statement(confined, data)
    assert camt.read(data) == found and 1 == len(found.payments)
    with pytest.raises(Invalid) as here:
        camt.read(b"none")
    with pytest.raises(Invalid) as there:
        await reading.read_statement(confined, b"none")
    assert here.value.faults == there.value.faults


async def test_the_process_gives_the_same_report(confined: Confinement) -> None:
    """A status report comes back as it is read."""
    said = block("PAY-2026-00001", transfer("E1", "RJCT", "AC04", "closed", amount="12.30"), sums=sums(1, "12.30"))
    data = report("PAY-2026-00001", said, status="PART")
    assert status_reports.read(data) == await reading.read_report(confined, data)


async def test_the_statement_is_decoded_payment_by_payment_beside_the_loop(confined: Confinement) -> None:
    """The event loop waits for one payment at most: each is decoded by itself, in the thread of the work on files."""
    data = statement(*(credit("1.00", "", reference=f"R{number}") for number in range(100)))
    with decodings() as decoded:
        found = await reading.read_statement(confined, data)
    [(thread, count)] = decoded.items()
    assert thread != threading.current_thread().name
    assert 100 == len(found.payments) < count


@pytest.mark.parametrize(
    ("does", "code"),
    [("bytearray(2**32)", "bank_file_too_costly"), ("__import__('os').abort()", "bank_file_damaged")],
)
def test_a_file_that_passes_a_limit_costs_the_house_nothing(
    house: House, monkeypatch: pytest.MonkeyPatch, does: str, code: str
) -> None:
    """A confined process reads the file; if it takes too much memory or crashes, the answer is 400 with the remedy."""
    banking = Banking(house, 1)
    monkeypatch.setattr(
        confinement,
        "START",
        "import sys; sys.path[:] = sys.argv[4:]; from saleroom.settlement.service.bank import camt, status_reports\n"
        f"camt.read = status_reports.read = lambda data: {does}\n"
        "from saleroom.confined.program import main; main()",
    )
    report_sent = banking.cashier.post("/payment-status-reports", files={"report": ("r.xml", b"<a/>", "text/xml")})
    assert isinstance(report_sent, httpx.Response)
    for answer, field in ((banking.send(b"<a/>"), "statement"), (report_sent, "report")):
        assert (400, code) == (answer.status_code, answer.json()["message"][field][0]["code"])
        assert "ask your bank" in answer.json()["message"][field][0]["message"]


async def test_too_much_time_is_refused(confined: Confinement, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that takes too much processor time is refused, and the next one is read."""
    monkeypatch.setattr(reading, "STATEMENT", structs.replace(reading.STATEMENT, cpu_seconds=1))
    start = "import sys; sys.path[:] = sys.argv[4:]; from saleroom.settlement.service.bank import camt"
    loop = "camt.read = lambda data: [0 for _ in iter(int, 1)]"
    monkeypatch.setattr(confinement, "START", f"{start}\n{loop}\nfrom saleroom.confined.program import main; main()")
    with pytest.raises(Invalid, match="takes more than 1 s"):
        await reading.read_statement(confined, b"<a/>")
    monkeypatch.undo()
    assert 1 == len((await reading.read_statement(confined, statement(credit("1.00", "x")))).payments)
