"""The owner's commands on a house outside the service: its tables, its users, and copies of it."""
