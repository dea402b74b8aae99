"""Houses and clients of one process share the results that each would compute from the same files at its start."""

import hashlib
import os
import ssl
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import brotli
import httpx
from alembic.config import Config
from alembic.script import ScriptDirectory
from argon2 import PasswordHasher
from jinja2 import Environment, FileSystemBytecodeCache
from jinja2.bccache import Bucket
from sqlalchemy import create_engine
from sqlalchemy.engine.interfaces import Dialect
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.util import LRUCache
from starlette import routing

from saleroom import compose
from saleroom.accounts.service import passwords
from saleroom.mqtt import asyncapi
from saleroom.outbox import hooks
from saleroom.settings import Settings
from saleroom.site import assets, language, rendering
from saleroom.storage import postgresql, sqlite
from saleroom.storage.migrations import newest_revision

HASHER = passwords.HASHER
QUICK_HASHER = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
"""A digest of the house's own hasher takes longer than most tests."""
COMPILED = Path(__file__).parents[1] / "build" / "templates"
"""To compile all templates takes as long as to import all modules."""
COMPRESSIONS = COMPILED.with_name("compressions") / version("brotli")
"""To compress all assets takes a third of a second."""
STATEMENTS_MAX = 3_000
"""More than the house has: those of SQLite and PostgreSQL together, some of them for different numbers of rows."""


class Statements(LRUCache[Any, Any]):
    """Statements in SQL, by what SQLAlchemy makes them of: once for all databases of one kind and version.

    Otherwise each database would compile all that it runs: two fifths of the processor time of a house that starts on SQLite.
    """

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(self._of_any_database(*key), default)

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(self._of_any_database(*key), value)

    @staticmethod
    def _of_any_database(dialect: Dialect, *made_of: Any) -> Any:
        """Return the key of a statement without the object that each database has of its dialect."""
        return type(dialect), dialect.server_version_info, *made_of


class Templates(FileSystemBytecodeCache):
    """Compiled templates, by their name and source: in memory, and in files that the next process finds.

    All houses compile them with the same options, which stand in `rendering`.
    """

    def __init__(self) -> None:
        options = Path(rendering.__file__).read_bytes() + version("jinja2").encode()
        folder = COMPILED / hashlib.sha256(options).hexdigest()[:16]
        folder.mkdir(parents=True, exist_ok=True)
        super().__init__(str(folder))
        self._compiled: dict[tuple[str, str], Any] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._compiled.get((bucket.key, bucket.checksum))
        if bucket.code is None:
            super().load_bytecode(bucket)
            self._compiled[bucket.key, bucket.checksum] = bucket.code

    def dump_bytecode(self, bucket: Bucket) -> None:
        super().dump_bytecode(bucket)
        self._compiled[bucket.key, bucket.checksum] = bucket.code


def once_below(folder: Path, make: Callable[..., Any]) -> Callable[..., Any]:
    """Return `make` that reads a file below `folder` once; a test may change other files."""
    cached = cache(make)
    return lambda file, *rest: (cached if file.is_relative_to(folder) else make)(file, *rest)


def once_for_rows(make: Callable[..., bytes]) -> Callable[..., bytes]:
    """Return `make` that writes the document of the same endpoints and areas once."""
    written: dict[tuple[int, ...], tuple[Any, bytes]] = {}

    def document(*tables: Sequence[Any]) -> bytes:
        key = tuple(id(row) for table in tables for row in table)
        if key not in written:
            written[key] = tables, make(*tables)  # what is kept gives its id to nothing else
        return written[key][1]

    return document


def once_for_bodies(make: Callable[..., Any]) -> Callable[..., Any]:
    """Return `make` that compresses the same bodies once."""

    @cache
    def representations(bodies: frozenset[tuple[str, bytes]], media_type: str) -> Any:
        return make(dict(bodies), media_type)

    def each(bodies: Mapping[str, bytes], media_type: str) -> Any:
        return representations(frozenset(bodies.items()), media_type)

    return each


