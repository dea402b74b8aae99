"""Houses and clients of one process share the results that each would compute from the same files at its start."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest
from jinja2 import BytecodeCache, Environment
from jinja2.bccache import Bucket

from saleroom import compose
from saleroom.mqtt import asyncapi
from saleroom.site import assets, language, rendering


class Templates(BytecodeCache):
    """Compiled templates, by their name and source. All houses compile them with the same options."""

    def __init__(self) -> None:
        self._compiled: dict[tuple[str, str], Any] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._compiled.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._compiled[bucket.key, bucket.checksum] = bucket.code


def once_below(folder: Path, make: Callable[..., Any]) -> Callable[..., Any]:
    """Return `make` that reads a file below `folder` once; a test may change other files."""
    cached = cache(make)
    return lambda file, *rest: (cached if file.is_relative_to(folder) else make)(file, *rest)


@pytest.fixture(scope="session", autouse=True)
def shared_start() -> Iterator[None]:
    """Compile templates, compress assets, write documents, and read the machine's certificates once."""
    templates, make_environment = Templates(), rendering._environment

    def environment(*names: Any) -> Environment:
        made = make_environment(*names)
        made.bytecode_cache = templates
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rendering, "_environment", environment)
        patch.setattr(assets, "_representations", once_below(Path(compose.__file__).parent, assets._representations))
        patch.setattr(language, "_catalogue", once_below(language.FOLDER, language._catalogue))
        patch.setattr(httpx._transports.default, "create_ssl_context", cache(httpx.create_ssl_context))
        patch.setattr(asyncapi, "document", cache(asyncapi.document))
        yield
