"""The documents are true: they leave nothing out, name only what exists, and their examples run."""

import json
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
import msgspec
import pytest

from saleroom import settings
from saleroom.accounts.domain.audit import ACTS
from saleroom.accounts.domain.rights import MEANINGS, RIGHTS
from saleroom.bidding.api.devices import COMMAND
from saleroom.bidding.domain.event_types import EVENTS
from saleroom.bidding.domain.events import BidPlaced
from saleroom.bidding.domain.increments import fixed
from saleroom.bidding.domain.views import auction_view, cloud_event, event_from_parts, event_parts
from saleroom.cli import cli
from saleroom.compose import ENDPOINTS
from saleroom.http.problems import statuses
from tests.bidding.domain.examples import an_auction, eur, place, shown
from tests.page_routes import page_routes

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
SOURCE = ROOT / "src" / "saleroom"
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OF_A_HOUSE = re.compile(r"(?:imprint|impressum|privacy|after-sale)(?:\.de)?\.md")
"""The texts that an owner writes (docs/settings.md, "The folder of the house")."""
NOT_YET = "not yet:"
GUIDE = "docs/installing.md"
RUN_BY_TEST_README = ("house=", "gid=")
"""Marks of the commands that tests/test_readme.py runs."""


def read(name: str) -> str:
    """Return the text of a document."""
    return (ROOT / name).read_text("utf-8")


def named(document: Path) -> str:
    """Return the name of a document: its path."""
    return str(document.relative_to(ROOT))


def prose(document: Path) -> str:
    """Return the text of a document without its blocks of code."""
    return FENCED.sub("", document.read_text("utf-8"))


def code(language: str) -> list[tuple[str, str]]:
    """Return every block in `language`, with the name of its document."""
    return [
        (str(document.relative_to(ROOT)), block)
        for document in DOCUMENTS
        for kind, block in FENCED.findall(document.read_text("utf-8"))
        if kind == language
    ]


def rows(text: str) -> list[list[str]]:
    """Return the cells of all rows of all tables, without their heads."""
    found = []
    for table in re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE):
        lines = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]] for line in table.splitlines()]
        found += lines[2:]
    return found


def words(cell: str) -> list[str]:
    """Return the words in backticks."""
    return re.findall(r"`([^`]+)`", cell)


