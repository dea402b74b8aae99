"""Pages of lists: as many rows as asked for, and a place for the next page only if there is one."""

from __future__ import annotations

import pytest

from saleroom.kernel.page import Page, page_of


@pytest.mark.parametrize(
    ("found", "page"),
    [
        pytest.param([], Page([], None), id="nothing"),
        pytest.param(["a", "b"], Page(["a", "b"], None), id="just a page"),
        pytest.param(["a", "b", "c"], Page(["a", "b"], "at b"), id="one row more"),
    ],
)
def test_the_place_of_the_last_row_shown_begins_the_next_page(found: list[str], page: Page[str, str]) -> None:
    """The row that was read beyond the page is not shown, and without it there is no next page."""
    assert page == page_of(found, 2, lambda row: f"at {row}")


def test_a_page_of_views_begins_the_next_one_at_the_same_place() -> None:
    """A page keeps its place if its rows become something else."""
    assert Page([1, 2], 7) == Page(["a", "b"], 7).with_rows([1, 2])
