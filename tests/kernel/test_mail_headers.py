"""Headers of mails: what is given is what a mail program shows, whatever it looks like."""

import re
from base64 import b64decode
from email import message_from_bytes, policy
from email.message import EmailMessage

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from saleroom.kernel.mail import in_header
from saleroom.kernel.mail_headers import AS_GIVEN

HEADER = "=?utf-8?q?x=0D=0ABcc=3A_eve=40example.org?="
LONG = (
    "Los bei Zürich der (signiert) Löffel, Ölgemälde der 1.500,00 überboten Bilan, Löffel von Frühjahr 24 d’Abo € Los"
)
SHOWN = st.text(st.characters(exclude_categories=("C", "Z")) | st.sampled_from(' =?_(),<>"@'), min_size=1, max_size=120)


def decoded(line: str) -> str:
    """A header as RFC 2047 has it read: white space between encoded words does not count (6.2)."""
    words = re.split(r"=\?utf-8\?b\?([A-Za-z0-9+/=]*)\?=", re.sub(r"\?=\s+=\?", "?==?", line))
    return "".join(b64decode(part).decode() if odd % 2 else part for odd, part in enumerate(words))


def written(**headers: object) -> list[str]:
    """The lines of a mail with these headers."""
    mail = EmailMessage(policy=AS_GIVEN)
    for name, value in headers.items():
        mail[name] = value
    return mail.as_bytes(policy=AS_GIVEN).decode("ascii").split("\r\n\r\n")[0].split("\r\n")


@given(SHOWN.map(str.strip).filter(bool))
@example(HEADER)
@example(LONG)
@example("日本語の時計" * 20)
@example("A plain subject")
def test_a_subject_is_read_as_it_was_given(subject: str) -> None:
    """Each line is as short as RFC 2047 wants it; no space is lost, and nothing in the text ends the header."""
    lines = written(Subject=subject)
    assert f"Subject: {subject}" == decoded("".join(lines))
    assert all(line.startswith(" ") for line in lines[1:])
    assert max(map(len, lines)) <= 76


@pytest.mark.parametrize("shown", ["", "Saleroom", 'Ada, "the" house', LONG, HEADER, "=?utf-8?b?4oCu?="])
def test_a_sender_is_read_as_it_was_given(shown: str) -> None:
    """The name beside the address, and the address."""
    lines = written(From=in_header("bids@house.example", shown), To=in_header("ada@example.org"))
    mail = message_from_bytes("\r\n".join(lines).encode(), policy=policy.default)
    assert ["From", "To"] == mail.keys()
    assert ["bids@house.example"] == [one.addr_spec for one in mail["From"].addresses]
    assert "To: ada@example.org" == lines[-1]
    name = decoded("".join(lines[:-1])).removeprefix("From: ").removesuffix("<bids@house.example>").strip()
    plain = name[1:-1].replace('\\"', '"') if name.startswith('"') else name
    assert shown == (plain if shown else name.removesuffix("bids@house.example"))


def test_a_plain_subject_stays_readable() -> None:
    """It needs no encoded words."""
    assert ["Subject: You were outbid: Longcase clock"] == written(Subject="You were outbid: Longcase clock")


def test_a_link_and_an_id_stay_as_they_are() -> None:
    """Mail programs do not decode them, however long they are."""
    link = f"<https://bids.example/notices/unsubscribe?token=7.mail.{'Ab1_-' * 12}>"
    number = f"<{'0' * 64}@{'house' * 10}.example>"
    headers = {"List-Unsubscribe": link, "Message-ID": number}
    assert [f"List-Unsubscribe: {link}", f"Message-ID: {number}"] == written(**headers)
