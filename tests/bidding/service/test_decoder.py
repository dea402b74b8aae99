"""The process that decodes a picture: its limits, how it ends, and which of its results are not trusted."""

import asyncio
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress

import psutil
import pytest
from msgspec import structs

from saleroom.bidding.service import decoder as module
from saleroom.bidding.service.decoder import Decoder
from saleroom.bidding.service.renditions import make
from saleroom.confined import confinement, program
from saleroom.kernel.errors import Busy, Invalid
from tests import hostile_pictures
from tests.hostile_pictures import HOSTILE
from tests.patience import until
from tests.pictures import plain, quartered, written
from tests.process import ending, wait_until

pytestmark = pytest.mark.usefixtures("confined_process")

PICTURE = plain()
OVERHEAD_BYTES = 2 * 20_000_000
"""The file itself and a copy of it."""
GROWTH_BYTES = 32 * 2**20
"""How much the tests' own process may grow meanwhile. After thousands of tests it is larger than what a picture may take."""
BEGINNING = (
    "import sys; sys.path[:] = sys.argv[4:]\nimport msgspec\n"
    "from saleroom.bidding.service import renditions\nfrom saleroom.confined import program\n"
)
SLEEPS = "import time; renditions.make = lambda data: time.sleep(600)"


@pytest.fixture
def decoder() -> Iterator[Decoder]:
    """The decoder."""
    made = Decoder()
    yield made
    made.close()


@pytest.fixture(scope="module")
def one_decoder() -> Iterator[Decoder]:
    """A decoder for many pictures, as a house has."""
    made = Decoder()
    yield made
    made.close()


