"""Examples with named fields, for tests that run once for each of them."""

from collections.abc import Mapping
from typing import Any

import pytest


def each_of(*rows: Mapping[str, Any]) -> pytest.MarkDecorator:
    """Run a test once for each row; a row has a value for each of the test's own parameters, by name."""
    names = tuple(rows[0])
    return pytest.mark.parametrize(names, [tuple(row[name] for name in names) for row in rows])
