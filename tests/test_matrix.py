"""The matrix: every endpoint and every page by every role, allowed or refused as the table of rights says.

`NEEDED` and `PAGES` name the right that each needs: `READ` where a reader who is logged in sees more, None where nobody is
asked who they are. An endpoint or page without a row fails the first test.
"""

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from saleroom.accounts.domain import rights
from saleroom.accounts.domain.rights import RIGHTS, STAFF_RIGHTS, Right, Role
from saleroom.accounts.service import accounts
from saleroom.accounts.service.roles_of_users import set_role
from saleroom.accounts.storage import people
from saleroom.compose import ENDPOINTS
from saleroom.http.endpoints import Access, Endpoint
from saleroom.storage.database import Transaction
from tests.fixtures_house import NO_TLS, House
from tests.page_forms import FORMS, WITH_FILES
from tests.page_routes import methods, page_routes
from tests.sales import needed as sale_rights
from tests.settlement import needed as settlement_rights

NEEDED: dict[str, Right | None] = {
    **sale_rights.ENDPOINTS,
    **settlement_rights.ENDPOINTS,
    "amendAuction": Right.SELL,
    "answerQuestion": Right.SELL,
    "approveSeller": Right.APPROVE_SELLERS,
    "arrangePhotos": Right.SELL,
    "askQuestion": Right.ASK,
    "auditLog": Right.READ_AUDIT,
    "addRemark": Right.SELL,
    "bidHistory": Right.READ,
    "buyNow": Right.BID,
    "cancelAuction": Right.SELL,
    "callOffSale": Right.MANAGE_SALES,
    "cancelSale": Right.MODERATE_LOTS,
    "changeSale": Right.MANAGE_SALES,
    "changeMailAddress": Right.ACCOUNT,
    "changePassword": Right.ACCOUNT,
    "changeWebhook": Right.ACCOUNT,
    "chooseNotices": Right.ACCOUNT,
    "closeAuction": Right.SELL,
    "confirmOneTimeCodes": Right.ACCOUNT,
    "createAuction": Right.SELL,
    "deleteWebhook": Right.ACCOUNT,
    "endCalendar": Right.ACCOUNT,
    "endAllSessions": Right.ACCOUNT,
    "endOneTimeCodes": Right.ACCOUNT,
    "endSession": Right.ACCOUNT,
    "eraseMe": Right.ACCOUNT,
    "eraseUser": Right.MANAGE_PEOPLE,
    "exportMyData": Right.ACCOUNT,
    "exportAudit": Right.READ_AUDIT,
    "getAuction": Right.READ,
    "getLot": Right.READ,
    "getBlock": Right.READ,
    "getSale": Right.READ,
    "getUser": Right.READ_PEOPLE,
    "giveRole": Right.MANAGE_PEOPLE,
    "invitations": Right.MANAGE_PEOPLE,
    "invite": Right.MANAGE_PEOPLE,
    "hideAuction": Right.MODERATE_LOTS,
    "listAuctions": Right.READ,
    "listLots": Right.READ,
    "listQuestions": Right.READ,
    "listSales": Right.READ,
    "listUsers": Right.READ_PEOPLE,
    "liftBar": Right.SANCTION_PEOPLE,
    "logOut": Right.READ,
    "makeAccessToken": Right.ACCOUNT,
    "makeSale": Right.MANAGE_SALES,
    "makeCalendar": Right.ACCOUNT,
    "makeTestUsers": None,  # its token is the load key
    "makeWebhook": Right.ACCOUNT,
    "me": Right.READ,
    "myAccessTokens": Right.ACCOUNT,
    "myAuctions": Right.READ,
    "myBrowsers": Right.READ,
    "myCalendar": Right.READ,
    "myBids": Right.READ,
    "myMailAddress": Right.ACCOUNT,
    "myNotices": Right.READ,
    "myPasskeys": Right.ACCOUNT,
    "myRights": Right.READ,
    "mySanctions": Right.READ,
    "mySecurity": Right.ACCOUNT,
    "mySessions": Right.ACCOUNT,
    "myWatching": Right.READ,
    "myWebhooks": Right.ACCOUNT,
    "outbox": Right.READ_OUTBOX,
    "placeBid": Right.BID,
    "publishSale": Right.MANAGE_SALES,
    "pauseSale": Right.MANAGE_SALES,
    "resumeSale": Right.MANAGE_SALES,
    "readWarnings": Right.ACCOUNT,
    "removePasskey": Right.ACCOUNT,
    "renewRecoveryCodes": Right.ACCOUNT,
    "revokeAccessToken": Right.ACCOUNT,
    "revokeInvitation": Right.MANAGE_PEOPLE,
    "rotateWebhookSecret": Right.ACCOUNT,
    "sanctionUser": Right.SANCTION_PEOPLE,
    "sanctionsOfUser": Right.READ_PEOPLE,
    "sendAgain": Right.READ_OUTBOX,
    "sendAllAgain": Right.READ_OUTBOX,
    "sendPhoto": Right.SELL,
    "setUpOneTimeCodes": Right.ACCOUNT,
    "showAuction": Right.MODERATE_LOTS,
    "takeInvitation": Right.ACCOUNT,
    "subscribeBrowser": Right.ACCOUNT,
    "unsubscribeBrowser": Right.ACCOUNT,
    "testWebhook": Right.ACCOUNT,
    "unwatchAuction": Right.WATCH,
    "voidBid": Right.VOID_BIDS,
    "watchAuction": Right.WATCH,
    "withdrawLot": Right.CATALOGUE,
    "webhookDeliveries": Right.ACCOUNT,
}
"""The right of each endpoint that takes a token, by its name."""

