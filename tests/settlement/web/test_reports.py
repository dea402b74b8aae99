"""Reports on pages, without scripts, and their files."""

import pytest

from tests.bidding.web.conftest import leave  # noqa: F401  # closes the visitors
from tests.fixtures_house import House
from tests.settlement.api.test_reports import sold_evening
from tests.site.visitor import Visitor

pytestmark = pytest.mark.databases("sqlite")


def test_a_report_and_its_files(house: House) -> None:
    """The accounts lead to the report, which has the figures and leads to each file; a file of another name is 404."""
    settling, _, _ = sold_evening(house)
    visitor, path = Visitor(house, settling.cashier), f"/admin/desk/{settling.gid}"
    assert f"{path}/report" in visitor.page(f"{path}/accounts").links
    page = visitor.page(f"{path}/report")
    assert "66.7 %" in page.main and "€110.00" in page.main and settling.code in page.main
    found = [one for one in page.links if one.startswith(f"{path}/report/")]
    assert 6 == len(found)
    for one in found:
        assert "attachment" in visitor.http.get(one).headers["content-disposition"]
    assert 404 == visitor.http.get(f"{path}/report/secrets.csv").status_code


def test_the_tax_of_days(house: House) -> None:
    """Without days the page shows those of the last month; days that are none are said at their field."""
    visitor = Visitor(house, sold_evening(house)[0].cashier)
    assert "firstDay=" in "".join(visitor.page("/admin/taxes").links)
    found = visitor.page("/admin/taxes?firstDay=2020-01-01&lastDay=2099-12-31")
    assert "margin" in found.main.lower()
    for one in found.links:
        if "tax." in one:
            assert 200 == visitor.http.get(one).status_code
    wrong = visitor.page("/admin/taxes?firstDay=2020-13-01&lastDay=2099-12-31")
    assert "true" == wrong.one("input", id="firstDay")["aria-invalid"]
    alone = visitor.page("/admin/taxes?firstDay=2999-01-01")
    assert "true" == alone.one("input", id="firstDay")["aria-invalid"]
    assert "Enter the last day, too." in alone.main


def test_the_total_of_the_evening(house: House) -> None:
    """Anyone sees on the projector what the sold lots have brought, as the report counts it."""
    settling, _, _ = sold_evening(house)
    page = Visitor(house).page(f"/sales/{settling.gid}/total")
    assert "€110.00" in page.main and "2 lots are sold" in page.main