def kept_compressions(compress: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    """Return `compress` that compresses a text once, and finds in the next run what it has made."""
    COMPRESSIONS.mkdir(parents=True, exist_ok=True)

    def compressed(plain: bytes) -> bytes:
        kept = COMPRESSIONS / hashlib.sha256(plain).hexdigest()
        if not kept.exists():
            unfinished = kept.with_name(f"{kept.name}-{os.getpid()}-{threading.get_ident()}")
            unfinished.write_bytes(compress(plain))
            unfinished.replace(kept)
        return kept.read_bytes()

    return compressed


def once_for_areas(make: Callable[..., bytes]) -> Callable[..., bytes]:
    """Return `make` that asks each area once for its messages, and writes the same document once."""
    messages = cache(lambda declare: declare())
    return cache(lambda prefix, where, areas: make(prefix, where, [partial(messages, area) for area in areas]))


def once_for_this_machine(make: Callable[..., ssl.SSLContext]) -> Callable[..., ssl.SSLContext]:
    """Return `make` that reads the machine's own list of authorities once."""
    machines = cache(make)
    return lambda cafile=None: machines() if cafile is None else make(cafile=cafile)


def once_for_folder(make: Callable[[Config], ScriptDirectory]) -> Callable[[Config], ScriptDirectory]:
    """Return `make` that loads the steps of the tables in a folder once, and not each time that steps are taken."""
    loaded: dict[str | None, ScriptDirectory] = {}

    def steps(config: Config) -> ScriptDirectory:
        folder = config.get_main_option("script_location")
        if folder not in loaded:
            loaded[folder] = make(config)
        return loaded[folder]

    return steps


def with_statements(make: Callable[..., Any], statements: Statements) -> Callable[..., Any]:
    """Return `make`, which makes engines, so that they have these statements in common."""

    def engine(*parts: Any, **more: Any) -> Any:
        made = make(*parts, **more)
        getattr(made, "sync_engine", made)._compiled_cache = statements
        return made

    return engine


def share(replace: Callable[[Any, str, Any], None]) -> list[Environment]:
    """Compile templates, routes and statements, load steps, read assets and certificates, write documents once. Hash quickly.

    Return the list to which each house adds the environment of its templates.
    """
    templates, make_environment = Templates(), rendering._environment
    environments: list[Environment] = []
    statements = Statements(STATEMENTS_MAX)

    def environment(*names: Any) -> Environment:
        environments.append(make_environment(*names))
        environments[-1].bytecode_cache = templates
        return environments[-1]

    replace(passwords, "HASHER", QUICK_HASHER)
    replace(sqlite, "create_engine", with_statements(create_engine, statements))
    replace(postgresql, "create_async_engine", with_statements(create_async_engine, statements))
    replace(rendering, "_environment", environment)
    replace(assets, "_read", once_below(Path(compose.__file__).parent, assets._read))
    replace(routing, "compile_path", cache(routing.compile_path))
    replace(ScriptDirectory, "from_config", once_for_folder(ScriptDirectory.from_config))
    replace(assets, "brotli", SimpleNamespace(compress=kept_compressions(brotli.compress)))
    replace(assets, "_compressed", once_for_bodies(assets._compressed))
    replace(language, "_catalogue", once_below(language.FOLDER, language._catalogue))
    replace(httpx._transports.default, "create_ssl_context", cache(httpx.create_ssl_context))
    contexts = once_for_this_machine(ssl.create_default_context)
    replace(hooks, "ssl", SimpleNamespace(**{**vars(ssl), "create_default_context": contexts}))
    replace(asyncapi, "document", once_for_areas(asyncapi.document))
    replace(compose, "api_document", once_for_rows(compose.api_document))
    return environments


def share_with_forks() -> None:
    """Let the forks of this process find everything made that a house makes at its start."""
    environments = share(setattr)
    with TemporaryDirectory() as folder:
        values = {"database": f"sqlite:///{folder}/saleroom.db", "mqtt": "off"}
        compose.application(Settings.model_validate(values))
    for template in environments[-1].list_templates():
        environments[-1].get_template(template)
    hooks.HookClient(private=False)
    newest_revision()  # loads all steps
