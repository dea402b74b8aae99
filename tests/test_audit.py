"""The audit of pinned packages: what it says of the answer of pip-audit, and of none."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from tests import audit

FAULTY = """{"dependencies": [
    {"name": "sound", "version": "1.0", "vulns": []},
    {"name": "skipped", "skip_reason": "not on PyPI"},
    {"name": "jinja2", "version": "2.0", "vulns": [
        {"id": "PYSEC-2014-8", "fix_versions": ["2.7.2", "3.0"], "aliases": [], "description": "x"},
        {"id": "CVE-2000-1", "fix_versions": [], "aliases": [], "description": "x"}]},
    {"name": "jinja2", "version": "2.0", "vulns": [
        {"id": "CVE-2000-1", "fix_versions": [], "aliases": [], "description": "x"}]}], "fixes": []}"""


def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, output: str, first: str = FAULTY) -> tuple[int, str]:
    """Run the audit with a program in place of pip-audit: it writes `first` about the faulty package, `output` afterwards."""
    program = f"import sys\nsys.stdout.write({first!r} if 'faulty.txt' in ' '.join(sys.argv) else {output!r})\n"
    (tmp_path / "pip_audit.py").write_text(f"{program}sys.stderr.write('no network')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = CliRunner().invoke(audit.main, [])
    return found.exit_code, found.output


def test_known_faults_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each fault is named once, with its package and what mends it, and the exit code says that there are some."""
    code, said = run(monkeypatch, tmp_path, FAULTY)
    assert 1 == code
    assert [
        "jinja2 2.0: PYSEC-2014-8, mended in 2.7.2, 3.0",
        "jinja2 2.0: CVE-2000-1, not mended yet",
    ] == said.splitlines()[:2]
    assert "2 known faults" in said and "SECURITY.md" in said


def test_no_known_fault(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """If none has any, the audit says so with the day."""
    assert (0, "No pinned package has a known fault") == (
        (answer := run(monkeypatch, tmp_path, '{"dependencies": []}'))[0],
        answer[1].partition(" (")[0],
    )


@pytest.mark.parametrize("output", ["", "null", "[]", '{"dependencies": [{"vulns": [{}]}]}'])
def test_an_audit_without_an_answer_is_loud(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, output: str) -> None:
    """Without a network the audit fails, says why, and never that all is well."""
    code, said = run(monkeypatch, tmp_path, output)
    assert 2 == code and "NOT ASKED" in said and "no network" in said


def test_an_index_without_faults_is_no_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A mirror that knows no fault even of a package with many is not taken for good news."""
    none = '{"dependencies": [{"name": "jinja2", "version": "2.10", "vulns": []}]}'
    code, said = run(monkeypatch, tmp_path, none, first=none)
    assert 2 == code and "NOT ASKED" in said
