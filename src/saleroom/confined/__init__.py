"""Work on bytes of strangers: each piece is done by a process of its own, within limits of memory and time."""
