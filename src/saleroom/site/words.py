"""Refusals and faults in words for people: whole sentences in their language, with the facts filled in.

The tables go by the stable codes of refusals and faults. Each area has the words for its own codes; those of the platform
are here. Of several sentences for one code, the first whose facts are all known is used.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType

from markupsafe import Markup, escape
from msgspec import Struct

from saleroom.http.problems import faults_of
from saleroom.kernel.errors import Fact, Fault, Invalid, Refusal
from saleroom.kernel.instants import instant
from saleroom.site.language import MONEY_FAULTS, N_, Language, TranslatedFault

Sentences = Mapping[str, tuple[str, ...]]

_PLACE = re.compile(r"%\((\w+)\)s")
_HEADING = N_("That did not work")
NOWHERE: Mapping[type[Refusal], str] = MappingProxyType({})
NOT_FROM_A_PAGE = (N_("This was not sent as this page sends it. Reload the page and try again."),)
"""For faults that a page's form cannot have: the request was written by hand."""


class Words(Struct, frozen=True, kw_only=True):
    """Sentences by code. `headings` stand over a page that shows nothing but a refusal.

    `facts` are words for those facts that are codes themselves, by the fact's name and the code.
    """

    refusals: Sentences = {}
    faults: Sentences = {}
    headings: Mapping[str, str] = {}
    facts: Mapping[str, Mapping[str, str]] = {}

    def __or__(self, other: Words) -> Words:
        return Words(
            refusals={**self.refusals, **other.refusals},
            faults={**self.faults, **other.faults},
            headings={**self.headings, **other.headings},
            facts={**self.facts, **other.facts},
        )

    def refusal(self, language: Language, refused: Refusal) -> Markup:
        """Return sentences on what happened and what to do now."""
        facts = dict(refused.facts)
        for name, words in self.facts.items():
            if (found := words.get(str(facts.get(name)))) is not None:
                facts[name] = language.gettext(found)
        return sentence(language, self.refusals.get(refused.code, (refused.message,)), facts)

    def message(self, language: Language, refused: Refusal | None) -> Markup | None:
        """Return the sentences of a refusal; None without one."""
        return self.refusal(language, refused) if refused is not None else None

    def problem(self, language: Language, refused: Refusal) -> tuple[str, str]:
        """Return the heading and the text of a page that shows nothing but a refusal."""
        heading = language.gettext(self.headings.get(refused.code, _HEADING))
        if isinstance(refused, Invalid):
            return heading, " ".join(dict.fromkeys(self.field_faults(language, refused).values()))
        return heading, self.refusal(language, refused)

    def field_faults(
        self, language: Language, refused: Refusal | None, at: Mapping[type[Refusal], str] = NOWHERE
    ) -> dict[str, str]:
        """Return the faults of each field in whole sentences; a refusal that is no Invalid is said at its field in `at`."""
        if refused is not None and type(refused) in at:
            return {at[type(refused)]: self.refusal(language, refused)}
        found = faults_of(refused) if isinstance(refused, Invalid) else {}
        return {
            field: " ".join(dict.fromkeys(self.fault(language, one) for one in faults))
            for field, faults in found.items()
        }

    def above(
        self,
        language: Language,
        refused: Refusal | None,
        marked: Collection[str],
        at: Mapping[type[Refusal], str] = NOWHERE,
    ) -> str | None:
        """Return what a page says above its forms about a refusal; nothing of the faults of the fields that it marks."""
        if refused is None:
            return None
        if not (faults := self.field_faults(language, refused, at)):
            return self.refusal(language, refused)
        return " ".join(dict.fromkeys(said for field, said in faults.items() if field not in marked)) or None

    def fault(self, language: Language, found: Fault) -> str:
        """Return the sentence on a fault of a field."""
        if isinstance(found, TranslatedFault) or found.code not in self.faults:
            return language.gettext(found.message)
        return str(sentence(language, self.faults[found.code], {"example": language.example, **found.facts}))


