"""The records of the house: one set of tables and functions for SQLite and PostgreSQL."""