PAGES: dict[str, Right | None] = {
    **sale_rights.PAGES,
    **settlement_rights.PAGES,
    "GET /": Right.READ,
    "GET /.well-known/change-password": None,
    "GET /address/confirm": Right.READ,
    "GET /admin": Right.READ,
    "GET /admin/audit": Right.READ_AUDIT,
    "GET /admin/audit.ndjson": Right.READ_AUDIT,
    "GET /admin/health": Right.READ_HEALTH,
    "GET /admin/outbox": Right.READ_OUTBOX,
    "POST /admin/outbox/again": Right.READ_OUTBOX,
    "GET /admin/invitations": Right.MANAGE_PEOPLE,
    "POST /admin/invitations": Right.MANAGE_PEOPLE,
    "POST /admin/invitations/revoke": Right.MANAGE_PEOPLE,
    "GET /admin/people": Right.READ_PEOPLE,
    "GET /admin/people/{username}": Right.READ_PEOPLE,
    "POST /admin/people/{username}/erasure": Right.MANAGE_PEOPLE,
    "POST /admin/people/{username}/lift": Right.SANCTION_PEOPLE,
    "POST /admin/people/{username}/role": Right.MANAGE_PEOPLE,
    "POST /admin/people/{username}/sanctions": Right.SANCTION_PEOPLE,
    "POST /admin/people/{username}/seller": Right.APPROVE_SELLERS,
    "POST /admin/people/{username}/sessions": Right.MANAGE_PEOPLE,
    "GET /admin/sales/{gid}/export": Right.CATALOGUE,
    "GET /admin/sales/{gid}/import": Right.CATALOGUE,
    "POST /admin/sales/{gid}/import": Right.CATALOGUE,
    "GET /assets/{file:path}": None,
    "GET /docs": Right.READ,
    "GET /language/{tag}": None,
    "GET /live": Right.READ,
    "GET /login": Right.READ,
    "GET /lots.atom": None,
    "GET /lots.ics": None,
    "GET /lots/{gid}": Right.READ,
    "GET /lots/{gid}/dates.ics": None,
    "GET /lots/{gid}/bids": Right.READ,
    "GET /lots/{gid}/box": Right.READ,
    "GET /lots/{gid}/live": Right.READ,
    "GET /lots/{gid}/moderate": Right.MODERATE_LOTS,
    "GET /lots/{gid}/qr.svg": None,
    "GET /lots/{gid}/receipts": Right.READ,
    "GET /lots/{gid}/receipts/{number}.txt": Right.READ,
    "GET /lots/{gid}/screen": Right.READ,
    "GET /lots/{gid}/screen/live": None,
    "GET /lots/{gid}/screen/next": Right.READ,
    "GET /mails": None,  # only a house to look at has them
    "GET /mails/{number}": None,
    "GET /mine": Right.READ,
    "GET /mine/access-tokens": Right.ACCOUNT,
    "GET /mine/contact": Right.ACCOUNT,
    "GET /mine/data": Right.ACCOUNT,
    "POST /mine/data/erasure": Right.ACCOUNT,
    "POST /mine/data/export": Right.ACCOUNT,
    "GET /mine/decisions": Right.READ,
    "GET /mine/mail-address": Right.ACCOUNT,
    "GET /mine/notices": Right.READ,
    "GET /mine/password": Right.READ,
    "GET /mine/security": Right.ACCOUNT,
    "GET /mine/selling": Right.READ,
    "GET /mine/selling/results.csv": Right.READ,
    "GET /mine/sessions": Right.ACCOUNT,
    "GET /mine/standing": Right.READ,
    "POST /mine/standing/read": Right.ACCOUNT,
    "GET /mine/watching": Right.READ,
    "GET /mine/webhooks": Right.ACCOUNT,
    "GET /mine/webhooks/{id}": Right.ACCOUNT,
    "GET /notices/unsubscribe": None,
    "GET /password/forgotten": Right.READ,
    "GET /password/new": Right.READ,
    "GET /join": Right.READ,
    "POST /join": Right.ACCOUNT,
    "GET /owner": Right.READ,
    "POST /owner": Right.ACCOUNT,
    "GET /photos/{id}/{width}.webp": None,
    "GET /register": Right.READ,
    "GET /results.csv": None,
    "GET /sell": Right.SELL,
    "GET /sell/drafts/{draft}": Right.SELL,
    "GET /sell/drafts/{draft}/preview": Right.READ,
    "GET /sell/{gid}": Right.SELL,
    "GET /sell/{gid}/preview": Right.READ,
    "GET /service-worker.js": None,
    "POST /address/confirm": Right.READ,
    "POST /lots/{gid}/answers": Right.SELL,
    "POST /lots/{gid}/bid": Right.BID,
    "POST /lots/{gid}/buy": Right.BID,
    "POST /lots/{gid}/cancel": Right.MODERATE_LOTS,
    "POST /lots/{gid}/hide": Right.MODERATE_LOTS,
    "POST /lots/{gid}/questions": Right.ASK,
    "POST /lots/{gid}/receipts": Right.READ,
    "POST /lots/{gid}/show": Right.MODERATE_LOTS,
    "POST /lots/{gid}/unwatch": Right.WATCH,
    "POST /lots/{gid}/void": Right.VOID_BIDS,
    "POST /lots/{gid}/watch": Right.WATCH,
    "POST /mine/access-tokens": Right.ACCOUNT,
    "POST /mine/access-tokens/revoke": Right.ACCOUNT,
    "POST /mine/contact": Right.ACCOUNT,
    "POST /mine/decisions/{gid}": Right.SELL,
    "POST /mine/mail-address": Right.ACCOUNT,
    "POST /mine/notices": Right.ACCOUNT,
    "POST /mine/notices/browsers": Right.ACCOUNT,
    "POST /mine/notices/browsers/end": Right.ACCOUNT,
    "POST /mine/watching/calendar": Right.ACCOUNT,
    "POST /mine/watching/calendar/end": Right.ACCOUNT,
    "POST /mine/webhooks": Right.ACCOUNT,
    "POST /mine/webhooks/{id}": Right.ACCOUNT,
    "POST /mine/password": Right.ACCOUNT,
    "POST /mine/security/codes": Right.ACCOUNT,
    "POST /mine/security/codes/confirmation": Right.ACCOUNT,
    "POST /mine/security/codes/end": Right.ACCOUNT,
    "POST /mine/security/codes/recovery": Right.ACCOUNT,
    "POST /mine/security/passkeys": Right.ACCOUNT,
    "POST /mine/security/passkeys/new": Right.ACCOUNT,
    "POST /mine/security/passkeys/remove": Right.ACCOUNT,
    "POST /mine/sessions/end": Right.ACCOUNT,
    "POST /mine/sessions/end-all": Right.ACCOUNT,
    "POST /notices/unsubscribe": None,
    "POST /password/forgotten": Right.READ,
    "POST /password/new": Right.READ,
    "POST /register": Right.READ,
    "POST /sell": Right.SELL,
    "POST /sell/drafts/{draft}": Right.SELL,
    "POST /sell/drafts/{draft}/delete": Right.SELL,
    "POST /sell/photos": Right.SELL,
    "POST /sell/{gid}": Right.SELL,
    "POST /sell/{gid}/cancel": Right.SELL,
    "POST /sell/{gid}/close": Right.SELL,
    "POST /sell/{gid}/remark": Right.SELL,
    "POST /session": Right.READ,
    "POST /session/code": None,
    "POST /session/end": Right.READ,
    "GET /watchlist/{link}.atom": None,
    "GET /watchlist/{link}.ics": None,
    "GET /session/passkey": None,
    "POST /session/passkey": Right.READ,
}
"""The right of each page, by method and path."""

