"""The pages of notices: their addresses, menus and words."""

from __future__ import annotations

from pathlib import Path

from starlette.routing import Route

from saleroom.notices.services import NoticeServices
from saleroom.notices.web.choices import ChoicePages
from saleroom.notices.web.mails import CHOICES, STOP
from saleroom.notices.web.outbox import AGAIN, OUTBOX, OutboxPages
from saleroom.notices.web.shown import ShownPages
from saleroom.notices.web.webhooks import PATH as WEBHOOKS
from saleroom.notices.web.webhooks import WebhookPages
from saleroom.notices.web.words import WORDS
from saleroom.site.site import Address, AreaPages, Site

BROWSERS = f"{CHOICES}/browsers"


def area_pages(services: NoticeServices) -> AreaPages:
    """Return the pages over one house."""
    return AreaPages(
        folder=Path(__file__).parent,
        routes=lambda site: _routes(site, services),
        words=WORDS,
        paths=frozenset({CHOICES, STOP, WEBHOOKS, "/mails"}),
        below=("/mails/", f"{WEBHOOKS}/"),
        sections=(OUTBOX,),
        tabs="parts/notice_tabs.html",
        tabs_last=True,
        proven=frozenset({STOP}),
    )


def _routes(site: Site, services: NoticeServices) -> list[Route]:
    choices, shown, outbox = ChoicePages(site, services), ShownPages(site, services), OutboxPages(site, services)
    webhooks = WebhookPages(site, services)
    return [
        Route(WEBHOOKS, Address(GET=webhooks.all, POST=webhooks.make)),
        Route(f"{WEBHOOKS}/{{id}}", Address(GET=webhooks.one, POST=webhooks.act)),
        Route(CHOICES, Address(GET=choices.form, POST=choices.save)),
        Route(BROWSERS, Address(POST=choices.subscribe)),
        Route(f"{BROWSERS}/end", Address(POST=choices.unsubscribe)),
        Route(STOP, Address(GET=choices.stop_form, POST=choices.stop)),
        Route(OUTBOX.path, Address(GET=outbox.show)),
        Route(AGAIN, Address(POST=outbox.send_again)),
        Route("/mails", Address(GET=shown.all)),
        Route("/mails/{number}", Address(GET=shown.one)),
    ]
