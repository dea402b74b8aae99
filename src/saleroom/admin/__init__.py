"""A house outside the service: its tables, its users, copies of it. Each command is a file's worth of words and work."""
