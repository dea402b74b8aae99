"""The trial of photos in a store: people send photos and are erased, all photos move there and back, and all is killed.

At the end each row's files can be read and fit their digests, what was acknowledged is there, and a sweep leaves
no object without a row.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import random
import secrets
import subprocess
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import aiohttp
from PIL import Image
from sqlalchemy import select

from saleroom.accounts.domain.rights import Role
from saleroom.accounts.storage import accounts
from saleroom.bidding.service import photo_sweep
from saleroom.bidding.service.photo_sweep import PhotoSweep
from saleroom.bidding.storage.photo_store import PhotoStore
from saleroom.bidding.storage.photos import key_of
from saleroom.bidding.storage.tables import photo_files, photos
from saleroom.storage.database import Database, Transaction
from saleroom.storage.objects import Objects
from tests.bidding.service.people import Person, person
from tests.faults import mortal
from tests.faults.bidding import headers
from tests.faults.house import SupervisedHouse
from tests.faults.judging import tracebacks
from tests.faults.kills import KillTrial, People, work_through_kills
from tests.faults.places import TrialDatabase
from tests.faults.trial import ON_SQLITE, ON_TWO
from tests.forking import Program
from tests.object_store import ObjectStore
from tests.process import environment

POINTS = ("photo put", "photo written", "photo committed", "person erased")
"""Where the house dies in turn, beside any other place."""
SENDERS = 3
ACTS_BETWEEN = 3
ERASED = 0.4
"""How many people are erased again, with their photos."""
MOVER_SECONDS_MAX = 5.0
"""A move is killed within so many seconds, if it has not ended."""
MOVER_RESTS_SECONDS_MAX = 1.0
STORE_AWAY_SECONDS_MAX = 1.0
MOVES = {"saleroom.admin.photo_moves:LINGER_SECONDS": 0, "saleroom.admin.photo_moves:LEASE_SECONDS": 3}
BUCKET = "trial"


class PhotoTrial(KillTrial):
    """The trial of photos in a store."""


FULL = PhotoTrial("photos in a store: 100 kills", 100)
SHORT = (
    PhotoTrial("photos in a store: 5 kills", 5, on=ON_SQLITE),
    PhotoTrial("photos in a store: 5 kills", 5, on=ON_TWO),
)


@dataclass
class PhotoOutcome:
    """What came of a trial; `faults` is empty if every promise was kept."""

    deaths: int
    sent: int
    refused: int
    erased: int
    moves: int
    moves_killed: int
    store_deaths: int
    swept: int
    files: int
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        store = f"store killed: {self.store_deaths}, moves: {self.moves}, of them killed: {self.moves_killed}"
        people = f"photos: {self.sent}, refused: {self.refused}, people erased: {self.erased}"
        return f"deaths: {self.deaths}, {store}, {people}, swept: {self.swept}, files at the end: {self.files}"


@dataclass(kw_only=True)
class Senders(People):
    """People who send two photos each; the owner erases some of them."""

    database: Database
    owner: Person
    kept: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """The widths of acknowledged photos by id, but those of people who were, or may have been, erased."""
    sent: int = 0
    refused: int = 0
    erased: int = 0

    async def run(self) -> None:
        """Send until it is calm."""
        async with asyncio.TaskGroup() as group:
            for _ in range(SENDERS):
                group.create_task(self._send())

    def answered(self) -> int:
        """Return how many photos were taken."""
        return self.sent

    async def _send(self) -> None:
        while not self.calm.is_set():
            sender = await person(self.database)
            taken = [await self._photo(sender), await self._photo(sender)]
            if random.random() < ERASED:
                path = f"/staff/users/{sender.account.username}/erasure"
                status, _ = await self._ask(path, self.owner.token, json={"reason": "A trial."})
                self.erased += status == 204
            else:
                self.kept |= {one["id"]: tuple(file["width"] for file in one["files"]) for one in taken if one}

    async def _photo(self, sender: Person) -> Any:
        """Send a photo once and return it if it was taken."""
        status, said = await self._ask("/photos", sender.token, data=_picture())
        if status != 201:
            self.refused += 1
            return None
        self.sent += 1
        return said

    async def _ask(self, path: str, token: str, **body: Any) -> tuple[int, Any]:
        """Ask once; what was not answered may have been done."""
        try:
            async with self._http.post(path, headers=headers(token, None), **body) as answer:
                if answer.status not in {201, 204, 503}:
                    self.faults.append(f"{path} answered {answer.status}: {await answer.text()}")
                return answer.status, await answer.json() if answer.status == 201 else None
        except (aiohttp.ClientError, OSError, TimeoutError):
            await asyncio.sleep(random.uniform(0.05, 0.25))
            return 0, None


@dataclass
class Troubles:
    """Moves there and back that are killed, and a store that dies and comes back, beside the house's deaths."""

    folder: Path
    settings: dict[str, str]
    store: ObjectStore
    calm: asyncio.Event
    moves: int = 0
    killed: int = 0
    store_deaths: int = 0
    faults: list[str] = field(default_factory=list)

    async def move(self) -> None:
        """Move to the store and to the rows in turn, until it is calm."""
        while not self.calm.is_set():
            await self._move("store" if self.moves % 2 == 0 else "rows", random.uniform(0, MOVER_SECONDS_MAX))
            await asyncio.sleep(random.uniform(0, MOVER_RESTS_SECONDS_MAX))

    async def move_all(self, to: str) -> None:
        """Move all to one place, to the end."""
        await self._move(to, None)

    async def fail(self) -> None:
        """Kill the store from time to time, until it is calm."""
        while not self.calm.is_set():
            await asyncio.sleep(random.uniform(2, 6))
            self.store.kill()
            self.store_deaths += 1
            await asyncio.sleep(random.uniform(0, STORE_AWAY_SECONDS_MAX))
            await asyncio.to_thread(self.store.start)

    async def _move(self, to: str, killed_after: float | None) -> None:
        command = [str(mortal.__file__), "photos", "move", "--to", to]
        tested = {"test_armed": str(self.folder / "never"), "test_constants": json.dumps(MOVES)}
        given = environment(**self.settings, **tested)
        with TemporaryFile() as output, TemporaryFile("w+") as errors:
            process = Program(command, self.folder, given, output, errors)
            self.moves += 1
            try:
                code = await asyncio.to_thread(process.wait, killed_after)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                self.killed += 1
                return
            errors.seek(0)
            said = errors.read()
        if code and (killed_after is None or "Traceback" in said):
            self.faults.append(f"a move to the {to} ended with {code}: {said[-500:]}")


