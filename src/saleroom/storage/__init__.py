"""Where the house keeps its records: one set of tables and functions for SQLite and PostgreSQL."""
