"""Payments by card online, with a provider behind a port."""
