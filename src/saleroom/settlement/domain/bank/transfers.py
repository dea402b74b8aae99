"""SEPA transfers: accounts, and texts as every bank can carry them (docs/rules.md, "After the hammer")."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import cache

from msgspec import Struct

from saleroom.kernel.errors import Fault

CURRENCY = "EUR"
HOLDER_MAX, TEXT_MAX = 70, 140
"""The most characters that a transfer carries of a name and of its text."""
IBAN_MAX = 50
"""The most characters of an IBAN as people write it: 34 and the blanks between them."""
NO_IBAN = Fault("iban_form", "must be an IBAN, such as DE75512108001245126199")
AMOUNT_MAX = Decimal("999999999.990")
"""The highest amount of a SEPA transfer (EPC115-06, "Instructed Amount")."""
_ENDING = 4
_OTHERS = re.compile(r"[^A-Za-z0-9/?:().,'+ -]")
"""What is outside the Latin character set of SEPA (EPC217-08)."""
_OWN = {"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss", "ẞ": "SS", "&": "+"}
"""The German letters in the form that the German banks permit beside that of EPC217-08, as people write their names so."""


class BankAccount(Struct, frozen=True, kw_only=True):
    """An account that transfers go to or come from. `bic` is derived from the IBAN; it is empty if no register has it."""

    holder: str
    iban: str
    bic: str = ""

    @property
    def masked(self) -> str:
        """The country and the last characters, for those who need not know the number."""
        return masked(self.iban[:2], self.ending)

    @property
    def ending(self) -> str:
        """The last characters of the number."""
        return self.iban[-_ENDING:]


class Transfer(Struct, frozen=True, kw_only=True):
    """One transfer of a payment file. The bank repeats `end_to_end` on its statement."""

    end_to_end: str
    to: BankAccount
    amount: Decimal
    text: str


def masked(country: str, ending: str) -> str:
    """Return what is shown of an IBAN."""
    return f"{country}\u2026{ending}"


def read_account(holder: str, iban: str) -> BankAccount | Fault:
    """Return an account with the BIC of its bank, or the fault of the IBAN.

    It reads the registers of banks, which may take a second.
    """
    from schwifty import IBAN, exceptions  # it loads slowly, and few processes need it

    compact = "".join(iban.split()).upper()
    try:
        found = IBAN(compact)
    except exceptions.InvalidChecksumDigits:
        return Fault("iban_digits", "has wrong check digits: a digit is mistyped or missing")
    except exceptions.InvalidLength:
        return Fault("iban_length", "has not as many characters as an IBAN of its country")
    except exceptions.InvalidCountryCode:
        return Fault("iban_country", "must begin with the two letters of a country that has IBANs")
    except exceptions.SchwiftyException:
        return NO_IBAN
    if not found.in_sepa_zone:
        return Fault("iban_not_sepa", "is of a country that SEPA transfers do not reach")
    return BankAccount(holder=holder, iban=compact, bic=str(found.bic or ""))


def holder_fault(holder: str) -> Fault | None:
    """Return the fault of the name of an account of which no bank could read a letter or a digit."""
    if re.search("[A-Za-z0-9]", sepa_text(holder, HOLDER_MAX)):
        return None
    return Fault("holder", "must have letters that can be written in Latin ones")


def sepa_text(text: str, most: int) -> str:
    """Return a text in the characters that every bank of SEPA carries (EPC217-08), in one line of at most so many.

    German letters become two (`ae`, `ss`), `&` becomes `+`, other letters the nearest Latin ones, and all else a full stop. It
    neither begins nor ends with `/`, and has no `//`, which banks read as marks of their own.
    """
    latin = _OTHERS.sub(".", _transliterated(" ".join(text.split())))
    return re.sub("/{2,}", "/", " ".join(latin.split()))[:most].strip("/ ")


def _transliterated(text: str) -> str:
    return "".join(_letter(one) for one in text)


@cache
def _letter(letter: str) -> str:
    if letter in _OWN:
        return _OWN[letter]
    if letter.isascii():
        return letter
    from text_unidecode import unidecode  # as schwifty above

    return "".join(_OWN.get(one, one) for one in unidecode(letter)) or "."
