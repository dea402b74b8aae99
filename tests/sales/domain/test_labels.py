"""Labels: their form and their natural order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saleroom.kernel.errors import Fault
from saleroom.sales.domain.labels import label_order, next_label, parse_label

LABELS = st.from_regex(r"\A[1-9][0-9]{0,5}[A-Z]{0,2}\Z")


@pytest.mark.parametrize(("typed", "label"), [("12", "12"), ("012a", "12A"), (" 7 ", "7"), ("999999zz", "999999ZZ")])
def test_a_label_is_read_as_people_type_it(typed: str, label: str) -> None:
    """Leading zeros, spaces around it and small letters make no other label."""
    assert label == parse_label(typed)


@pytest.mark.parametrize("typed", ["", "0", "A", "12ABC", "1234567", "1 2", "-1", "12-A", "१२", "12\x00"])
def test_what_is_no_label_is_refused(typed: str) -> None:
    """A label has one to six digits, not only zeros, and at most two letters."""
    found = parse_label(typed)
    assert isinstance(found, Fault)
    assert "label_format" == found.code


def test_labels_sort_as_people_count() -> None:
    """Numbers count before letters, and one letter comes before two."""
    labels = ["1", "2", "9", "10", "12", "12A", "12B", "12Z", "12AA", "13", "100", "999999ZZ"]
    assert labels == sorted(set(labels), key=label_order)


@given(LABELS)
def test_a_stored_label_reads_as_itself(label: str) -> None:
    """Each label of the stored form is what it is read as."""
    assert label == parse_label(label)


@given(LABELS, LABELS)
def test_labels_with_one_order_are_one_label(one: str, other: str) -> None:
    """Two labels never share a place in the order."""
    assert (one == other) == (label_order(one) == label_order(other))


@given(st.lists(LABELS))
def test_the_next_label_is_above_all(labels: list[str]) -> None:
    """The next label is a number that comes after every other, unless there is none."""
    try:
        found = next_label(labels)
    except ValueError:
        assert any(label.startswith("999999") for label in labels)
    else:
        assert all(label_order(label) < label_order(found) for label in labels)
