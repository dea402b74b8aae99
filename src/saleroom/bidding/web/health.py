"""The section of the back office on how the house fares."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.domain.rights import Right
from saleroom.bidding.service.health import Health, TaskHealth, Trouble, health
from saleroom.kernel.instants import instant, maybe_instant
from saleroom.outbox.message import State
from saleroom.site.language import N_, Language
from saleroom.site.site import Section, Site, for_users
from saleroom.storage.processes import Process

HEALTH = Section("/admin/health", N_("Health"), Right.READ_HEALTH)
TROUBLES = {
    Trouble.PROCESS: N_("A process has not been heard of for a while. It was killed, or cannot reach the database."),
    Trouble.RELAY: N_("The house has no connection to its MQTT broker. Devices hear nothing; bids go on."),
    Trouble.LATE: N_("Mails wait for more than a quarter of an hour. Look at the mail server."),
    Trouble.GIVEN_UP: N_("Mails were given up. The outbox says why, and sends them again."),
    Trouble.TASK: N_(
        "A task has failed in the last 24 hours and was started again. The log of the house has the details."
    ),
    Trouble.REVISION: N_("The tables are not those of this version. Start all processes with the same version."),
    Trouble.ROOM: N_("The disk is nearly full. A full disk refuses every bid."),
}
RELAY = {
    "connected": N_("connected"),
    "not connected": N_("not connected"),
    "standing by": N_("not connected"),
    "off": N_("off"),
}
MAILS = {State.WAITING: N_("mails waiting"), State.SENT: N_("mails sent"), State.GIVEN_UP: N_("mails given up")}
TASKS = {
    "blocks": N_("live pages of live sales"),
    "clocks of sales": N_("ends of lots that follow one another"),
    "closer": N_("ends auctions"),
    "feed": N_("live pages and streams"),
    "feed of sales": N_("live pages of sales"),
    "sessions": N_("ends live pages with their sessions"),
    "sessions of sales": N_("ends live pages of sales with their sessions"),
    "figures": N_("figures for Prometheus"),
    "notices": N_("messages between processes"),
    "presence": N_("says that this process serves"),
    "pushes": N_("sends messages to browsers"),
    "recovery": N_("forgotten passwords"),
    "relay": N_("events to the MQTT broker"),
    "retention": N_("deletes names from old documents"),
    "sales": N_("opens and closes sales"),
    "secret": N_("the secret of the house"),
    "sweeper": N_("deletes what has expired"),
    "uses": N_("when logins were last used"),
    "mails": N_("sends mails"),
    "outbox sweeper": N_("deletes old mails from the outbox"),
    "events for webhooks": N_("events for the webhooks of programs"),
    "webhooks": N_("sends them to webhooks"),
    "words": N_("messages to people about their lots"),
}
"""What the tasks do; one that is not here is shown by its name."""


class HealthPages:
    """The page of the health of the house."""

    def __init__(self, site: Site) -> None:
        self._site = site

    @for_users
    async def show(self, request: Request) -> Response:
        """GET /admin/health: what needs a look, then the processes, the tasks, mails, the broker, the database and the disk."""
        viewer, found = await self._site.read(request, health)
        language = self._site.language(request)
        context = _shown(found, language)
        return self._site.page(request, "health.html", viewer, context)


def _shown(found: Health, language: Language) -> dict[str, Any]:
    say = language.gettext
    return {
        "found": found,
        "troubles": [say(TROUBLES[one]) for one in found.troubles],
        "relay": say(RELAY[found.relay]),
        "mails": [(say(MAILS[state]), number) for state, number in found.mails.items() if state in MAILS],
        "late": language.duration(found.late - found.late % 60) if found.late >= 60 else "",
        "size": language.size(found.bytes),
        "room": None if found.room is None else language.size(found.room.free),
        "tasks": [_task(one, language) for one in found.tasks],
        "alive": [_process(one) for one in found.alive],
        "gone": [_process(one) for one in found.gone],
    }


def _process(one: Process) -> dict[str, Any]:
    said = one.report
    return {
        "name": f"{said.host}, {said.pid}",
        "version": said.version,
        "since": instant(one.started_at),
        "seen": instant(one.seen_at),
    }


def _task(one: TaskHealth, language: Language) -> dict[str, Any]:
    return {
        "name": one.name,
        "does": language.gettext(TASKS[one.name]) if one.name in TASKS else "",
        "ran": maybe_instant(one.ran_at),
        "failed": maybe_instant(one.failed_at),
        "failure": one.failure,
        "failures": one.failures,
    }
