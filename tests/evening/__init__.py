"""A live sale through the console by keys alone, measured (docs/maintaining/evening.md)."""
