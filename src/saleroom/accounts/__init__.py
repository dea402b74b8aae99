"""People: names, passwords, sessions, and limits on failed logins and registrations."""
