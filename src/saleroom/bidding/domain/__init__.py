"""The rules of an auction: pure functions over values, without clock, I/O or chance."""
