"""People: names, passwords, sessions, and limits on how often one may try."""
