"""Rights on the pages: a role that lacks one is refused with its name, in the language of the reader."""

import pytest

from saleroom.accounts.domain import rights
from saleroom.accounts.domain.rights import Right, Role
from tests.bidding.web.seller import Come
from tests.fixtures_house import House, User


@pytest.fixture
def house(sqlite_house: House) -> House:
    """A house on SQLite: differences between the databases are tested below the pages."""
    return sqlite_house


@pytest.fixture
def clerk(sqlite_house: House, monkeypatch: pytest.MonkeyPatch) -> User:
    """A clerk of a house in which clerks may not bid."""
    monkeypatch.setitem(rights.RIGHTS, Role.CLERK, rights.RIGHTS[Role.CLERK] - {Right.BID})
    return sqlite_house.staff(Role.CLERK)


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "You do not have this right here: bid and buy. Ask those who run the house."),
        ("de", "Dieses Recht haben Sie hier nicht: bieten und kaufen. Fragen Sie das Haus."),
    ],
)
def test_a_page_names_a_missing_right(come: Come, sqlite_house: House, clerk: User, language: str, said: str) -> None:
    """The form of a bid says which right is missing, in the reader's language."""
    gid = sqlite_house.user("ada").auction()
    visitor = come(clerk)
    visitor.http.headers["Accept-Language"] = language
    asked = visitor.sent(visitor.page(f"/lots/{gid}"), f"/lots/{gid}/bid", maximum="20", amount="")
    answer = visitor.send(asked, f"/lots/{gid}/bid")
    assert 403 == answer.status_code
    assert said in answer.text
