"""The log for followers over HTTP."""
