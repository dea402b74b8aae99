"""After the commit: the event log goes out to the world."""
