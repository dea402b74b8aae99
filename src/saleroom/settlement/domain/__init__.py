"""The rules of settlement: pure functions over values, without clock, I/O or chance."""
