"""Accounts as rows."""
