"""The words of the pages for the refusals of accounts."""

from __future__ import annotations

from collections.abc import Mapping

from saleroom.accounts.domain.rights import Right, Role
from saleroom.accounts.domain.sanctions import Sanction
from saleroom.kernel.errors import Invalid, Refusal
from saleroom.site.language import N_
from saleroom.site.words import Words

_INVALID_LINK = (N_("This link was used, has ended or is incomplete. Ask for a new mail."),)
_INVALID_INVITATION = (
    N_("This invitation was taken or revoked, has ended or is incomplete. Ask who invited you for a new one."),
)
_INVALID_OWNER_LINK = (
    N_(
        "This link has ended or is incomplete. On the machine of the house, saleroom users owner-link prints a new one."
    ),
)
_WRONG_PASSWORD = (N_("This is not your current password. Nothing was changed."),)
_WRONG_CODE = (N_("This code is wrong, too old, or was used before. Wait for the next one, or enter a recovery code."),)

RIGHTS: Mapping[str, str] = {
    Right.READ: N_("read your own account, lots, bids and receipts"),
    Right.ACCOUNT: N_("change your own password, contact and sessions"),
    Right.WATCH: N_("watch lots"),
    Right.ASK: N_("ask sellers questions"),
    Right.BID: N_("bid and buy"),
    Right.SELL: N_("offer lots and look after your own"),
    Right.MODERATE_LOTS: N_("hide lots and cancel sales"),
    Right.VOID_BIDS: N_("void bids"),
    Right.APPROVE_SELLERS: N_("approve sellers"),
    Right.READ_PEOPLE: N_("list and search users"),
    Right.SANCTION_PEOPLE: N_("warn, suspend and ban users"),
    Right.MANAGE_PEOPLE: N_("invite staff, give and take roles"),
    Right.READ_OUTBOX: N_("see what the house has sent, and send it again"),
    Right.POST_EVENTS: N_("have the events of all lots posted to a webhook"),
    Right.READ_HEALTH: N_("see how the house fares"),
    Right.READ_AUDIT: N_("read the audit log"),
    Right.MANAGE_SALES: N_("make, publish and cancel sales of many lots"),
    Right.CATALOGUE: N_("edit the catalogues of sales"),
    Right.ADMIT_BIDDERS: N_("admit bidders to sales and give them paddles"),
    Right.RUN_SALE: N_("run sales as their clerk"),
    Right.REOPEN_LOTS: N_("reopen lots that the hammer has closed, and decide for their sellers"),
    Right.SET_RATES: N_("make rate cards and choose which of them holds"),
    Right.SETTLE: N_("take payments, pay out, issue documents, and read the accounts of sales"),
}
"""The rights as pages name them: the same words as `domain.rights.MEANINGS`, and translated."""

ROLES: Mapping[str, str] = {
    Role.OWNER: N_("owner"),
    Role.MANAGER: N_("manager"),
    Role.AUCTIONEER: N_("auctioneer"),
    Role.CLERK: N_("clerk"),
    Role.CASHIER: N_("cashier"),
    Role.CATALOGUER: N_("cataloguer"),
    Role.MEMBER: N_("member"),
}
"""The roles as pages name them."""

STATES: Mapping[str, str] = {Sanction.SUSPENSION: N_("suspended"), Sanction.BAN: N_("banned")}
"""What a bar makes of a user, as pages name it."""
SANCTIONS: Mapping[str, str] = {
    Sanction.WARNING: N_("Warning"),
    Sanction.SUSPENSION: N_("Suspension"),
    Sanction.BAN: N_("Ban"),
}
"""The sanctions as pages name them."""

