"""The tidiness of the code: lengths, docstrings, and words that have a better replacement."""

import ast
import json
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 70

Function = ast.FunctionDef | ast.AsyncFunctionDef
FLOAT = r"(?<![\w.])float\((?!\"-?inf)"
SOURCE, KERNEL = r"src/", r"src/saleroom/kernel/"
DOMAIN, SERVICE, STORAGE = (rf"src/saleroom/(\w+/)?{layer}/" for layer in ("domain", "service", "storage"))

BANS = [
    # pattern, where, except in, replacement
    (
        r"datetime\.(now|utcnow|today)\(|date\.today\(",
        SOURCE,
        "storage/database.py",
        "the transaction's clock, tx.now()",
    ),
    (
        r"\btime\.time\(",
        SOURCE,
        "tools/clock.py admin/machine_checks.py admin/service_checks.py",
        "tx.now() for what is stored, time.monotonic() for what is measured",
    ),
    (r"\b(import|from) (random|secrets|time)\b", DOMAIN, "", "an argument: the rules know no chance"),
    (r"\b(import|from) (random|secrets|time)\b", KERNEL, "", "an argument: the rules know no chance"),
    (r"(?<![\w.])print\(", SOURCE, "saleroom/cli.py saleroom/starting.py", "structlog's logger"),
    (FLOAT, DOMAIN, "", "Decimal"),
    (FLOAT, SERVICE, "", "Decimal"),
    (FLOAT, STORAGE, "", "Decimal"),
    (FLOAT, KERNEL, "", "Decimal"),
    (r"\bexcept\s*:", "", "", "the exceptions that are meant"),
    (r"# type: ignore(?!\[[\w, -]+\] +# \w)", "", "", "# type: ignore[code]  # the reason"),
    (r"# noqa(?!: [A-Z]+[0-9]+(, [A-Z]+[0-9]+)* +# \w)", "", "", "# noqa: CODE  # the reason"),
    (r"\b(TODO|FIXME|XXX)\b", "", "", "the work, or an issue"),
    (r"\bwait_for_function\((?!f?\"\(\) => )", "tests/", "", "a function, as tests.browser.people.wait_for makes it"),
]
PARTICIPLE = re.compile(
    "_?(?:[A-Z][a-z]+ed|Built|Found|Given|Gone|Held|Kept|Known|Lost|Made|Paid|Said|Seen|Sent|Shown|Sold|Taken|Told)"
)
NOUNS = frozenset({"Feed", "Need"})
REGISTRIES = re.compile(r"pypi\.org|pythonhosted|npmjs|yarnpkg|jsdelivr|unpkg|cdnjs|--(extra-)?index-url|--find-links")


def tracked(*suffixes: str) -> list[Path]:
    """Return the files that git knows, or would if asked, with one of `suffixes`."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")
    files = [ROOT / name for name in listed if name and name.endswith(suffixes)]
    return [file for file in files if file.is_file()]


def name(file: Path) -> str:
    """Return a file's path relative to the repository."""
    return str(file.relative_to(ROOT))


@dataclass(frozen=True)
class Definition:
    """A function or class of a file, also inside others, and what is said of it here."""

    kind: type[ast.AST]
    name: str
    line: int
    lines: int
    words: str
    """Its docstring."""


@cache
def definitions(file: Path) -> Sequence[Definition]:
    """Return what a file defines. To read all files costs seconds, and several tests ask for it."""
    return [
        Definition(type(one), one.name, one.lineno, one.end_lineno - one.lineno + 1, ast.get_docstring(one) or "")
        for one in statements(ast.parse(file.read_text()))
        if isinstance(one, ast.ClassDef | Function) and one.end_lineno is not None
    ]


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield every statement, but no expression: they are most of a tree, and define no function with a name."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield child
            yield from statements(child)


def functions(file: Path) -> Iterator[Definition]:
    """Yield every function of a file, also those inside classes and functions."""
    return (one for one in definitions(file) if issubclass(one.kind, Function))


