"""Accounts over the HTTP API."""
