"""Fuzzing has the fixtures of the doors' tests: a house that logs an error fails the test."""

from tests.http.conftest import errors_logged

__all__ = ["errors_logged"]
