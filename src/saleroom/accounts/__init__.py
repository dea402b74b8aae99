"""People: names, passwords, sessions, and what one of them may send how often."""
