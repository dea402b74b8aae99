"""The area of accounts: its tables, endpoints, pages and services."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import partial

from saleroom.accounts import api
from saleroom.accounts.api import test_users
from saleroom.accounts.api.vocabulary import VOCABULARY
from saleroom.accounts.service import recovery, sweeper
from saleroom.accounts.service.account_mails import MAILS
from saleroom.accounts.service.accounts import Accounts
from saleroom.accounts.service.breached_passwords import BreachedPasswords
from saleroom.accounts.service.codes import STAFF_NEEDS_CODES
from saleroom.accounts.service.confirming import CONFIRMATIONS, Confirmations
from saleroom.accounts.service.erasures import Erasures
from saleroom.accounts.service.invitations import Invitations
from saleroom.accounts.service.last_uses import LastUses
from saleroom.accounts.service.one_time_codes import OneTimeCodes
from saleroom.accounts.service.passkeys import Passkeys
from saleroom.accounts.service.passwords import Passwords
from saleroom.accounts.service.person_archives import PersonArchives
from saleroom.accounts.service.recovery import Recovery
from saleroom.accounts.service.sealing import Sealing
from saleroom.accounts.service.throttle import AccountMails, FailedLogins, Registrations
from saleroom.accounts.service.tickets import LoginKeys
from saleroom.accounts.services import AccountServices
from saleroom.accounts.settings import AccountSettings
from saleroom.accounts.storage.accounts import ACCESS_TOKENS_USED, MAIL_REQUIRED, SESSIONS_USED
from saleroom.accounts.storage.area_tables import TABLES
from saleroom.accounts.web.operations import OPERATIONS
from saleroom.accounts.web.pages import LOGIN, area_pages
from saleroom.area import Area, AreaParts, Platform, Task
from saleroom.http.endpoints import Rows
from saleroom.http.secret import Purpose
from saleroom.storage.database import Database


def _services(settings: AccountSettings, platform: Platform, passwords: Passwords, keys: LoginKeys) -> AccountServices:
    database = platform.database
    registrations = (
        Registrations(database, settings.registrations_per_hour) if settings.registration == "open" else None
    )
    failed_logins = FailedLogins(database, settings.failed_logins_per_hour)
    accounts = Accounts(
        database, passwords, registrations, failed_logins, keys, tells_of_devices=settings.new_login_mails
    )
    mails = None if settings.smtp_url is None else AccountMails(database, settings.account_mails_per_hour)
    sign = partial(platform.secret.sign, Purpose.MAILS)
    return AccountServices(
        database=database,
        accounts=accounts,
        codes=OneTimeCodes(database, accounts, keys.secrets, settings.house_name),
        passkeys=Passkeys(
            database,
            accounts,
            failed_logins,
            keys.tickets,
            settings.house_name,
            tells_of_devices=settings.new_login_mails,
        ),
        recovery=Recovery(database, passwords, sign, mails),
        invitations=Invitations(database, passwords, sign),
        archives=PersonArchives(accounts, platform.archive),
        erasures=Erasures(accounts, keys.secrets, platform.forget),
        origin=platform.origin,
        tokens=platform.tokens,
        cursors=platform.cursors,
        sign=sign,
        mails=mails,
        load_key=settings.load_key.get_secret_value() if settings.load_key else None,
    )


def _open(settings: AccountSettings, platform: Platform) -> AreaParts:
    database, passwords = platform.database, Passwords(_breached(settings), settings.house_name)
    keys = LoginKeys(
        Sealing(partial(platform.secret.key, Purpose.SECOND_FACTORS)),
        Sealing(partial(platform.secret.key, Purpose.LOGIN_STEPS)),
    )
    services = _services(settings, platform, passwords, keys)

    database.provide(CONFIRMATIONS, Confirmations(services.accounts, keys.secrets))
    idle = timedelta(minutes=settings.session_idle_minutes) if settings.session_idle_minutes else None
    uses = LastUses(idle)
    database.after_commit(ACCESS_TOKENS_USED, uses.saw)
    if idle is not None:
        database.after_commit(SESSIONS_USED, uses.saw)

    if settings.staff_one_time_codes:
        database.switch_on(STAFF_NEEDS_CODES)
    if settings.mail_required:
        database.switch_on(MAIL_REQUIRED)

    async def begin() -> Mapping[str, Task]:
        await uses.begin(database)
        return {
            "sweeper": partial(sweeper.run, database),
            "recovery": partial(recovery.run, database),
            "uses": partial(uses.run, database),
        }

    return AreaParts(
        pages=area_pages(
            services, registration_open=settings.registration == "open", sends_mail=services.mails is not None
        ),
        rows=(Rows(services, ACCOUNTS.endpoints if settings.load_key else api.ENDPOINTS),),
        begin=begin,
        close=passwords.close,
    )


async def _prepare(settings: AccountSettings, _: Database) -> None:
    """Refuse a list of breached passwords that is none. Raises Refusal."""
    breached = _breached(settings)
    if breached is not None:
        breached.check()


def _breached(settings: AccountSettings) -> BreachedPasswords | None:
    return None if settings.breached_passwords is None else BreachedPasswords(settings.breached_passwords)


ACCOUNTS: Area[AccountSettings] = Area(
    tables=TABLES,
    endpoints=(*api.ENDPOINTS, *test_users.ENDPOINTS),
    vocabulary=VOCABULARY,
    operations=OPERATIONS,
    open=_open,
    prepare=_prepare,
    urgent=(LOGIN,),
    mails=MAILS,
)
