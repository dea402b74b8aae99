"""Documents: totals are sums of lines, a credit note takes back what it names once, and what is kept reads back the same."""

from datetime import date
from decimal import Decimal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from saleroom.kernel.errors import Contradiction
from saleroom.kernel.money import STEP, ZERO
from saleroom.sales.domain.lots import TaxScheme
from saleroom.settlement.domain.documents.content import (
    LINES_MAX,
    Category,
    Document,
    DocumentKind,
    Draft,
    Line,
    Payment,
    credit_note,
    decoded,
    digest_of,
    encoded,
    issued,
    number_of,
    refuse_faulty,
    tax_totals,
)
from saleroom.settlement.domain.errors import CreditedAlready, NotToCredit
from saleroom.settlement.domain.rates.scales import part, rounded
from tests.settlement.documents import BUYER, FORMS, ON, WORDS, document, draft, line

RATES = st.sampled_from([Decimal(0), Decimal(7), Decimal("8.1"), Decimal(19), Decimal(20)])


@st.composite
def lines(draw: st.DrawFn) -> Line:
    """Return any line that a document can have, in euros."""
    net = draw(st.decimals(-1_000_000, 1_000_000, places=2)).quantize(STEP)
    scheme = draw(st.sampled_from(TaxScheme))
    rate = draw(RATES) if scheme is TaxScheme.STANDARD else ZERO
    words = WORDS.get(scheme, "")
    return Line(
        text=draw(st.text(max_size=20)), net=net, scheme=scheme, rate=rate, tax=rounded(part(net, rate), 2), words=words
    )


DOCUMENTS = st.lists(lines(), min_size=1, max_size=12).map(lambda some: document(*some))


@given(DOCUMENTS)
def test_the_sum_of_the_lines_is_the_total(made: Document) -> None:
    """So it is by tax: what the categories say is all that the lines say."""
    refuse_faulty(made, 2)
    assert made.total == sum((one.total for one in made.lines), ZERO) == made.due
    totals = tax_totals(made.lines)
    assert (made.net, made.tax) == (sum((t.net for t in totals), ZERO), sum((t.tax for t in totals), ZERO))
    assert len(totals) == len({(t.category, t.rate) for t in totals})


@given(DOCUMENTS, st.data())
def test_credit_notes_take_back_each_line_once(made: Document, data: st.DataObject) -> None:
    """However the lines are taken back, in the end all are, and nothing is left to take back."""
    taken: set[int] = set()
    total = ZERO
    while len(taken) < len(made.lines):
        left = sorted(set(range(len(made.lines))) - taken)
        places = data.draw(st.lists(st.sampled_from(left), max_size=3))
        note = credit_note(made, taken, places)
        refuse_faulty(note, 2)
        assert (note.kind, note.credits and note.credits.number) == (DocumentKind.CREDIT_NOTE, made.number)
        taken |= {one.credits for one in note.lines if one.credits is not None}
        total += note.total
    assert total == made.total
    with pytest.raises(CreditedAlready):
        credit_note(made, taken, [])


@given(DOCUMENTS)
def test_what_is_kept_reads_back_as_it_was(made: Document) -> None:
    """Its canonical form is one, so that another byte is another digest."""
    content = encoded(made)
    assert made == decoded(content)
    assert encoded(decoded(content)) == content
    assert digest_of(content, "a", "") != digest_of(content, "b", "") != digest_of(content, "b", "c")


def test_what_no_document_can_say() -> None:
    """Each fault is named."""
    ours = line(TaxScheme.STANDARD, "10.00", "19")
    paid = Payment(on=ON, amount=Decimal("5.000"), method="cash")
    faults = {
        "document_lines": [draft(), draft(ours, kind=DocumentKind.RECEIPT), draft(kind=DocumentKind.RECEIPT)],
        "too_many_lines": [draft(*[ours] * (LINES_MAX + 1))],
        "minor_unit": [draft(line(TaxScheme.MARGIN, "0.001")), structs.replace(draft(ours), payments=(_half(paid),))],
        "line_tax": [draft(structs.replace(ours, tax=Decimal("1.910"))), draft(structs.replace(ours, rate=ZERO))],
    }
    for code, drafts in faults.items():
        for one in drafts:
            with pytest.raises(Contradiction) as refused:
                refuse_faulty(one, 2)
            assert [code] == [fault.code for fault in refused.value.faults["lines"]]
    refuse_faulty(structs.replace(draft(kind=DocumentKind.RECEIPT), payments=(paid,)), 2)


def _half(payment: Payment) -> Payment:
    return structs.replace(payment, amount=payment.amount + STEP)


def test_what_cannot_be_credited() -> None:
    """A credit note and a receipt, a line that is not there, and a line that was credited."""
    made = FORMS["all at once"]
    for kind in (DocumentKind.CREDIT_NOTE, DocumentKind.RECEIPT):
        with pytest.raises(NotToCredit):
            credit_note(structs.replace(made, kind=kind), (), [])
    for place in (-1, len(made.lines)):
        with pytest.raises(NotToCredit):
            credit_note(made, (), [place])
    with pytest.raises(CreditedAlready):
        credit_note(made, {1}, [1, 2])


def test_numbers_begin_again_each_year() -> None:
    """A number has the prefix of its series, the year and the place."""
    assert "INV-2026-00001" == number_of(DocumentKind.INVOICE, 2026, 1)
    assert "CRN-2027-123456" == number_of(DocumentKind.CREDIT_NOTE, 2027, 123456)


def test_a_document_is_its_draft_with_a_number() -> None:
    """Nothing else changes, and a document with unknown members is none."""
    ours = draft(line(TaxScheme.EXEMPT))
    made = issued(ours, "INV-2026-00007", date(2026, 1, 2))
    assert ours == Draft(**{name: getattr(made, name) for name in Draft.__struct_fields__})
    assert (made.party, made.number) == (BUYER, "INV-2026-00007")
    with pytest.raises(msgspec.ValidationError):
        decoded("{}")


def test_each_form_has_the_category_of_its_tax() -> None:
    """A rate makes it standard, otherwise the scheme says it."""
    found = {name: [one.category for one in tax_totals(made.lines)] for name, made in FORMS.items()}
    assert [Category.STANDARD] == found["standard"]
    assert [Category.EXEMPT] == found["margin"] == found["resale right"] == found["exempt"]
    assert [Category.REVERSE_CHARGE] == found["reverse charge"]
    assert [Category.OUTSIDE] == found["none"]
    assert [Category.ZERO] == found["no rate"]
