"""The pages of accounts: their addresses, menus and words."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from starlette.routing import Route

from saleroom.accounts.domain.invitations import PATH as JOIN
from saleroom.accounts.domain.owner_link import PATH as OWNER
from saleroom.accounts.services import AccountServices
from saleroom.accounts.storage.accounts import names_of
from saleroom.accounts.web import back_office
from saleroom.accounts.web.access_tokens import AccessTokenPages
from saleroom.accounts.web.accounts import AccountPages
from saleroom.accounts.web.audit import acts_of
from saleroom.accounts.web.contacts import ContactPages
from saleroom.accounts.web.facts import users_of
from saleroom.accounts.web.joining import JoiningPages
from saleroom.accounts.web.mail_addresses import MailAddressPages
from saleroom.accounts.web.owner import OwnerPages
from saleroom.accounts.web.passkeys import PasskeyPages
from saleroom.accounts.web.person_data import PersonDataPages
from saleroom.accounts.web.recovery import RecoveryPages
from saleroom.accounts.web.security import SecurityPages
from saleroom.accounts.web.sessions import SessionPages
from saleroom.accounts.web.standing import StandingPages
from saleroom.accounts.web.words import WORDS
from saleroom.site.site import Address, AreaPages, Site, Thing
from saleroom.storage.database import Transaction

LOGIN = "/login"
"""The form to log in. The API answers POST at the same path."""


def area_pages(services: AccountServices, *, registration_open: bool = True, sends_mail: bool = True) -> AreaPages:
    """Return the pages over one house."""
    return AreaPages(
        folder=Path(__file__).parent,
        routes=lambda site: _routes(site, services),
        words=WORDS,
        paths=frozenset(
            (
                *("/register", "/session", "/session/code", "/session/passkey", "/session/end"),
                *("/address/confirm", OWNER, JOIN),
            )
        ),
        below=("/mine/", "/password/"),
        form_paths=frozenset({LOGIN}),
        menu="parts/account_menu.html",
        tabs="parts/account_tabs.html",
        banner="parts/account_banner.html",
        sections=back_office.SECTIONS,
        home="/mine/sessions",
        things=_things,
        names={"registration_open": registration_open, "sends_mail": sends_mail},
    )


def _things(tx: Transaction, keys: Collection[str]) -> Mapping[str, Thing]:
    numbers = users_of(keys)
    names = names_of(tx, set(numbers.values()))
    return {key: Thing(names[one], acts_of(names[one])) for key, one in numbers.items() if one in names}


def _routes(site: Site, services: AccountServices) -> list[Route]:
    accounts, contacts, security, tokens = (
        AccountPages(site, services),
        ContactPages(site, services),
        SecurityPages(site, services),
        AccessTokenPages(site, services),
    )
    passkeys = PasskeyPages(site, services, security)
    mail_addresses, recovery = MailAddressPages(site, services), RecoveryPages(site, services)
    joining = JoiningPages(site, services, accounts.start_session)
    standing, owner = StandingPages(site, services), OwnerPages(site, services)
    devices = SessionPages(site, services, accounts.without_session)
    data = PersonDataPages(site, services, accounts.without_session)
    return [
        Route(LOGIN, Address(GET=accounts.login_form), methods=["GET"]),
        Route("/session", Address(POST=accounts.log_in)),
        Route("/session/code", Address(POST=accounts.log_in_by_code)),
        Route("/session/passkey", Address(GET=accounts.passkey_question, POST=accounts.log_in_by_passkey)),
        Route("/session/end", Address(POST=accounts.log_out)),
        Route("/register", Address(GET=accounts.register_form, POST=accounts.register)),
        Route("/mine/sessions", Address(GET=devices.show)),
        Route("/mine/sessions/end", Address(POST=devices.end)),
        Route("/mine/sessions/end-all", Address(POST=devices.end_all)),
        Route("/mine/password", Address(GET=accounts.password_form, POST=accounts.change_password)),
        Route("/mine/security", Address(GET=security.overview)),
        Route("/mine/security/codes", Address(POST=security.begin)),
        Route("/mine/security/codes/confirmation", Address(POST=security.confirm)),
        Route("/mine/security/codes/recovery", Address(POST=security.renew)),
        Route("/mine/security/codes/end", Address(POST=security.end)),
        Route("/mine/security/passkeys", Address(POST=passkeys.begin)),
        Route("/mine/security/passkeys/new", Address(POST=passkeys.add)),
        Route("/mine/security/passkeys/remove", Address(POST=passkeys.remove)),
        Route("/mine/access-tokens", Address(GET=tokens.show, POST=tokens.make)),
        Route("/mine/access-tokens/revoke", Address(POST=tokens.revoke)),
        Route("/mine/mail-address", Address(GET=mail_addresses.form, POST=mail_addresses.save)),
        Route("/address/confirm", Address(GET=mail_addresses.link, POST=mail_addresses.confirm)),
        Route("/password/forgotten", Address(GET=recovery.form, POST=recovery.ask)),
        Route("/password/new", Address(GET=recovery.link, POST=recovery.reset)),
        Route("/mine/data", Address(GET=data.show)),
        Route("/mine/data/export", Address(POST=data.export)),
        Route("/mine/data/erasure", Address(POST=data.erase)),
        Route("/mine/contact", Address(GET=contacts.form, POST=contacts.save)),
        Route(OWNER, Address(GET=owner.form, POST=owner.take)),
        Route(JOIN, Address(GET=joining.form, POST=joining.join)),
        Route("/mine/standing", Address(GET=standing.show)),
        Route("/mine/standing/read", Address(POST=standing.read)),
        *back_office.routes(site, services),
        Route("/.well-known/change-password", Address(GET=accounts.password_place)),
    ]
