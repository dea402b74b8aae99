"""The rules of an auction house: pure functions over values, without clock, I/O or chance."""
