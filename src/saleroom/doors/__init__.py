"""Doors translate only: parse, one service call, render."""
