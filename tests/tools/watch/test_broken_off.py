"""A broker that breaks off is one line of a command, without those of its libraries."""

import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.process import environment
from tests.rows import each_of

ACCEPTED = b"\x20\x03\x00\x00\x00"
"""The answer of a broker of MQTT 5 that takes a connection."""
GRANTED, REFUSED = b"\x01", b"\x87"
"""Its answers to a subscription."""
NONSENSE = b"\x00\x00"
"""A packet of a type that MQTT does not have."""


@contextmanager
def broker(answers: list[bytes]) -> Iterator[str]:
    """Serve a broker that gives these answers to the subscriptions of each connection, and then closes it."""

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(1024)
                    connection.sendall(ACCEPTED)
                    for answer in answers:
                        number = connection.recv(1024)[2:4]
                        connection.sendall(b"\x90\x04" + number + b"\x00" + answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = threading.Thread(target=serve)
        serving.start()
        try:
            yield f"mqtt://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            serving.join()


@each_of(
    {"answers": [GRANTED, GRANTED, GRANTED + NONSENSE], "said": "{} cannot be watched: the connection broke off"},
    {"answers": [REFUSED], "said": "the broker at {} does not let you subscribe to saleroom/status"},
)
def test_a_broker_that_breaks_off_is_one_line(tmp_path: Path, answers: list[bytes], said: str) -> None:
    """The watch says what happened in its own words; paho, aiomqtt and asyncio say nothing beside it."""
    with broker(answers) as url:
        # An interpreter of its own: asyncio tells of an error that nobody has asked for when it ends.
        command = [sys.executable, "-m", "saleroom", "watch", url]
        done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    assert (1, "", f"saleroom: {said.format(url)}\n") == (done.returncode, done.stdout, done.stderr)


@contextmanager
def rude(answers: list[bytes]) -> Iterator[str]:
    """Serve a broker that resets each connection, after it has answered as many packets as there are `answers`."""

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    for answer in answers:
                        connection.recv(1024)
                        connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = threading.Thread(target=serve)
        serving.start()
        try:
            yield f"mqtt://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            serving.join()


@each_of(
    {"answers": []}, {"answers": [b""]}, {"answers": [b"HTTP/1.1 400 Bad Request\r\n\r\n"]}, {"answers": [ACCEPTED]}
)
def test_a_broker_that_resets_connections_is_known_at_once(tmp_path: Path, answers: list[bytes]) -> None:
    """The watch says that the connection broke off, instead of that an answer did not come in time, and nothing else."""
    with rude(answers) as url:
        command = [sys.executable, "-m", "saleroom", "watch", url]
        done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    said = f"saleroom: {url} cannot be watched: the connection broke off\n"
    assert (1, "", said) == (done.returncode, done.stdout, done.stderr)
