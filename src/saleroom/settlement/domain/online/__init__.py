"""Payments by card online."""