async def run(trial: PhotoTrial, folder: Path, where: str, place: TrialDatabase) -> PhotoOutcome:
    """Run the trial, and judge it."""
    async with AsyncExitStack() as stack:
        store = ObjectStore(folder)
        stack.callback(store.kill)
        store.start()
        store.bucket(BUCKET)
        settings: dict[str, Any] = {"database": place.url, "mqtt": "off", **store.settings(BUCKET)}
        house = SupervisedHouse(folder, workers="2" if where in ON_TWO else "1", **settings)
        await stack.enter_async_context(house.running())
        database = Database(place.url)
        stack.push_async_callback(database.close)
        owner = await person(database)
        await database.write(lambda tx: accounts.set_role(tx, owner.account.id, Role.OWNER))
        senders = Senders(url=house.url, database=database, owner=owner)
        await senders.begin(stack)
        troubles = Troubles(folder, settings, store, senders.calm)

        async def look() -> list[str]:
            return []

        async with asyncio.TaskGroup() as group:
            group.create_task(work_through_kills(senders, house, trial.kills, POINTS, ACTS_BETWEEN, look))
            group.create_task(troubles.move())
            group.create_task(troubles.fail())
        await troubles.move_all(random.choice(("store", "rows")))
        objects = Objects(store.place(BUCKET))
        swept = await _swept(database, objects)
        found = [*senders.faults, *troubles.faults, *await _judged(database, senders, store, objects)]
        found += [f"a traceback in the house's log: … {end}" for end in tracebacks(house.log())]
        files = len(await database.read(_rows))
        counts = (senders.sent, senders.refused, senders.erased, troubles.moves, troubles.killed, troubles.store_deaths)
        return PhotoOutcome(house.deaths, *counts, swept, files, found)


async def _swept(database: Database, objects: Objects) -> int:
    """Sweep the store of what the house would delete a day later, and return how many objects went."""
    real = photo_sweep.AGE
    photo_sweep.AGE = -real  # nobody sends any more
    try:
        return await PhotoSweep(database, PhotoStore(objects)).sweep()
    finally:
        photo_sweep.AGE = real


async def _judged(database: Database, senders: Senders, store: ObjectStore, objects: Objects) -> list[str]:
    """Return what does not hold: of the rows, of what was acknowledged and is served, and of the store."""
    rows, found = await database.read(_rows), list[str]()
    stored = {key: data for key, data in store.objects(BUCKET).items() if key.startswith("photos/")}
    for (gid, width), (digest, data) in rows.items():
        if hashlib.sha256(data or stored.get(key_of(gid, width), b"")).hexdigest() != digest:
            found.append(f"photo {gid}, {width} pixels wide: its bytes are gone")
    for gid, widths in senders.kept.items():
        for width in widths:
            digest, _ = rows.get((gid, width), ("", b""))
            async with senders._http.get(f"/photos/{gid}/{width}.webp") as answer:
                served = hashlib.sha256(await answer.read()).hexdigest() if answer.status == 200 else f"{answer.status}"
            if served != digest:
                found.append(f"photo {gid}, {width} pixels wide: it was acknowledged, and the house says {served[:8]}")
    named = {key_of(gid, width) for (gid, width), (_, data) in rows.items() if not data}
    found += [f"an object without a row: {key}" for key in sorted(stored.keys() - named)]
    return found


def _rows(tx: Transaction) -> dict[tuple[str, int], tuple[str, bytes]]:
    asked = select(photos.c.gid, photo_files.c.width, photo_files.c.digest, photo_files.c.bytes)
    found = tx.execute(asked.join_from(photo_files, photos))
    return {(row.gid, row.width): (row.digest, bytes(row.bytes)) for row in found}


def _picture() -> bytes:
    """Return a picture that there is only once."""
    file = io.BytesIO()
    Image.frombytes("RGB", (16, 16), secrets.token_bytes(16 * 16 * 3)).resize((900, 450)).save(file, "JPEG")
    return file.getvalue()