def anchor(heading: str) -> str:
    """Return the anchor of a heading, as forges make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower().replace("`", "")).strip().replace(" ", "-")


def sections(text: str) -> dict[str, str]:
    """Return the text below each heading of the second level."""
    parts = re.split(r"^## (.*)$", text, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def commands(group: click.Group, *path: str) -> list[str]:
    """Return every command by its full name, without groups."""
    found = []
    for name, command in group.commands.items():
        found += commands(command, *path, name) if isinstance(command, click.Group) else [" ".join((*path, name))]
    return found


def test_every_endpoint_is_in_the_table() -> None:
    """docs/api.md lists exactly the endpoints of the API."""
    listed = {words(row[0])[0] for row in rows(sections(read("docs/api.md"))["Endpoints"])}
    assert {f"{endpoint.method} {endpoint.path}" for endpoint in ENDPOINTS} == listed


def test_every_page_is_named() -> None:
    """docs/pages.md names the address of every page."""
    named = words(sections(read("docs/pages.md"))["Addresses"])
    routed = {route.path.removesuffix("{file:path}") for route in page_routes()}
    assert set() == {path for path in routed if not path.startswith("/session")} - set(named)


def test_every_error_has_its_code_and_status() -> None:
    """docs/api.md lists exactly the errors that can reach a client, each with its status."""
    listed = sorted((int(row[0]), words(row[1])[0]) for row in rows(sections(read("docs/api.md"))["Errors"]))
    assert sorted((status, refused.code) for refused, status in statuses().items()) == listed


def test_every_role_has_its_rights() -> None:
    """docs/people.md lists exactly the rights of each role, in the words of the code."""
    section = sections(read("docs/people.md"))["Roles and rights"]
    head = [cell.strip() for cell in section[section.index("| right |") :].splitlines()[0].split("|")[3:-1]]
    listed = {role: {words(row[0])[0] for row in rows(section) if row[2 + place]} for place, role in enumerate(head)}
    assert listed == {str(role): {str(right) for right in found} for role, found in RIGHTS.items()}
    assert [(str(right), meaning) for right, meaning in MEANINGS.items()] == [
        (words(row[0])[0], row[1]) for row in rows(section)
    ]


def test_every_act_is_listed() -> None:
    """docs/people.md lists exactly the acts of the audit log, in the words of the code."""
    listed = [(words(row[0])[0], row[1]) for row in rows(sections(read("docs/people.md"))["The audit log"])]
    assert listed == [(str(act), said) for act, said in ACTS.items()]


@pytest.mark.parametrize("kind", EVENTS)
def test_every_event_has_its_fields(kind: str) -> None:
    """docs/events.md lists each field of each event, and marks the private ones."""
    section = sections(read("docs/events.md"))[f"`{kind}`"]
    listed = {word: row[1].startswith("*private*") for row in rows(section) for word in words(row[0])}
    event = EVENTS[kind]
    fields = zip(event.__struct_fields__, event.__struct_encode_fields__, strict=True)
    assert {wire: name in event.PRIVATE for name, wire in fields if name != "at"} == listed
    assert event.PUBLIC is not section.strip().startswith("*private*")


def test_the_events_are_those_of_the_house() -> None:
    """docs/events.md has a section for each event of the house, and no others."""
    assert {f"`{kind}`" for kind in EVENTS} == set(sections(read("docs/events.md")))


def test_the_example_of_an_event_is_one() -> None:
    """The event shown in docs/events.md has exactly the members that the house sends."""
    [(_, block)] = [found for found in code("json") if found[0] == "docs/events.md"]
    shown: dict[str, Any] = json.loads(block)
    # The document does not show the private part; any value will do.
    event = event_from_parts(
        shown["type"], shown["time"], shown["data"], {"bidderId": 1, "maximum": shown["data"]["amount"]}
    )
    public, _ = event_parts(event)
    gid, version = shown["id"].split("/")
    assert msgspec.to_builtins(cloud_event(gid, int(version), event, public)) == {
        name: value for name, value in shown.items() if name not in ("commitment", "hash")
    }


def test_every_command_is_named() -> None:
    """README.md names every command of the command line, and the documents name no other."""
    known = commands(cli)
    readme = " ".join(read("README.md").split())
    assert [] == [name for name in known if not re.search(rf"saleroom {name}\b", readme)]
    for document in DOCUMENTS:
        for command in re.findall(r"`(?:\.venv/bin/)?saleroom ([a-z][^`]*)`", " ".join(prose(document).split())):
            assert any(f"{command} ".startswith(f"{name} ") for name in known), f"{document.name}: saleroom {command}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_every_named_setting_exists(document: Path) -> None:
    """Each SALEROOM_ variable in a document is a setting. (tests/test_settings.py finds missing ones.)"""
    known = {settings.PREFIX + name.upper() for name in settings.Settings.model_fields}
    known |= {settings.CONFIG_VARIABLE, settings.SECRETS_VARIABLE}
    named = set(re.findall(r"\bSALEROOM_[A-Z_]+\b(?!\*)", document.read_text("utf-8")))
    assert set() == {name for name in named - known if not name.startswith(settings.FOREIGN_PREFIXES)}


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_every_link_leads_somewhere(document: Path) -> None:
    """Each link between documents leads to a file, and each anchor to a heading in it."""
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(document)):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, fragment = target.partition("#")
        path = (document.parent / file).resolve() if file else document
        headings = (
            re.findall(r"^#+ (.*)$", prose(path), re.MULTILINE) if path.suffix == ".md" and path.is_file() else []
        )
        if not path.exists() or (fragment and fragment not in map(anchor, headings)):
            broken.append(target)
    assert [] == broken


def test_every_named_file_exists() -> None:
    """Each module or document in backticks exists, except in the changelog and the records of decisions."""
    missing = []
    for document in DOCUMENTS:
        if document.name != "CHANGELOG.md" and document.parent.name != "decisions":
            for path in words(prose(document)):
                folders = (ROOT, SOURCE, ROOT / "tests", document.parent)
                if re.fullmatch(r"[\w.-]+/[\w./-]*\.(py|md)", path) and not any(
                    (one / path).exists() for one in folders
                ):
                    missing.append((named(document), path))
    assert [] == missing


def references() -> list[tuple[str, str, str]]:
    """Return each reference to a document in the source and the tests: the file, the document, and a section or ""."""
    found = []
    files = [file for folder in ("src", "tests", "bench", "examples") for file in (ROOT / folder).rglob("*")]
    for file in [ROOT / "Makefile", *(file for file in files if file.suffix in (".py", ".html", ".po"))]:
        text = " ".join(re.sub(r"^ *# ", "", file.read_text("utf-8"), flags=re.MULTILINE).split())
        for name, section in re.findall(r"(?<![\w/.-])([\w/.-]+\.md)\b(?:, \\?\"([^\"\\]+)\\?\")?", text):
            if not OF_A_HOUSE.fullmatch(name):
                found.append((named(file), name, section))
    return found


def test_every_document_that_the_source_names_is_there() -> None:
    """The repository has each document that the source or a test names, with the section named beside it."""
    missing = []
    for file, name, section in references():
        [*found] = [document for document in DOCUMENTS if f"/{named(document)}".endswith(f"/{name}")]
        headings = [heading for one in found for heading in re.findall(r"^#+ (.*)$", prose(one), re.MULTILINE)]
        if not found or (section and not any(heading.startswith(section) for heading in headings)):
            missing.append((file, name, section))
    assert [] == missing


def test_every_document_is_listed() -> None:
    """docs/README.md lists every document, at most 20 of them for a newcomer."""
    text = read("docs/README.md")
    listed = {(ROOT / "docs" / target).resolve() for target in re.findall(r"\]\((.*?)\)", text)}
    kept = {document for document in DOCUMENTS if document.is_relative_to(ROOT / "docs") and document.name[0].isalpha()}
    assert {ROOT / "docs" / "README.md"} == kept - listed
    assert len(re.findall(r"^[0-9]+\. ", text, re.MULTILINE)) <= 20


def test_the_readme_is_short() -> None:
    """Two screens show the README up to its list of documents."""
    assert 80 >= read("README.md").partition("\n## Documents\n")[0].count("\n")


def test_the_example_of_the_rules_is_right() -> None:
    """The bids of the example in docs/rules.md have the results that the table shows."""
    auction = an_auction()
    for request, *row in rows(sections(read("docs/rules.md"))["Placing a bid"]):
        bid = re.sub(r": `(amount|maximum)`", lambda found: " up to" if found[1] == "maximum" else "", request)
        auction, events = place(auction, bid)
        bids = [shown(event) for event in events if isinstance(event, BidPlaced)]
        assert auction.leader is not None
        after = [auction.leader.name, f"{auction.current_bid:.0f}", f"{auction.minimum_bid:.0f}"]
        assert [", ".join(bids) or "none", *after] == row


def test_the_example_of_an_auction_is_right() -> None:
    """The auction shown in docs/api.md is, member by member, what the house shows."""
    [shown] = [
        auction for name, block in code("json") if name == "docs/api.md" and "gid" in (auction := json.loads(block))
    ]
    view = auction_view(an_auction(increment=fixed(eur("10"))))
    made = json.loads(msgspec.json.encode(view)) | {name: shown[name] for name in ("gid", "head")}
    assert list(made.items()) == list(shown.items())


def test_every_decision_is_listed() -> None:
    """docs/decisions/README.md links every record; each has its own number and says what was rejected."""
    records = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
    assert [record.name for record in records] == re.findall(r"\]\((.*?)\)", read("docs/decisions/README.md"))
    assert len(records) == len({record.name[:4] for record in records})
    for record in records:
        text, number = record.read_text("utf-8"), int(record.name[:4])
        assert text.startswith(f"# {number}. ")
        assert "ejected:" in text, record.name


def test_conformance_has_a_test_for_every_row() -> None:
    """Each row of docs/conformance.md names existing tests, or says what does not hold yet."""
    tests = all_tests()
    for statement, kept_by in ((row[0], row[-1]) for row in rows(read("docs/conformance.md"))):
        if not kept_by.startswith(NOT_YET):
            assert words(kept_by), f"nothing keeps: {statement}"
            assert [] == [name for name in words(kept_by) if name not in tests], f"no such test, for: {statement}"


def test_conformance_has_every_endpoint_error_event_and_property() -> None:
    """docs/conformance.md has a row for each endpoint, error code, event and test of a property."""
    text = read("docs/conformance.md")
    wanted = [f"{endpoint.method} {endpoint.path}" for endpoint in ENDPOINTS]
    wanted += [refused.code for refused in statuses()] + list(EVENTS)
    wanted += [name for name in all_tests() if name.startswith("bidding/domain/test_properties.py::")]
    assert [] == [name for name in wanted if f"`{name}`" not in text]


@pytest.mark.parametrize(("document", "block"), code("json"))
def test_every_json_is_json(document: str, block: str) -> None:
    """Each JSON example is valid."""
    assert json.loads(block), document


def shell_lines() -> list[tuple[str, str]]:
    """Return every line for a shell with its document, except those that tests/test_readme.py or tests/installing check."""
    blocks = [one for one in code("sh") if one[0] != GUIDE and not any(word in one[1] for word in RUN_BY_TEST_README)]
    return [(document, line) for document, block in blocks for line in block.splitlines()]


@pytest.mark.parametrize(("document", "line"), shell_lines())
def test_every_shell_line_is_valid(document: str, line: str) -> None:
    """Each line for a shell is a target of make, or a command with existing flags and settings."""
    variables, (program, *arguments) = parse_line(line)
    if program in ("mosquitto_sub", "mosquitto_pub"):
        topic = arguments[arguments.index("-t") + 1]
        assert topic.startswith(settings.Settings.model_fields["mqtt_prefix"].default), document
        if program == "mosquitto_pub":
            assert COMMAND.read(arguments[arguments.index("-m") + 1].encode()), document
        return
    if program == "python":
        known = subprocess.run([sys.executable, *arguments[:1], "--help"], cwd=ROOT, capture_output=True, check=True)
        flags = [word for word in arguments if word.startswith("--") and word != "--"]
        assert [] == [flag for flag in flags if flag not in known.stdout.decode().split()], document
        return
    if program == "curl":
        path = urlsplit(arguments[-1]).path
        assert any(re.fullmatch(one.path.replace("{gid}", "[^/]+"), path) for one in ENDPOINTS), document
        return
    if program == "make":
        target, *options = arguments
        assert re.search(rf"^{target}:", read("Makefile"), re.MULTILINE), document
        if target != "run":
            return
        arguments = ["serve", *(word for option in options for word in shlex.split(option.removeprefix("ARGS=")))]
    else:
        assert program == ".venv/bin/saleroom", f"{document}: the shell finds it only there"
    check_command(arguments, variables)


def parse_line(line: str) -> tuple[dict[str, str], list[str]]:
    """Return the variables before the command of a shell line, and the words of the command."""
    split = shlex.split(line)
    variables = {}
    while "=" in split[0]:
        name, _, value = split.pop(0).partition("=")
        variables[name] = value
    return variables, split


def check_command(arguments: list[str], variables: dict[str, str]) -> None:
    """Check that the command line accepts `arguments`, and that their settings are valid."""
    command: click.Command = cli
    while isinstance(command, click.Group):
        name, *arguments = arguments
        command = command.commands[name]
    context = command.make_context(command.name, arguments)
    flags = {name: value for name, value in context.params.items() if name in settings.Settings.model_fields}
    settings.load(flags, variables)


@cache
def all_tests() -> set[str]:
    """Return every test by its name and its file below tests/. To parse all files would take seconds."""
    return {
        f"{file.relative_to(ROOT / 'tests')}::{found}"
        for file in (ROOT / "tests").rglob("test_*.py")
        for found in re.findall(r"^(?: {4})?(?:async )?def (test_\w+)\(", file.read_text("utf-8"), re.MULTILINE)
    }


def test_the_readme_says_how_long_the_tests_take() -> None:
    """A newcomer who types `make test` knows how long it runs, and what is quicker."""
    text = " ".join(read("README.md").split())
    assert re.search(r"tests everything, which takes [0-9]+ to [0-9]+ minutes .*`make quick`", text)