WITH_TOKEN = [endpoint for endpoint in ENDPOINTS if endpoint.access is not Access.OPEN]
ASKED = [endpoint for endpoint in WITH_TOKEN if NEEDED.get(endpoint.name) is not None]
SEEN = sorted(page for page, needed in PAGES.items() if needed is not None)
REFUSED_ON_A_PAGE = "You do not have this right here"


class Matrix:
    """A house with a lot of ada's, and users of every role. Each request has a new token, as some requests end it."""

    def __init__(self, house: House) -> None:
        self.house = house
        house.user("matrix.person")
        self.gid = house.user("ada").auction(buyNowPrice="500")
        self.http = httpx.Client(base_url=house.base, verify=NO_TLS, headers=house.headers)

    def token(self, role: Role) -> str:
        """Return a new token of the user with this role."""
        name = f"matrix.{role}"
        self.house.user(name)

        def issue(tx: Transaction) -> str:
            user = people.find(tx, name)
            assert user is not None
            if user.role is not role:
                set_role(tx, name, role)
            return accounts.issue_token(tx, user.id).value

        return self.house.write(issue)

    def api(self, endpoint: Endpoint[Any], role: Role) -> str | None:
        """Send a request to an endpoint, and return the right that is missing, if one is."""
        headers = {"Authorization": f"Bearer {self.token(role)}"}
        if endpoint.upload is not None:
            headers["Content-Type"] = "image/jpeg"
        body = None if endpoint.form is None else endpoint.form.example
        answer = self.http.request(endpoint.method, self.path(endpoint.path), headers=headers, json=body)
        assert answer.status_code not in (401, 500), answer.text
        if answer.status_code != 403 or answer.json()["code"] != "missing_right":
            return None
        return str(answer.json()["right"])

    def page(self, page: str, role: Role) -> bool:
        """Open a page or send its form, and return whether it says that a right is missing."""
        method, path = page.split(" ")
        form = FORMS.get(page, {})
        sent: dict[str, Any] = {"data": form} if method == "POST" else {}
        if page in WITH_FILES:
            files = [(name, (None, value.encode())) for name, value in form.items()]
            sent = {"files": [*files, ("files", ("a.jpg", b"no picture", "image/jpeg"))]}
        cookie = {"Cookie": f"saleroom_session={self.token(role)}"}
        address = self.path(path) + (f"?lots={self.gid}" if path == "/live" else "")
        with self.http.stream(method, address, headers=cookie, **sent) as answer:
            assert answer.status_code < 500, page
            if answer.status_code != 403:
                return False
            return REFUSED_ON_A_PAGE in answer.read().decode()

    def path(self, path: str) -> str:
        """Return a path of the house with values in the places of its parameters."""
        for name, value in {
            "gid": self.gid,
            "draft": "AAAAAAAAAAAA",
            "username": "matrix.nobody" if path == "/staff/users/{username}/erasure" else "matrix.person",
            "number": "1",
        }.items():
            path = path.replace(f"{{{name}}}", value)
        return re.sub(r"{\w+(:path)?}", "1", path)


