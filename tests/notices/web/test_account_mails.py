"""Mails about an account, from the request over a real mail server to the end of their links, in both languages."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.accounts.api.test_security import set_up, shown
from tests.fixtures_house import PASSWORD, House, User, settings_for
from tests.outbox.mail_server import Post, mail_server
from tests.patience import SECONDS_MAX
from tests.rows import each_of
from tests.site.visitor import Visitor

ORIGIN = "http://house.example"
SIGNATURE = "Müller & Söhne\nAm Markt 1"
NEW = "another battery staple"
_HREF = re.compile(r'<a href="([^"]+)"')


class MailingHouse(NamedTuple):
    """A house that sends its mails, and the mail server that takes them."""

    house: House
    post: Post


@pytest.fixture(scope="module")
def mailed(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MailingHouse]:
    """A running house whose own task sends its mails over a real mail server."""
    file = tmp_path_factory.mktemp("house") / "saleroom.db"
    shutil.copy(sqlite_template, file)
    post = Post()
    with mail_server(post) as port:
        mail: dict[str, Any] = {"smtp_url": f"smtp://127.0.0.1:{port}", "mail_sender": "bids@house.example"}
        more: dict[str, Any] = {"public_url": ORIGIN, "house_name": "Müller & Söhne", "mail_signature": SIGNATURE}
        house = House(settings_for(f"sqlite:///{file}", account_mails_per_hour=10_000, **mail, **more))
        house.start()
        yield MailingHouse(house, post)
        house.stop()


def mail_to(mailed: MailingHouse, address: str, number: int = 0) -> EmailMessage:
    """The mail of this number to an address, once it is there."""
    until = time.monotonic() + SECONDS_MAX
    while time.monotonic() < until:
        pairs = list(zip(list(mailed.post.receivers), list(mailed.post.mails), strict=False))
        found = [mail for receiver, mail in pairs if receiver == address]
        if len(found) > number:
            return found[number]
        time.sleep(0.02)
    raise AssertionError(f"no mail {number} to {address}: {mailed.post.subjects}")


def parts_of(mail: EmailMessage) -> tuple[str, str]:
    """The text and the HTML of a mail."""
    plain, html = mail.get_body(("plain",)), mail.get_body(("html",))
    assert plain is not None and html is not None
    return str(plain.get_content()), str(html.get_content())


def check_form(mail: EmailMessage, language: str) -> None:
    """Both parts say the same in one language, sign alike, and leave no name of the template open."""
    text, html = parts_of(mail)
    assert ["multipart/alternative", "text/plain", "text/html"] == [part.get_content_type() for part in mail.walk()]
    assert language == str(mail["Content-Language"]).partition("-")[0]
    assert f'<html lang="{mail["Content-Language"]}"' in html
    assert "Müller & Söhne\nAm Markt 1" in text.replace("\r\n", "\n") and "Müller &amp; Söhne" in html
    assert not re.search(r"%\(|None|\{\{|Undefined", text + html + str(mail["Subject"]))
    for link in _HREF.findall(html):
        assert link.startswith(f"{ORIGIN}/") and f"<{link}>" in text
    assert "auto-generated" == mail["Auto-Submitted"]
    assert mail["List-Unsubscribe"] is None, "anyone who has an account cannot go without these"
    assert re.search(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text) is None, "an instant is said in words"


def link_of(mail: EmailMessage, path: str) -> str:
    """The code of the link to a page; the link stands alike in both parts, and the code below it."""
    text, html = parts_of(mail)
    [link] = [link for link in _HREF.findall(html) if link.startswith(f"{ORIGIN}{path}#")]
    code = str(link).partition("#")[2]
    assert f"<{link}>" in text and text.count(code) == 2 and code not in str(mail["Subject"])
    return code


def browser(mailed: MailingHouse, language: str, user: User | None = None) -> Visitor:
    """A browser of a user or a stranger that speaks a language."""
    return Visitor(mailed.house, user, **{"Accept-Language": language})


def has_address(mailed: MailingHouse, language: str, before: str = "") -> tuple[User, str]:
    """A user who has verified an address, which begins with `before`, by the link of its mail."""
    user = mailed.house.newcomer()
    address = f"{before}{user.name}@example.org"
    visitor = browser(mailed, language, user)
    visitor.sent(visitor.page("/mine/mail-address"), "/mine/mail-address", address=address, password=PASSWORD)
    mail = mail_to(mailed, address)
    check_form(mail, language)
    code = link_of(mail, "/address/confirm")
    stranger = browser(mailed, language)
    page = stranger.page("/address/confirm")
    assert page.all("button"), "opening the link alone uses nothing up"
    assert address in stranger.sent(page, "/address/confirm", code=code).main
    assert address == user.json("GET", "/me/mail-address")["mailAddress"]
    return user, address


def test_an_address_with_letters_beyond_ascii_gets_mails(mailed: MailingHouse) -> None:
    """The house takes such addresses, so their mails can be made, and go out to a server that takes them."""
    _, address = has_address(mailed, "de", "jürgen.")
    assert address == str(mail_to(mailed, address)["To"])


@each_of(
    {
        "language": "en",
        "subjects": ("Verify your mail address", "A new password for {}", "The password of {} was changed"),
        "told": "replaced by a link",
    },
    {
        "language": "de",
        "subjects": ("Bestätigen Sie Ihre E-Mail-Adresse", "Ein neues Passwort für {}", "Das Passwort von {}"),
        "told": "Link",
    },
)
def test_from_a_forgotten_password_to_a_new_one(
    mailed: MailingHouse, language: str, subjects: tuple[str, ...], told: str
) -> None:
    """Address, mail, link; forgotten, mail, link, new password: the old sessions are dead, and a mail says so."""
    user, address = has_address(mailed, language)
    visitor = browser(mailed, language)
    visitor.sent(visitor.page("/password/forgotten"), "/password/forgotten", account=user.name)
    mail = mail_to(mailed, address, 1)
    check_form(mail, language)
    code = link_of(mail, "/password/new")
    assert 200 == user.get("/me").status_code
    page = visitor.page("/password/new")
    visitor.sent(page, "/password/new", code=code, newPassword=NEW)
    assert 401 == user.get("/me").status_code
    assert 303 == browser(mailed, language, user).http.get("/mine/selling").status_code
    body = {"username": user.name, "password": PASSWORD}
    assert 422 == mailed.house.anyone.post("/login", json=body).status_code
    changed = mail_to(mailed, address, 2)
    check_form(changed, language)
    assert told in " ".join(parts_of(changed)[0].split()) and code not in changed.as_string()
    sent = [str(mail_to(mailed, address, number)["Subject"]) for number in range(3)]
    assert all(one.startswith(subject.format(user.name)) for one, subject in zip(sent, subjects, strict=True)), sent
    assert 422 == visitor.send(visitor.page("/password/new"), "/password/new", code=code, newPassword=NEW).status_code


@each_of(
    {"language": "en", "said": ("Firefox on Android", "switched off", "was changed", "has had another mail address")},
    {"language": "de", "said": ("Firefox on Android", "ausgeschaltet", "geändert", "eine andere E-Mail-Adresse")},
)
def test_words_about_an_account(mailed: MailingHouse, language: str, said: tuple[str, ...]) -> None:
    """A login from a new device, a changed password, codes switched off and another address are told, in their order."""
    user, address = has_address(mailed, language)
    body, device = {"username": user.name, "password": PASSWORD}, {"User-Agent": "Mozilla/5.0 (Android) Firefox/140.0"}
    assert 200 == mailed.house.anyone.post("/login", json=body, headers=device).status_code
    secret, _ = set_up(user)
    off = {"password": PASSWORD, "code": shown(secret)}
    assert user.post("/me/one-time-codes/end", json=off).is_success
    changed = {"currentPassword": PASSWORD, "newPassword": NEW}
    assert user.http.put("/me/password", json=changed).is_success
    other = f"other.{address}"
    assert user.http.put("/me/mail-address", json={"mailAddress": other, "password": NEW}).is_success
    code = link_of(mail_to(mailed, other), "/address/confirm")
    assert mailed.house.anyone.post("/mail-address-confirmations", json={"code": code}).is_success
    found = [mail_to(mailed, address, number) for number in range(1, 5)]
    for mail, sentence in zip(found, said, strict=True):
        check_form(mail, language)
        text, _ = parts_of(mail)
        assert sentence in " ".join(text.split()) and user.name in text, text
