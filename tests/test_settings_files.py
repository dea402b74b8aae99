"""What may stand in the place of a file of settings, and what may not."""

import os
from pathlib import Path

from saleroom.settings import FILE_BYTES_MAX, load
from tests.test_settings import faults


def test_a_device_or_a_pipe_is_no_file_of_settings(tmp_path: Path) -> None:
    """What never ends, or waits for a writer that never comes, is refused by its name, also in a folder of secrets."""
    pipe = tmp_path / "port"
    os.mkfifo(pipe)
    refused = "it is a device or a pipe; name a file"
    assert [f"cannot read {pipe}: {refused}"] == faults({"SALEROOM_CONFIG": str(pipe)})
    assert ["cannot read /dev/zero: " + refused] == faults({"SALEROOM_CONFIG": "/dev/zero"})
    assert [f"cannot read {pipe}: {refused}"] == faults({"SALEROOM_SECRETS": str(tmp_path)})
    large = tmp_path / "large.toml"
    large.write_bytes(b"#" * (FILE_BYTES_MAX + 1))
    assert [f"{large} is larger than 1048576 bytes; name a file of settings"] == faults({}, config=str(large))


def test_a_pipe_that_the_shell_gives_is_a_file_of_settings() -> None:
    """`--config <(command)` names a pipe that is open already; and /dev/null has no settings."""
    reader, writer = os.pipe()
    os.write(writer, b"port = 7\r\n")
    os.close(writer)
    assert 7 == load({}, {}, f"/dev/fd/{reader}").port
    os.close(reader)
    assert 9000 == load({}, {}, os.devnull).port
