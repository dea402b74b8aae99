"""The catalogues: each language translates exactly the messages of the pages."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from babel.messages import Catalog, Message
from babel.messages.pofile import read_po

from saleroom.site.language import FOLDER

GLOSSARY = "docs/glossary.md"
ROOT = Path(__file__).parents[2]
CATALOGUES = sorted(FOLDER.glob("*/messages.po"))
TEMPLATES = sorted((ROOT / "src").glob("**/templates/**/*.html"))
NAMES = {"Saleroom"}
"""Names that are the same in every language."""
CHAIN_MARK = re.compile(r"%\(\w+\)s|%%|%")
HOW = "run make messages, then see docs/maintaining/languages.md"


def catalogue(file: Path) -> Catalog:
    """Return the words in a file."""
    with file.open("rb") as opened:
        return read_po(opened)


@pytest.fixture(scope="module")
def messages(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """The messages of the pages, as `make messages` collects them."""
    file = tmp_path_factory.mktemp("words") / "messages.pot"
    [command] = re.findall(
        r"pybabel (--quiet extract .*?)\s+--project", (ROOT / "Makefile").read_text().replace("\\\n", "")
    )
    subprocess.run(
        [sys.executable, "-m", "babel.messages.frontend", *command.split(), "-o", file, "src/saleroom"],
        cwd=ROOT,
        check=True,
    )
    return catalogue(file)


def words(message: Message) -> list[str]:
    """Return the translations of a message: one text, or one for each plural form."""
    return [message.string] if isinstance(message.string, str) else list(message.string or ())


def sources(message: Message) -> list[str]:
    """Return the English texts of a message, singular and plural."""
    return [message.id] if isinstance(message.id, str) else list(message.id)


def places(text: str) -> list[str]:
    """Return the placeholders of a text."""
    return sorted(set(CHAIN_MARK.findall(text)))


def test_there_are_catalogues(messages: Catalog) -> None:
    """There is a German catalogue, and messages come from templates as well as from Python."""
    assert FOLDER / "de" / "messages.po" in CATALOGUES
    places = {Path(name).suffix for message in messages for name, _ in message.locations}
    assert {".html", ".py"} == places


@pytest.mark.parametrize("file", CATALOGUES, ids=lambda file: file.parent.name)
def test_a_catalogue_is_whole(file: Path, messages: Catalog) -> None:
    """A catalogue translates every message of the pages, in each plural form, and no other message."""
    found = catalogue(file)
    missing = [sources(one) for one in messages if one.id and one.id not in found]
    assert [] == missing, HOW
    assert [] == [sources(one) for one in found if one.id and one.id not in messages], HOW
    assert [] == [sources(one) for one in found if one.fuzzy], HOW
    assert [] == [sources(one) for one in found if one.id and not all(words(one))], HOW
    assert [] == list(found.obsolete), HOW
    counts = {len(words(one)) for one in found if one.pluralizable}
    assert {found.num_plurals} == counts


@pytest.mark.parametrize("file", CATALOGUES, ids=lambda file: file.parent.name)
def test_a_translation_has_the_same_places(file: Path) -> None:
    """A translation has the placeholders of the English text. A plural form may leave out the number."""
    wrong = []
    for message in (one for one in catalogue(file) if one.id):
        offered = {place for source in sources(message) for place in places(source)}
        for text in words(message):
            left_out = offered - set(places(text))
            if set(places(text)) - offered or left_out - ({"%(num)s", "%(count)s"} if message.pluralizable else set()):
                wrong.append(text)
    assert [] == wrong


@pytest.mark.parametrize("file", CATALOGUES, ids=lambda file: file.parent.name)
def test_a_translation_has_no_markup(file: Path) -> None:
    """A translation has no markup, and begins or ends with a space only if the English text does."""
    for message in (one for one in catalogue(file) if one.id):
        for text in words(message):
            assert not re.search(r"<|&\w+;", text), text
            assert (text[:1].isspace(), text[-1:].isspace()) == (
                sources(message)[0][:1].isspace(),
                sources(message)[0][-1:].isspace(),
            ), text


def test_no_two_areas_have_a_template_of_one_name() -> None:
    """All templates share one namespace, so a template of the same name would hide another."""
    names = [file.as_posix().rpartition("/templates/")[2] for file in TEMPLATES]
    assert "base.html" in names
    assert len(names) == len(set(names))


@pytest.mark.parametrize("file", TEMPLATES, ids=lambda file: file.name)
def test_a_template_says_nothing_in_english_alone(file: Path) -> None:
    """All text in a template goes through the catalogues, also in attributes that users read or hear."""
    # Left out: comments, translated texts, classes, and text for machines.
    text = re.sub(
        r"\{#.*?#\}|\{% trans\b.*?endtrans %\}|\{% block main_class.*?endblock %\}",
        "",
        file.read_text(),
        flags=re.DOTALL,
    )
    text = re.sub(r"\{\{.*?\}\}|\{%.*?%\}", "\0", text, flags=re.DOTALL)
    text = re.sub(r"<(code|pre|svg)\b.*?</\1>|<!.*?>", "", text, flags=re.DOTALL)
    shown = re.findall(r'\b(?:alt|aria-label|aria-description|title|placeholder|label)="([^"]*)"', text)
    shown += re.sub(r'<[^>]*>|&\w+;|[\w-]+="[^"]*"?', "\n", text).splitlines()
    words = {part.strip(" ·") for line in shown for part in line.split("\0") if re.search("[A-Za-z]", part)}
    assert set() == {part for part in words if not part.startswith("/")} - NAMES


def test_the_pages_keep_to_the_words_of_the_glossary(messages: Catalog) -> None:
    """No text of a page, in English or German, has a word for which the glossary has another."""
    _, _, table = (ROOT / GLOSSARY).read_text("utf-8").partition("## The words of the pages")
    rows = [line.strip("|").split("|") for line in re.findall(r"^\|.*\|$", table, re.MULTILINE)[2:]]
    never = [word.strip() for row in rows for word in row[3].split(",") if word.strip()]
    assert len(never) > 20
    german = catalogue(FOLDER / "de" / "messages.po")
    texts = [text for message in messages if message.id for text in sources(message)]
    texts += [text for message in german if message.id for text in words(message)]
    found = {word: [text for text in texts if re.search(rf"\b{re.escape(word)}", text)] for word in never}
    assert {} == {word: hits for word, hits in found.items() if hits}, f"{GLOSSARY} has other words"


GERMAN = {
    "The password must have %(least)s to %(most)s characters.": "Das Passwort muss %(least)s bis %(most)s Zeichen haben.",
    "this device": "dieses Gerät",
    "Share this lot": "Dieses Los teilen",
    "My saleroom": "Mein Konto",
    "Check the result": "Ergebnis nachprüfen",
    "Download the ledger": "Auktionsprotokoll herunterladen",
}
"""What native speakers have asked for."""


def test_german_texts_are_those_that_native_speakers_asked_for(messages: Catalog) -> None:
    """The pages have these English texts, and the German ones say it as native speakers would."""
    german = {message.id: message.string for message in catalogue(FOLDER / "de" / "messages.po")}
    pages = {message.id for message in messages}
    assert {text: words for text, words in GERMAN.items() if text in pages} == {
        text: german.get(text) for text in GERMAN
    }