WORDS = Words(
    facts={"right": RIGHTS, "sanction": STATES, "needs": {"one_time_codes": N_("one-time codes")}},
    headings={
        "barred": N_("You may not do this for now"),
        "not_above_them": N_("You may not do this"),
        "not_oneself": N_("You may not do this"),
        "missing_right": N_("You may not do this"),
        "seller_not_approved": N_("You may not sell here yet"),
        "only_staff_sells": N_("You may not sell here"),
        "mail_required": N_("Verify your mail address first"),
    },
    refusals={
        "invalid_authentication": (N_("The username or the password is wrong. Check both and try again."),),
        "code_required": (N_("This account needs a one-time code."),),
        "wrong_code": _WRONG_CODE,
        "one_time_codes_on": (N_("One-time codes are on already."),),
        "one_time_codes_off": (N_("One-time codes are off. Set them up first."),),
        "wrong_password": _WRONG_PASSWORD,
        "missing_right": (
            N_(
                "This house asks its staff for %(needs)s. Set them up under My saleroom, Security, or log in by a passkey."
            ),
            N_("You do not have this right here: %(right)s. Ask those who run the house."),
            N_("You do not have the right to do this here. Ask those who run the house."),
        ),
        "role_above_own": (N_("You may not give or take a role above your own. Ask somebody who has it."),),
        "last_owner": (N_("A house needs an owner, and this is the last one. Make somebody else an owner first."),),
        "barred": (
            N_("You are %(sanction)s here until %(until)s. The reason: “%(reason)s”."),
            N_("You are %(sanction)s here. The reason: “%(reason)s”."),
            N_("You are suspended or banned here."),
        ),
        "not_oneself": (N_("You cannot do this to yourself. Ask somebody with a higher role."),),
        "not_above_them": (N_("You can do this only to people below you in the house."),),
        "not_barred": (N_("This user is neither suspended nor banned."),),
        "seller_not_approved": (
            N_("In this house only approved sellers offer lots. Ask those who run it to approve you."),
        ),
        "only_staff_sells": (N_("In this house only its staff offers lots. Ask those who run it to offer yours."),),
        "mail_required": (
            N_(
                "This house asks for a verified mail address before you bid or sell. Follow “Verify a mail address” at the "
                "top of the page, then come back."
            ),
        ),
        "breached_password": (
            N_("This password stands in a list of stolen passwords, which thieves try first. Choose another."),
        ),
        "obvious_password": (
            N_(
                "This password is little more than your username, the name of the house or a word such as “password”. "
                "People try these first. Choose another."
            ),
        ),
        "username_taken": (N_("This username is taken. Choose another."),),
        "registration_closed": (N_("You cannot register here yourself. Ask the house for an account."),),
        "unknown_user": (N_("There is no user with this name."),),
        "invalid_link": _INVALID_LINK,
        "invalid_invitation": _INVALID_INVITATION,
        "higher_role": (N_("Your role stands above that of the invitation, which would take it from you."),),
        "too_many_invitations": (N_("You have invited as many people as one user may in a day. Wait until tomorrow."),),
        "unknown_invitation": (N_("This invitation has ended already."),),
        "invalid_owner_link": _INVALID_OWNER_LINK,
        "lots_running": (N_("You offer a lot that runs, or have a bid on one. Erase your account once it is over."),),
        "mail_off": (N_("This house sends no mails. Ask those who run it."),),
        "invalid_passkey": (
            N_("This passkey is not known here, or it took too long. Try again, or use your password."),
        ),
        "passkey_not_added": (
            N_("The passkey was not added: it took too long, or something went wrong. Begin again."),
        ),
        "passkeys_off": (
            N_("This house has no passkeys: browsers offer them only for an address with https and a name."),
        ),
        "too_many_passkeys": (N_("You have as many passkeys as one user can have. Remove one first."),),
        "unknown_passkey": (N_("There is no such passkey; it may have been removed already."),),
        "unknown_session": (N_("This device is logged out already."),),
        "unknown_access_token": (N_("There is no such token; it may have ended already."),),
        "too_many_access_tokens": (N_("You have as many tokens as one user can have. Revoke one first."),),
        "idempotency_mismatch": (
            N_("This form has been sent before, with something else in it. Reload the page and fill it in again."),
        ),
    },
    faults={
        "username_format": (
            N_("The username must have 3 to 32 characters: letters a to z, digits, dots, underscores and hyphens."),
        ),
        "password_length": (N_("The password must have %(least)s to %(most)s characters."),),
        "mail_address_format": (N_("Enter a mail address, such as ada@example.org."),),
        "end_required": (N_("A suspension has an end. Choose one."),),
        "end_of_warning": (N_("A warning has no end."),),
        "end_in_past": (N_("The end must be in the future."),),
        "contact_length": (N_("The contact can have at most %(most)s characters."),),
        "name_in_use": (
            N_("You have a token of this name. Choose another name; or, if you never saw that token, revoke it first."),
        ),
        "another_name": (N_("Type the name of the person whom you mean to erase."),),
        "same_password": (N_("That is your password already. Choose another one."),),
        "wrong_password": _WRONG_PASSWORD,
        "wrong_code": _WRONG_CODE,
        "invalid_link": _INVALID_LINK,
        "invalid_invitation": _INVALID_INVITATION,
        "invalid_owner_link": _INVALID_OWNER_LINK,
        "code_required": (N_("This account needs a one-time code."),),
    },
)


def at_field(refused: Refusal | None, at: Mapping[type[Refusal], str]) -> Refusal | None:
    """Return a refusal that is about one field as the fault of that field, any other as it is."""
    if refused is None or type(refused) not in at:
        return refused
    return Invalid.one(at[type(refused)], refused.code, refused.message)
