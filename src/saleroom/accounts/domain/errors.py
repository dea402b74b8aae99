"""Refusals of accounts; their kinds are in `kernel/errors.py`."""

from __future__ import annotations

from saleroom.kernel.errors import Conflict, Forbidden, Mismatch, Unknown


class InvalidAuthentication(Mismatch):
    """Invalid authentication"""

    code = "invalid_authentication"
    bare = True


class CodeRequired(Mismatch):
    """This account needs a one-time code too: send it as 'code', with the username and the password."""

    code = "code_required"

    ticket = b""
    """Stands for the username and the password in the second step of a login on a page; never in an answer of the API."""


class WrongCode(Mismatch):
    """This code is wrong, too old, or was used before; wait for the next one, or use a recovery code."""

    code = "wrong_code"


class LoginExpired(InvalidAuthentication):
    """Too much time has passed since the password, or it was changed; log in again. Only pages log in by two steps."""


class CodesOn(Conflict):
    """One-time codes are on already; switch them off before you set them up again."""

    code = "one_time_codes_on"


class CodesOff(Conflict):
    """One-time codes are off; set them up first."""

    code = "one_time_codes_off"


class WrongPassword(Forbidden):
    """This is not your current password; nothing was changed."""

    code = "wrong_password"


class BreachedPassword(Mismatch):
    """This password stands in a list of stolen passwords, which thieves try first; choose another."""

    code = "breached_password"


class ObviousPassword(Mismatch):
    """This password is little more than your username, the name of the house or a word such as "password"; choose another."""

    code = "obvious_password"


class UsernameTaken(Conflict):
    """This username is taken; choose another."""

    code = "username_taken"


class RegistrationClosed(Forbidden):
    """Registration is closed in this house; ask those who run it for an account."""

    code = "registration_closed"


class SellerNotApproved(Forbidden):
    """In this house only approved sellers offer lots; ask those who run it to approve you."""

    code = "seller_not_approved"


class OnlyStaffSells(Forbidden):
    """In this house only its staff offers lots; ask those who run it to offer yours."""

    code = "only_staff_sells"


class InvalidLink(Mismatch):
    """This link was used, has ended or is incomplete; ask for a new mail."""

    code = "invalid_link"


class InvalidOwnerLink(Mismatch):
    """This link has ended, is incomplete, or the house has an owner; ask those who run it for a new one."""

    code = "invalid_owner_link"


class MailRequired(Forbidden):
    """This house asks for a verified mail address before you bid or sell; give yours by `PUT /me/mail-address`."""

    code = "mail_required"


class InvalidInvitation(Mismatch):
    """This invitation was taken or revoked, has ended or is incomplete; ask who invited you for a new one."""

    code = "invalid_invitation"


class HigherRole(Conflict):
    """Your role stands above that of the invitation, which would take it from you."""

    code = "higher_role"


class TooManyInvitations(Conflict):
    """You have invited as many people as one user may in a day; wait until tomorrow."""

    code = "too_many_invitations"


class UnknownInvitation(Unknown):
    """There is no such invitation that could still be taken."""

    code = "unknown_invitation"


class LotsRunning(Conflict):
    """You offer a lot that runs, or have a bid on one (`lot`); erase the account once it is over."""

    code = "lots_running"


class MailOff(Forbidden):
    """This house sends no mails; ask those who run it."""

    code = "mail_off"


class UnknownUser(Unknown):
    """There is no user with this name."""

    code = "unknown_user"


class RoleAboveOwn(Forbidden):
    """Nobody may give or take a role above their own; ask somebody who has it."""

    code = "role_above_own"


class LastOwner(Conflict):
    """A house needs an owner, and this is the last one; make somebody else an owner first."""

    code = "last_owner"


class InvalidPasskey(InvalidAuthentication):
    """This passkey is not known here, or its answer is wrong, too late or was used before; try again, or use the password."""

    code = "invalid_passkey"


class PasskeyNotAdded(Mismatch):
    """This passkey was not added: the answer of the device is wrong, too late or was used before; begin again."""

    code = "passkey_not_added"


class PasskeysOff(Forbidden):
    """This house has no passkeys: browsers have them only for an address by https with a name."""

    code = "passkeys_off"


class TooManyPasskeys(Conflict):
    """You have as many passkeys as one user may have; remove one first."""

    code = "too_many_passkeys"


class UnknownPasskey(Unknown):
    """You have no passkey with this id; it may have been removed."""

    code = "unknown_passkey"


class UnknownSession(Unknown):
    """You have no session with this id; it may have ended."""

    code = "unknown_session"


class UnknownAccessToken(Unknown):
    """You have no access token with this id; it may have been revoked, or have reached its end."""

    code = "unknown_access_token"


class TooManyAccessTokens(Conflict):
    """You have as many access tokens as one user may have; revoke one first."""

    code = "too_many_access_tokens"


class IdempotencyMismatch(Mismatch):
    """This key was used for another request; use a new key for a new request."""

    code = "idempotency_mismatch"


class NotOneself(Forbidden):
    """Nobody warns, suspends or bans themselves, or lifts that; ask somebody above you."""

    code = "not_oneself"


class NotAboveThem(Forbidden):
    """You can do this only to people below you in the house; ask somebody above them."""

    code = "not_above_them"


class NotBarred(Conflict):
    """This user is neither suspended nor banned; nothing was changed."""

    code = "not_barred"
