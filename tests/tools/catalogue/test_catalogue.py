"""`saleroom catalogue`: the catalogue of a sale, to and from a running house."""

from pathlib import Path

import pytest

from saleroom.accounts.domain.rights import Role
from saleroom.cli import main
from saleroom.tools.catalogue.command import read_sale
from saleroom.tools.errors import WrongUsage
from tests.fixtures_house import House
from tests.sales.api.test_importing import make_sale, picture, sheet, zipped

ON_SQLITE = pytest.mark.databases("sqlite")


@ON_SQLITE
def test_a_catalogue_goes_in_and_comes_out(
    house: House, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dry run names rows and faults and exits with 1; an import says what it did; an export of it changes nothing."""
    staff = house.staff(Role.CATALOGUER)
    url = f"{house.base}/sales/{house.write(make_sale, staff.name)}"
    monkeypatch.setenv("HOUSE_TOKEN", staff.token)
    lots, photos, out = tmp_path / "lots.csv", tmp_path / "photos.zip", tmp_path / "out.xlsx"
    lots.write_bytes(sheet("1;Clock;1.234;;"))
    assert main(["catalogue", "import", url, str(lots), "--dry-run"]) == 1
    assert "row 2, lot 1, Starting price: can be read in two ways" in capsys.readouterr().out
    assert main(["catalogue", "import", url, str(lots)]) == 1
    assert "saleroom: row 2, Starting price: can be read" in capsys.readouterr().err
    lots.write_bytes(sheet("1;Clock;100;;margin"))
    photos.write_bytes(zipped({"1.jpg": picture(5)}))
    assert main(["catalogue", "import", url, str(lots), "--photos", str(photos), "--dry-run"]) == 0
    assert "row 2, lot 1: new" in capsys.readouterr().out
    assert main(["catalogue", "import", url, str(lots), "--photos", str(photos)]) == 0
    assert "Lots: 1 new, 0 changed" in capsys.readouterr().out
    assert main(["catalogue", "export", url, str(out), "--language", "de"]) == 0
    assert main(["catalogue", "import", url, str(out)]) == 0
    assert "Lots: 0 new, 0 changed, 1 unchanged, 0 with faults" in capsys.readouterr().out
    before = out.read_bytes()
    assert main(["catalogue", "export", url, str(out)]) == 1
    assert (f"saleroom: {out} already exists; --force replaces it\n", before) == (
        capsys.readouterr().err,
        out.read_bytes(),
    )
    assert main(["catalogue", "export", url, str(out), "--results", "--force"]) == 0
    assert before != out.read_bytes()
    assert main(["catalogue", "export", url, str(tmp_path / "none" / "out.csv")]) == 1
    assert "there is no folder" in capsys.readouterr().err
    monkeypatch.setenv("HOUSE_TOKEN", "wrong")
    assert main(["catalogue", "export", url, str(tmp_path / "other.csv")]) == 1
    assert main(["catalogue", "export", url, str(tmp_path / "out.pdf")]) == 2
    assert main(["catalogue", "import", url]) == 2
    assert main(["catalogue", "import", url, str(tmp_path / "missing.csv")]) == 2


@pytest.mark.parametrize(
    ("url", "base"),
    [
        ("https://bids.example/sales/abc_1", "https://bids.example"),
        ("http://bids.example:9000/house/admin/sales/abc_1/import", "http://bids.example:9000/house"),
        ("https://bids.example/catalogues/abc_1", "https://bids.example"),
    ],
)
def test_the_address_of_a_sale_is_that_of_its_page_or_of_the_api(url: str, base: str) -> None:
    """A user can copy the address from a browser, also of a house below a path."""
    found = read_sale(url)
    assert (found.base, found.gid) == (base, "abc_1")


@pytest.mark.parametrize(
    "url", ["https://bids.example", "https://bids.example/auctions/abc", "ftp://bids.example/sales/a"]
)
def test_other_addresses_are_wrong_usage(url: str) -> None:
    """An address of something else is refused before anything is sent."""
    with pytest.raises(WrongUsage):
        read_sale(url)