def changed(monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    """Let the decoding processes run this code before they begin."""
    monkeypatch.setattr(confinement, "START", f"{BEGINNING}\n{change}\nprogram.main()")


def limited(monkeypatch: pytest.MonkeyPatch, **limits: float) -> None:
    """Let the decoding processes have these limits."""
    monkeypatch.setattr(module, "WORK", structs.replace(module.WORK, **limits))


async def fate(decoder: Decoder, data: bytes = PICTURE) -> str:
    """Return `made` if the picture is decoded, otherwise the code of its fault."""
    try:
        await decoder.make(data)
    except Invalid as refused:
        [fault] = refused.faults["photo"]
        return fault.code
    return "made"


async def started() -> psutil.Process:
    """Return the decoding process once it exists and has the picture."""
    await until(lambda: any(is_decoder(one) for one in psutil.Process().children()), "a decoding process")
    return next(one for one in psutil.Process().children() if is_decoder(one))


def is_decoder(process: psutil.Process) -> bool:
    """Whether this is a decoding process."""
    try:
        words = process.cmdline()
        return "-I" in words and any("renditions" in word for word in words)
    except psutil.Error:
        return False


def gone(process: psutil.Process) -> bool:
    """Whether a process has ended or soon ends."""
    with suppress(psutil.NoSuchProcess):  # it ended between the two looks
        for _ in range(1000):
            if not process.is_running() or process.status() == psutil.STATUS_ZOMBIE:
                return True
            time.sleep(0.02)
        return False
    return True


async def test_the_process_gives_the_same_answer(decoder: Decoder) -> None:
    """The process returns the same picture, or the same fault with its facts, as decoding without a process."""
    picture = plain((1000, 500))
    assert make(picture) == await decoder.make(picture)
    refusals = []
    for data in (plain((15, 64)), b"none"):
        with pytest.raises(Invalid) as here:
            make(data)
        with pytest.raises(Invalid) as there:
            await decoder.make(data)
        [one], [other] = here.value.faults["photo"], there.value.faults["photo"]
        assert (one, one.facts) == (other, other.facts)
        refusals.append(one.code)
    assert ["image_too_small", "not_an_image"] == refusals


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF", "AVIF", "MPO"])
async def test_every_kind_within_the_limits(decoder: Decoder, kind: str) -> None:
    """The limits leave enough for every kind of picture."""
    assert "made" == await fate(decoder, written(quartered((1200, 900)), kind))


def _most_taken() -> int:
    """Return the most memory that this process or any of its ended children has had, also those of other tests.

    A child's memory includes what its parent had when the child began.
    """
    both = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return max(both) * (1 if sys.platform == "darwin" else 1024)


@pytest.mark.parametrize("what", HOSTILE)
async def test_pictures_made_to_cost(one_decoder: Decoder, what: str) -> None:
    """A small file that costs much time or memory is made or refused, with its own fault, in bounded memory.

    Each picture is also the next one for a decoder that had all before it.
    """
    craft, expected = HOSTILE[what]
    picture = craft()
    before = _most_taken()
    assert expected == await fate(one_decoder, picture)
    assert _most_taken() <= max(before + GROWTH_BYTES, module.WORK.memory_bytes + OVERHEAD_BYTES)


async def test_the_time_of_the_processor_is_the_kernels_limit(
    decoder: Decoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decoding that takes too much processor time is ended, even if the picture's header does not show the cost."""
    changed(monkeypatch, "renditions.SCANS_MAX = 10**9")
    limited(monkeypatch, cpu_seconds=1, seconds=600.0)
    assert "image_too_costly" == await fate(decoder, hostile_pictures.jpeg_of_scans(9_000))
    assert "made" == await fate(decoder)


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS does not limit memory")
async def test_the_memory_is_the_kernels_limit(decoder: Decoder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A picture that takes too much memory is refused, with the advice not to send the same file again."""
    limited(monkeypatch, memory_bytes=150 * 2**20)
    assert "image_too_costly" == await fate(decoder, hostile_pictures.png((10_000, 6_000)))
    assert "made" == await fate(decoder)


async def test_a_process_that_hangs_is_killed(decoder: Decoder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that hangs is killed in time, and its place is free."""
    changed(monkeypatch, SLEEPS)
    limited(monkeypatch, seconds=3.0)
    waiting = asyncio.create_task(fate(decoder))
    process = await started()
    assert "image_too_costly" == await waiting
    assert gone(process)
    monkeypatch.undo()
    assert "made" == await fate(decoder)


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT])
async def test_a_decoder_that_crashes(decoder: Decoder, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """If the process crashes, the picture is at fault, and nothing else is lost."""
    changed(monkeypatch, f"import os; renditions.make = lambda data: os.kill(os.getpid(), {int(number)})")
    assert "image_truncated" == await fate(decoder)
    monkeypatch.undo()
    assert "made" == await fate(decoder)


SMALL = "renditions.Renditions(20, 20, {20: FILE})"
LIES = {
    "nothing": "msgspec.msgpack.encode = lambda answer: b''",
    "no answer": "msgspec.msgpack.encode = lambda answer: b'<html>'",
    "a page": f"renditions.make = lambda data: {SMALL.replace('FILE', repr(b'<script>alert(1)</script>'))}",
    "another length": f"renditions.make = lambda data: {SMALL.replace('FILE', repr(b'RIFF    WEBP'))}",
    "a width of nobody": "renditions.make = lambda data: renditions.Renditions(20, 20, {})",
    "a size of nobody": "renditions.make = lambda data: renditions.Renditions(10**9, 20, {})",
    "more than there can be": "msgspec.msgpack.encode = lambda answer: b'x' * (80 * 2**20)",
}


@pytest.mark.parametrize("lie", LIES)
async def test_a_decoder_that_was_taken_over(decoder: Decoder, monkeypatch: pytest.MonkeyPatch, lie: str) -> None:
    """The house checks the files that come back, and keeps only those that can be the photo's."""
    changed(monkeypatch, LIES[lie])
    assert "image_truncated" == await fate(decoder)


async def test_a_process_that_does_not_start(decoder: Decoder, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the house cannot start the process, the refusal says that the house is busy and does not blame the photo."""
    changed(monkeypatch, "sys.exit(3)")
    with pytest.raises(Busy):
        await decoder.make(PICTURE)


TELLS = """
import json, os, resource
from saleroom.kernel.errors import Invalid
def told(data):
    limits = {name: resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name.startswith("RLIMIT")}
    found = {"environment": dict(os.environ), "nice": os.nice(0), "limits": limits, "files": len(os.listdir("/dev/fd"))}
    raise Invalid.one("photo", "told", json.dumps(found))
renditions.make = told
"""


async def test_the_process_is_isolated(decoder: Decoder, monkeypatch: pytest.MonkeyPatch) -> None:
    """It sees nothing of the house's environment, has only three files, fixed limits, and lower priority than the house."""
    monkeypatch.setenv("SALEROOM_INTERNAL_SETTINGS", "a password")
    changed(monkeypatch, TELLS)
    with open(os.devnull) as inherited:  # noqa: PTH123  # a file that the house has open
        os.set_inheritable(inherited.fileno(), True)
        with pytest.raises(Invalid) as caught:
            await decoder.make(PICTURE)
    found = json.loads(caught.value.faults["photo"][0].message)
    assert {} == {name: value for name, value in found["environment"].items() if name != "LC_CTYPE"}
    assert (4, min(19, os.nice(0) + program.NICENESS)) == (found["files"], found["nice"])
    expected = {
        "RLIMIT_CORE": 0,
        "RLIMIT_FSIZE": 0,
        "RLIMIT_CPU": module.WORK.cpu_seconds,
        "RLIMIT_NOFILE": program.FILES_MAX,
        "RLIMIT_NPROC": 0,
        "RLIMIT_AS": module.WORK.memory_bytes + 2 * len(PICTURE),
    }
    assert {name: [limit, limit] for name, limit in expected.items()} == {
        name: found["limits"][name] for name in expected
    }


async def test_a_sender_that_gives_up_ends_the_process(decoder: Decoder, monkeypatch: pytest.MonkeyPatch) -> None:
    """If nobody waits for a picture any more, its process ends, and the next picture in line has its turn."""
    changed(monkeypatch, SLEEPS)
    waiting = asyncio.create_task(decoder.make(PICTURE))
    process = await started()
    in_line = asyncio.create_task(decoder.make(PICTURE))
    await asyncio.sleep(0)
    monkeypatch.undo()
    in_line.cancel()
    waiting.cancel()
    assert [True, True] == [
        isinstance(one, asyncio.CancelledError)
        for one in await asyncio.gather(waiting, in_line, return_exceptions=True)
    ]
    assert gone(process)
    assert "made" == await fate(decoder)


async def test_closing_ends_the_decoding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing ends all decoding at once; a sender that waits is told that the house is busy."""
    decoder = Decoder()
    changed(monkeypatch, SLEEPS)
    tasks = [asyncio.create_task(decoder.make(PICTURE)) for _ in range(2)]
    process = await started()
    decoder.close()
    assert [True, True] == [isinstance(one, Busy) for one in await asyncio.gather(*tasks, return_exceptions=True)]
    assert gone(process)


STAYS = f"{BEGINNING}import os, time; renditions.make = lambda data: [os.nice(1), time.sleep(600)]; program.main()"
HOUSE = f"""
import asyncio
from saleroom.bidding.service import decoder
from saleroom.confined import confinement
confinement.START = {STAYS!r}
asyncio.run(decoder.Decoder().make(b"x"))
"""


def test_the_process_ends_with_a_killed_house() -> None:
    """If the house is killed, its decoding process ends too, even in the middle of a picture."""
    begun = min(19, os.nice(0) + program.NICENESS + 1)

    with ending(subprocess.Popen([sys.executable, "-c", HOUSE])) as house:

        def decoding() -> list[psutil.Process]:
            return [one for one in psutil.Process(house.pid).children() if is_decoder(one) and one.nice() == begun]

        wait_until(lambda: bool(decoding()))
        found = decoding()
    assert [True] == [gone(one) for one in found]