PLATFORM = Words(
    refusals={
        "refused": (N_("That did not work."),),
        "validation": (N_("Something is not right yet. Please check the marked fields."),),
        "unauthenticated": (N_("You are no longer logged in. Log in and try again."),),
        "unknown_event": (N_("This page is out of date. Reload it."),),
        "too_many_requests": (
            N_("There were too many tries. Try again in %(retry_after)s."),
            N_("There were too many tries. Wait a moment, then try again."),
        ),
        "busy": (N_("The house is very busy just now. Nothing was changed; try again in a moment."),),
        "not_found": (N_("The address may be mistyped, or the page has moved."),),
        "method_not_allowed": (N_("Open the page by its link, and send forms from their own page."),),
        "csrf": (N_("Go back, reload the page and send the form again."),),
        "no_sessions": (
            N_("This address shows everybody the same. As you are logged in, open the page of the house itself."),
        ),
        "body_too_large": (
            N_("That was too large. At most %(limit)s can be sent at once."),
            N_("That was too large to be sent at once."),
        ),
        "headers_too_large": (
            N_("Your browser sent too much data with the request. Delete the cookies of this site and try again."),
        ),
        "unsupported_media_type": NOT_FROM_A_PAGE,
        "request_timeout": (N_("It did not arrive in time. Check your connection and send it again."),),
        "unavailable": (N_("The house cannot reach its database just now. Try again shortly."),),
        "internal_error": (N_("The error has been logged. Try again. If it happens again, tell the house."),),
    },
    headings={
        "csrf": N_("This form is out of date"),
        "not_found": N_("There is nothing here"),
        "method_not_allowed": N_("This page cannot be opened like this"),
        "unavailable": N_("One moment, please"),
        "busy": N_("One moment, please"),
        "internal_error": N_("Something went wrong"),
    },
    faults={
        **{code: (words,) for code, words in MONEY_FAULTS.items()},
        "money_type": (MONEY_FAULTS["money_format"],),
        "required": (N_("Please fill this in."),),
        "text_length": (
            N_("Enter %(least)s to %(most)s characters."),
            N_("Enter at most %(most)s characters."),
        ),
        "text_characters": (
            N_("There are hidden control characters in this text, or too many marks on one character. Enter it again."),
        ),
        "not_text": (N_("This text is damaged. Enter it again."),),
        "out_of_range": (N_("Enter a whole number from %(least)s to %(most)s."), N_("Enter at most %(most)s.")),
        "not_a_choice": (N_("Choose one of those that are offered."),),
        "instant_format": (N_("Enter a date and a time."),),
        "instant_range": (N_("This is before 1970. Check the year."),),
        "not_positive": (N_("This must be above zero."),),
        "cursor": (N_("There is no such page of this list. Start at its beginning."),),
        "malformed_form": (N_("The form did not arrive as it was sent. Reload the page and try again."),),
        **dict.fromkeys(
            (
                "key_length",
                "malformed",
                "malformed_http",
                "malformed_json",
                "more_faults",
                "not_a_list",
                "not_a_string",
                "not_an_object",
                "repeated",
                "too_deep",
                "unknown",
            ),
            NOT_FROM_A_PAGE,
        ),
    },
)


def sentence(language: Language, sentences: tuple[str, ...], facts: Mapping[str, Fact]) -> Markup:
    """Return the first of `sentences` whose facts are all known, otherwise the last, as markup.

    An instant becomes a `time` element, which a script shows in the reader's time zone.
    """
    # A zero says nothing, such as no seconds to wait; an amount of zero does.
    known = {
        name: fact for name, fact in facts.items() if fact is not None and (fact != 0 or isinstance(fact, Decimal))
    }
    values = {name: _text(language, name, fact) for name, fact in known.items()}
    chosen = next((words for words in sentences if set(_PLACE.findall(words)) <= values.keys()), sentences[-1])
    return escape(language.gettext(chosen)) % values


def _text(language: Language, name: str, fact: Fact) -> str:
    """Return a fact as people read it. A whole number has no unit: its name tells seconds and bytes."""
    if isinstance(fact, datetime):
        return Markup('<time datetime="{}">{}</time>').format(instant(fact), " ".join(language.when(fact)))
    if isinstance(fact, Decimal):
        return language.money(fact)
    if isinstance(fact, int) and not isinstance(fact, bool):
        return {"retry_after": language.duration, "limit": language.size}.get(name, language.number)(fact)
    return str(fact)