@pytest.fixture
def matrix(sqlite_house: House) -> Iterator[Matrix]:
    """The house to ask."""
    made = Matrix(sqlite_house)
    yield made
    made.http.close()


def test_every_endpoint_and_page_names_its_right() -> None:
    """Every endpoint that takes a token and every page has a row, and no row is left of what is gone."""
    assert {endpoint.name for endpoint in WITH_TOKEN} == set(NEEDED)
    routed = {f"{method} {route.path}" for route in page_routes() for method in methods(route) if method != "HEAD"}
    assert routed == set(PAGES)


@pytest.mark.parametrize("endpoint", ASKED, ids=lambda endpoint: endpoint.name)
def test_the_api_by_role(matrix: Matrix, endpoint: Endpoint[Any]) -> None:
    """Each role is refused exactly if the table does not give it the right, which the refusal names."""
    needed = NEEDED[endpoint.name]
    for role in Role:
        expected = None if needed in RIGHTS[role] else needed
        assert expected == matrix.api(endpoint, role), role


@pytest.mark.parametrize("page", SEEN)
def test_the_pages_by_role(matrix: Matrix, page: str) -> None:
    """Each role is refused on a page exactly if the table does not give it the right."""
    for role in Role:
        assert (PAGES[page] not in RIGHTS[role]) == matrix.page(page, role), role