def public(node: ast.AST) -> Iterator[ast.ClassDef | Function]:
    """Yield the public classes and functions of a module, and the public methods of those classes."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | Function) and not child.name.startswith("_"):
            yield child
            if isinstance(child, ast.ClassDef):
                yield from public(child)


def test_no_file_is_longer_than_a_reader_bears() -> None:
    """No source or test file has more than 400 lines."""
    long = {
        name(file): lines for file in tracked(".py") if (lines := len(file.read_text().splitlines())) > FILE_LINES_MAX
    }
    assert {} == long


def test_no_function_is_longer_than_a_screen() -> None:
    """No function has more than 70 lines, its decorators aside; a migration is a list, and as long as its tables."""
    long = [
        f"{name(file)}:{one.line} {one.name}"
        for file in tracked(".py")
        for one in functions(file)
        if file.parent.name != "versions" and one.lines > FUNCTION_LINES_MAX
    ]
    assert "" == "\n".join(long)


def test_no_choice_stands_within_a_choice() -> None:
    """No conditional expression of the source holds another one: `if` statements show the order of the cases."""
    nested = [
        f"{name(file)}:{one.lineno}"
        for file in tracked(".py")
        if name(file).startswith(SOURCE)
        for one in ast.walk(ast.parse(file.read_text()))
        if isinstance(one, ast.IfExp) and any(isinstance(arm, ast.IfExp) for arm in (one.body, one.orelse))
    ]
    assert "" == "\n".join(nested)


def banned(path: str, text: str) -> Iterator[str]:
    """Yield a line for each banned word in the file at `path`, with its replacement."""
    for pattern, place, exceptions, instead in BANS:
        if re.match(place, path) and not any(path.endswith(file) for file in exceptions.split()):
            for number, line in enumerate(text.splitlines(), 1):
                if re.search(pattern, line):
                    yield f"{path}:{number} {line.strip()!r}: write {instead}"


def test_nothing_banned_is_written() -> None:
    """No source or test holds a banned word; the failure names what to write instead."""
    found = [ban for file in tracked(".py") if file != Path(__file__) for ban in banned(name(file), file.read_text())]
    assert "" == "\n".join(found)


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("src/saleroom/bidding/service/bidding.py", "now = datetime.now(UTC)"),
        ("src/saleroom/bidding/service/bidding.py", "time.time()"),
        ("src/saleroom/bidding/domain/bidding.py", "import random"),
        ("src/saleroom/http/guard.py", "    print(token)"),
        ("src/saleroom/storage/tables.py", "return float(amount)"),
        ("tests/test_a.py", "    except:"),
        ("tests/test_a.py", "x = 1  # type: ignore"),
        ("tests/test_a.py", "x = 1  # type: ignore[arg-type]"),
        ("tests/test_a.py", "x = 1  # noqa: E501"),
        ("tests/browser/test_a.py", '    page.wait_for_function("window.ready")'),
        ("hatch_build.py", "# TODO later"),
    ],
)
def test_the_ban_list_finds_what_it_bans(path: str, line: str) -> None:
    """Each ban catches an example of what it is for."""
    assert 1 == len(list(banned(path, line)))


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("src/saleroom/storage/database.py", "datetime.now(UTC)"),
        ("src/saleroom/cli.py", "print(line)"),
        ("src/saleroom/mqtt/relay.py", "time.monotonic()"),
        ("tests/test_a.py", "x = 1  # type: ignore[arg-type]  # the library narrows it"),
        ("tests/test_a.py", "x = 1  # noqa: S105  # a name, no secret"),
        ("tests/browser/test_a.py", '    page.wait_for_function("() => window.ready")'),
    ],
)
def test_the_ban_list_leaves_what_is_right(path: str, line: str) -> None:
    """No ban catches the replacement or a reasoned exception."""
    assert [] == list(banned(path, line))


def test_public_things_have_docstrings() -> None:
    """Every module, public class and public function in src has a docstring."""
    bare = []
    for file in tracked(".py"):
        if name(file).startswith("src/"):
            tree = ast.parse(file.read_text())
            bare += [name(file)] if ast.get_docstring(tree) is None else []
            bare += [f"{name(file)}:{node.lineno} {node.name}" for node in public(tree) if not ast.get_docstring(node)]
    assert "" == "\n".join(bare)


def test_no_class_is_named_by_a_participle() -> None:
    """A class has a noun as its name: `StoredDocument`, not `Kept`. Refusals say what is wrong."""
    found = [
        f"{name(file)}:{one.line} {one.name}"
        for file in tracked(".py")
        if file.name != "errors.py"
        for one in definitions(file)
        if one.kind is ast.ClassDef and PARTICIPLE.fullmatch(one.name) and one.name not in NOUNS
    ]
    assert "" == "\n".join(found)


def test_no_two_classes_of_an_area_have_one_name() -> None:
    """Within a folder of `src/saleroom` a name means one thing, so that no file has to rename what it imports."""
    found: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for file in tracked(".py"):
        if name(file).startswith("src/saleroom/"):
            area = file.relative_to(ROOT / "src/saleroom").parts[0]
            for one in definitions(file):
                if one.kind is ast.ClassDef and not one.name.startswith("_"):
                    found[area, one.name].append(f"{name(file)}:{one.line} {one.name}")
    assert "" == "\n".join(place for places in found.values() if len(places) > 1 for place in places)


def test_each_test_says_what_holds() -> None:
    """Every test function has a docstring that begins with one sentence."""
    silent = [
        f"{name(file)}:{one.line} {one.name}"
        for file in tracked(".py")
        if name(file).startswith("tests/")
        for one in functions(file)
        if one.name.startswith("test_") and not re.search(r"[.!?](\s|$)", one.words)
    ]
    assert "" == "\n".join(silent)


def test_no_registry_is_named() -> None:
    """No file names a package registry: the installing machine decides where packages come from."""
    named = [
        f"{name(file)}:{number}"
        for file in tracked("")
        if file != Path(__file__) and b"\0" not in file.read_bytes()
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if REGISTRIES.search(line)
    ]
    assert "" == "\n".join(named)


def test_the_front_end_lock_holds_digests_and_no_addresses() -> None:
    """Every package in package-lock.json has its digest, and none names the place it was fetched from."""
    packages = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    locked = {key: value for key, value in packages.items() if key}
    assert [] == [key for key, value in locked.items() if "resolved" in value or "integrity" not in value]
    assert {"node_modules/@picocss/pico", "node_modules/swagger-ui-dist"} <= locked.keys()


@pytest.mark.parametrize("lock", sorted((ROOT / "requirements").glob("*.txt")), ids=lambda file: file.name)
def test_every_requirement_is_pinned_with_digests(lock: Path) -> None:
    """Each package in requirements/ has one exact version and at least one digest, and nothing else stands there."""
    entries = re.sub(r" \\\n", " ", lock.read_text()).splitlines()
    form = re.compile(r"[a-z0-9.-]+(\[[a-z,]+\])?==[\w.]+( ; [^\\]+?)?(\s+--hash=sha256:[0-9a-f]{64})+")
    assert [] == [entry.split()[0] for entry in entries if not form.fullmatch(entry)]
    assert entries


def test_constants_that_tests_name_by_strings_exist() -> None:
    """Tests change constants of a house by names such as 'saleroom.runtime.serving:KEEP_ALIVE_SECONDS'; each exists."""
    missing = [
        f"{name(file)}: {module}:{constant}"
        for file in tracked(".py")
        for module, constant in re.findall(r"\"(saleroom(?:\.\w+)+):(\w+)", file.read_text())
        if not defines(ROOT / "src" / f"{module.replace('.', '/')}.py", constant)
    ]
    assert [] == missing


def defines(file: Path, constant: str) -> bool:
    """Whether a module assigns a name or defines a function or class of that name at its top level."""
    return (
        re.search(
            rf"^(def {constant}\(|class {constant}\b|[\w, ]*\b{constant}\b[^\n()]* = )", file.read_text(), re.MULTILINE
        )
        is not None
    )
