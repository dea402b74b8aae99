"""Names and descriptions may have every script that people write, and nothing that harms the text beside them."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saleroom.kernel.errors import Fault
from saleroom.kernel.texts import MARKS_MAX, _kind, control_fault, hidden_fault, shown_fault

WRITTEN = {
    "Thai": "ที่นี่มีน้ำดื่มสะอาด กี่ปั๊กปู๋",
    "Devanagari": "स्त्रीत्व कार्त्स्न्य अग्निमी॑ळे पु॒रोहि॑तं क्ष्म्यै",
    "Tibetan, its longest stack": "ཧྐྵྨླྺྼྻྂ བོད་སྐད་ ཨོཾ་མ་ཎི་པདྨེ་ཧཱུྃ",
    "Vietnamese, decomposed": unicodedata.normalize("NFD", "Nguyễn Ưu Đặng Thuỳ Trâm ở Huế"),
    "Hebrew with cantillation": "בְּרֵאשִׁ֖ית בָּרָ֣א אֱלֹהִ֑ים אֵ֥ת הַשָּׁמַ֖יִם וְאֵ֥ת הָאָֽרֶץ׃",
    "Arabic with vowels": "بِسْمِ ٱللَّهِ ٱلرَّحْمَٰنِ ٱلرَّحِيمِ",
    "Persian with joiners": "می\u200cخواهم کتاب\u200cها را",
    "Burmese": "မြန်မာနိုင်ငံ၏ ရှေးဟောင်း ပစ္စည်းများ လျှောက်လွှာ",
    "Khmer": "ព្រះរាជាណាចក្រកម្ពុជា ស្ត្រី",
    "Tamil": "தமிழ்நாட்டுப் பழம்பொருள் ஸ்ரீ",
    "Malayalam": "മലയാളം ക്ഷ്മ്യ സ്ത്രീ",
    "Sinhala with joiners": "ශ්‍රී ලංකා ක්‍ෂේත්‍ර",
    "Korean, decomposed": unicodedata.normalize("NFD", "한국어 골동품 뷁"),
    "Old Korean": "\u112b\u1161\u11ab \u1121\u116e\u11d9",
    "Japanese with a variant": "葛\U000e0100城 辻\U000e0101 が\u3099",
    "Mongolian": "ᠮᠣᠩᠭᠣᠯ\u180b ᠪᠢᠴᠢᠭ\u180e",
    "Phonetic": "tʰɛ̝̃ˑ ɡ̊ʱ n̪̩̊",
    "Emoji": "👩‍👩‍👧‍👦 🏳️‍🌈 👨🏽‍🚀 ❤️‍🔥 1️⃣ 🏴󠁧󠁢󠁷󠁬󠁳󠁿 🇺🇳",
    "Braille and signs": "⠓⠑⠇⠇⠕ № ½ × €",
    "Marks that people are fond of": "Z\u0308\u0336a\u0335l\u0301\u0334g\u0307o\u0332",
}
PILES = {
    "above": "\u0301",
    "enclosing circles": "\u20dd",
    "enclosing keycaps": "\u20e3",
    "Thai vowels": "\u0e34",
    "Thai tones": "\u0e48",
    "Devanagari vowels": "\u0947",
    "Devanagari spacing vowels": "\u093f",
    "Tibetan subjoined letters": "\u0fad",
    "Cyrillic millions": "\u0489",
    "variation selectors": "\ufe0f",
    "supplementary selectors": "\U000e0101",
    "vowels of Hangul": "\u1161",
    "finals of Hangul": "\ud7cb",
    "joiners": "\u200d",
    "soft hyphens": "\u00ad",
    "fillers": "\u3164",
    "half-width fillers": "\uffa0",
    "grapheme joiners": "\u034f",
    "unassigned and ignored": "\U000e0fff",
    "musical": "\U0001d173",
}
HIDDEN = {
    "NUL": "\0",
    "escape": "\x1b",
    "C1": "\x9b",
    "half a character": "\ud800",
    "override": "\u202e",
    "isolate": "\u2066",
    "line separator": "\u2028",
    "paragraph separator": "\u2029",
    "a tag": "\U000e0041",
    "words in tags": "".join(chr(0xE0000 + ord(letter)) for letter in "ignore this"),
    "a flag that does not end": "\U0001f3f4\U000e0067\U000e0062",
}


@pytest.mark.parametrize("script", WRITTEN)
def test_real_texts_pass(script: str) -> None:
    """Real text is accepted as it is, composed and decomposed, in a name and in a description."""
    for form in (WRITTEN[script], *(unicodedata.normalize(form, WRITTEN[script]) for form in ("NFC", "NFD"))):
        assert hidden_fault(form, lines=False) is None
        assert shown_fault(form) is None


@pytest.mark.parametrize("kind", PILES)
def test_piles_are_refused(kind: str) -> None:
    """More marks on one character than any script has are refused, of every class, also mixed with invisible characters."""
    mark = PILES[kind]
    assert shown_fault(f"a{mark * MARKS_MAX}b{mark * MARKS_MAX}") is None
    for pile in (mark * (MARKS_MAX + 1), (mark + "\u0301\u200b") * 3, ("\u0301" + mark + "\u115f") * 3):
        found = shown_fault(f"clock{pile} and more")
        assert Fault("text_characters", "must show something, and not pile up marks on a character") == found


@pytest.mark.parametrize("kind", HIDDEN)
def test_control_characters_are_refused(kind: str) -> None:
    """Characters that control the display, end a line, or hide words are refused in a name."""
    found = hidden_fault(f"a{HIDDEN[kind]}b", lines=False)
    assert found is not None
    assert "text_characters" == found.code


def test_descriptions_have_lines() -> None:
    """Line breaks and tabs are accepted in a description; control characters are not."""
    assert hidden_fault("a\r\n\tb\u2028c", lines=True) is None
    assert hidden_fault("a\x1bb", lines=True) is not None
    for line in "\r\n\t":
        assert control_fault(f"a{line}b", lines=True) is None
        assert control_fault(f"a{line}b", lines=False) is not None


@pytest.mark.parametrize(
    "blank", ["\u200b", "\u3164", "\u00ad\u0300", "\u2800 \u2800", "\u115f\u1160", "\ue000", " \u00a0"]
)
def test_a_text_that_shows_nothing_is_refused(blank: str) -> None:
    """A text of only blanks, marks and ignored characters is refused."""
    assert shown_fault(blank) is not None


@pytest.mark.parametrize(
    ("kind", "characters"),
    [
        ("m", "\u0301\u0903\u20dd\u00ad\u1160\u3164\u034f"),
        ("-", " \u00a0\u2028\0\ue000\ud800\u0378\u2800"),
        ("v", "aé花1½€_"),
    ],
)
def test_the_kinds_of_characters(kind: str, characters: str) -> None:
    """Marks of every class and what takes no place are marks; blanks, controls and unassigned characters show nothing."""
    assert {kind} == {_kind(character) for character in characters}


@given(st.text(max_size=60))
def test_any_text_is_judged(text: str) -> None:
    """Both checks accept or refuse any text without an error; accepted text has no run of marks longer than the limit."""
    hidden_fault(text, lines=True)
    if shown_fault(text) is None:
        longest = run = 0
        for character in text:
            run = run + 1 if unicodedata.category(character) in ("Mn", "Mc", "Me", "Cf") else 0
            longest = max(longest, run)
        assert longest <= MARKS_MAX
