"""The words of the pages for the refusals of accounts."""

from __future__ import annotations

from saleroom.site.language import N_
from saleroom.site.words import Words

_WRONG_PASSWORD = (N_("This is not your current password. Nothing was changed."),)

WORDS = Words(
    refusals={
        "invalid_authentication": (N_("The username or the password is wrong. Check both and try again."),),
        "wrong_password": _WRONG_PASSWORD,
        "username_taken": (N_("This username is taken. Choose another."),),
        "registration_closed": (N_("You cannot register here yourself. Ask the house for an account."),),
        "unknown_user": (N_("There is no user with this name."),),
        "unknown_session": (N_("This device is logged out already."),),
        "idempotency_mismatch": (
            N_("This form has been sent before, with something else in it. Reload the page and fill it in again."),
        ),
    },
    faults={
        "username_format": (
            N_("The username must have 3 to 32 characters: letters a to z, digits, dots, underscores and hyphens."),
        ),
        "password_length": (N_("The password must have %(least)s to %(most)s characters."),),
        "contact_length": (N_("The contact can have at most %(most)s characters."),),
        "same_password": (N_("That is your password already. Choose another one."),),
        "wrong_password": _WRONG_PASSWORD,
    },
)
