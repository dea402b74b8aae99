"""The log to all who follow it over HTTP."""
