"""The HTTP API: the one table of routes is `endpoints.py`."""
