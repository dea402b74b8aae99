"""docs/security.md has every requirement of ASVS 5.0 up to level 2 once, and names only existing tests."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "security.md").read_text("utf-8")
SECTIONS = (
    "1.1:1,2 1.2:1,2,3,4,5,6,7,8,9 1.3:1,2,3,4,5,6,7,8,9,10,11 1.4:1,2,3 1.5:1,2 2.1:1,2,3 2.2:1,2,3 2.3:1,2,3,4 2.4:1 "
    "3.2:1,2 3.3:1,2,3,4 3.4:1,2,3,4,5,6 3.5:1,2,3,4,5 3.7:1,2 4.1:1,2,3 4.2:1 4.3:1,2 4.4:1,2,3,4 5.1:1 5.2:1,2,3 5.3:1,2 "
    "5.4:1,2,3 6.1:1,2,3 6.2:1,2,3,4,5,6,7,8,9,10,11,12 6.3:1,2,3,4 6.4:1,2,3,4 6.5:1,2,3,4,5 6.6:1,2,3 6.8:1,2,3,4 7.1:1,2,3 "
    "7.2:1,2,3,4 7.3:1,2 7.4:1,2,3,4,5 7.5:1,2 7.6:1,2 8.1:1,2 8.2:1,2,3 8.3:1 8.4:1 9.1:1,2,3 9.2:1,2,3,4 11.1:1,2 11.2:1,2,3 "
    "11.3:1,2,3 11.4:1,2,3,4 11.5:1 11.6:1 12.1:1,2,3 12.2:1,2 12.3:1,2,3,4 13.1:1 13.2:1,2,3,4,5 13.3:1,2 13.4:1,2,3,4,5 "
    "14.1:1,2 14.2:1,2,3,4 14.3:1,2,3 15.1:1,2,3 15.2:1,2,3 15.3:1,2,3,4,5,6,7 16.1:1 16.2:1,2,3,4,5 16.3:1,2,3,4 "
    "16.4:1,2,3 16.5:1,2,3"
)
"""The requirements of levels 1 and 2 by section, except chapters 10 and 17, which have one row each."""
VERDICTS = {"yes", "partly", "no", "owner", "n/a"}


def rows() -> list[list[str]]:
    """Return the cells of every row of the checklist."""
    lines = [line for line in TEXT.splitlines() if re.match(r"\| [0-9]+\.[0-9]", line)]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_every_requirement_is_judged_once() -> None:
    """Each requirement has one row, in order within its chapter, with a verdict and a reason."""
    wanted = {f"{section}.{n}" for part in SECTIONS.split() for section, ns in [part.split(":")] for n in ns.split(",")}
    found = [number for row in rows() for number in re.findall(r"\b[0-9]+\.[0-9]+\.[0-9]+\b", row[0])]
    assert sorted(wanted | {"10.1.1", "10.7.3", "17.1.1", "17.3.2"}) == sorted(found)
    assert [] == [row[0] for row in rows() if row[1] not in VERDICTS or not row[2]]


def test_every_test_that_is_named_exists() -> None:
    """Each test that a row names can be run."""
    named = set(re.findall(r"`([a-z_/]+\.py)::(test_\w+)`", TEXT))
    missing = []
    for file, test in sorted(named):
        path = ROOT / "tests" / file
        text = path.read_text("utf-8") if path.is_file() else ""
        missing += [] if re.search(rf"^(?: {{4}})?(?:async )?def {test}\(", text, re.MULTILINE) else [f"{file}::{test}"]
    assert [] == missing
    assert len(named) > 80


def test_each_row_met_by_code_names_a_test() -> None:
    """A row that says `yes` and names no test is one of those that a test could not show."""
    bare = [row[0].split()[0].rstrip(",") for row in rows() if row[1] == "yes" and "::" not in row[3]]
    assert {
        "1.2.9",
        "3.7.1",
        "6.2.10",
        "6.4.2",
        "11.1.2",
        "11.2.1",
        "11.2.3",
        "11.6.1",
        "13.3.2",
        "15.3.6",
        "16.2.3",
    } == set(bare)
