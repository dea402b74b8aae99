"""Pages for people, and the public folder."""
