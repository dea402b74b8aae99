"""docs/maintaining/mutation.md says why some mutants survive; its rows must match the present code."""

from pathlib import Path

import pytest

from tests.mutation.explained import Mutant, change, explained, living

RULES = [Path("src/saleroom") / folder for folder in ("kernel", "accounts/domain", "bidding/domain")]
KNOWN = explained(Path("docs/maintaining/mutation.md").read_text(encoding="utf-8"))


def test_something_is_explained() -> None:
    """The table can be read."""
    assert KNOWN


@pytest.mark.parametrize("mutant", KNOWN, ids=lambda mutant: f"{mutant.function}: {mutant.made}"[:80])
def test_each_explained_line_exists(mutant: Mutant) -> None:
    """Each explained line stands in its module and differs from its mutant, and each row has a reason."""
    module, _, function = mutant.function.partition(".")
    [file] = [folder / f"{module}.py" for folder in RULES if (folder / f"{module}.py").exists()]
    source = " ".join(file.read_text(encoding="utf-8").split())
    assert f"def {function.rpartition('.')[2]}(" in source
    assert mutant.line in source
    assert mutant.line != mutant.made
    assert KNOWN[mutant].strip()


def test_mutmuts_output_is_read() -> None:
    """mutmut's names become ours, killed mutants are left out, and only the lines that differ are kept of a diff."""
    output = """
    saleroom.bidding.domain.increments.xǁLadderǁstep_at__mutmut_3: survived
    saleroom.bidding.domain.selling.x__draft__mutmut_7: no tests
    saleroom.bidding.domain.selling.x_create__mutmut_7: caught by type check
    """
    names = living(output)
    assert ["increments.Ladder.step_at", "selling._draft"] == list(names.values())
    diff = "--- a\n+++ b\n@@ -1,2 +1,2 @@\n def a():\n-    return 1 | 2\n+    return 1 & 2\n"
    assert Mutant("a.b", "return 1 | 2", "return 1 & 2") == change("a.b", diff)
    row = r"| `a.b` | `return 1 \| 2` | `return 1 & 2` | It is the same. |"
    assert {Mutant("a.b", "return 1 | 2", "return 1 & 2"): "It is the same."} == explained(row)
