"""A test fails if the house logs an error that the test has not provoked on purpose."""

from tests.http.conftest import errors_logged

__all__ = ["errors_logged"]
