"""Notices as rows: what people chose, and where the causes of words are read."""