@pytest.mark.parametrize("endpoint", ASKED, ids=lambda endpoint: endpoint.name)
def test_one_right_is_what_an_endpoint_needs(
    matrix: Matrix, endpoint: Endpoint[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A role with that right and that of reading is not refused; a role with every right but that is."""
    needed = NEEDED[endpoint.name]
    assert needed is not None
    monkeypatch.setitem(rights.RIGHTS, Role.CASHIER, frozenset({Right.READ, needed}))
    assert None is matrix.api(endpoint, Role.CASHIER)
    monkeypatch.setitem(rights.RIGHTS, Role.CASHIER, frozenset(Right) - {needed})
    assert needed == matrix.api(endpoint, Role.CASHIER)


@pytest.mark.parametrize("page", SEEN)
def test_one_right_is_what_a_page_needs(matrix: Matrix, page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A role with that right and that of reading is not refused; a role with every right but that is."""
    needed = PAGES[page]
    assert needed is not None
    monkeypatch.setitem(rights.RIGHTS, Role.CASHIER, frozenset({Right.READ, needed}))
    assert not matrix.page(page, Role.CASHIER)
    monkeypatch.setitem(rights.RIGHTS, Role.CASHIER, frozenset(Right) - {needed})
    assert matrix.page(page, Role.CASHIER)


@pytest.mark.parametrize("page", sorted(PAGES.keys() - SEEN - sale_rights.ANY_OF))
def test_some_pages_ask_nobody_who_they_are(matrix: Matrix, page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A role without any right is not refused on a page that is the same for everybody."""
    monkeypatch.setitem(rights.RIGHTS, Role.CASHIER, frozenset())
    assert not matrix.page(page, Role.CASHIER)


def test_what_staff_may_do_is_no_dead_letter() -> None:
    """Each right of staff is needed by an endpoint or a page, or says where it will be."""
    needed = {*NEEDED.values(), *PAGES.values()}
    later = {Right.MODERATE_LOTS, Right.POST_EVENTS}  # the second is asked for webhooks of the whole house alone
    later |= {Right.ADMIT_BIDDERS, Right.RUN_SALE, Right.REOPEN_LOTS}  # at a sale; the last for two acts on the block
    assert STAFF_RIGHTS - needed <= later
