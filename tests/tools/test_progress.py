"""The progress of long commands, on terminals only."""

import io

from rich.console import Console

from saleroom.tools.progress import Progress


def console(*, terminal: bool) -> Console:
    """Return a console that writes into memory."""
    return Console(file=io.StringIO(), force_terminal=terminal, width=60, color_system=None)


def written(console: Console) -> str:
    """Return what a console has written."""
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_quick_work_shows_nothing() -> None:
    """A report in the first second writes nothing."""
    screen = console(terminal=True)
    with Progress(screen) as progress:
        progress.report("copying", 1, 2)
    assert "" == written(screen)


def test_long_work_shows_how_far_it_is() -> None:
    """The line has the progress, and its share if the total is known. It is erased at the end."""
    screen = console(terminal=True)
    with Progress(screen, quiet_seconds=0) as progress:
        progress.report("copying", 1, 2)
        assert "copying" in written(screen) and " 50%" in written(screen)
        progress.report("read 2.0 MB", now=True)
        assert "%" not in written(screen).rpartition("read 2.0 MB")[2]
    assert written(screen).endswith("\x1b[2K"), "the line is erased"


def test_frequent_reports_are_skipped() -> None:
    """Of several reports at once only the first is shown, except for those that must be shown."""
    screen = console(terminal=True)
    with Progress(screen, quiet_seconds=0) as progress:
        for done in range(1000):
            progress.report("copying", done, 1000)
        assert "99%" not in written(screen)
        progress.report("copying", 1000, 1000, now=True)
        assert "100%" in written(screen)


def test_a_pipe_gets_no_progress() -> None:
    """If standard error is no terminal, nothing is written."""
    pipe = console(terminal=False)
    with Progress(pipe, quiet_seconds=0) as progress:
        progress.report("copying", 1, 2)
    assert "" == written(pipe)
