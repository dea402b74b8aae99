"""The house logs no error in these tests unless the test provokes it."""

from tests.http.conftest import errors_logged

__all__ = ["errors_logged"]
