"""The rules of sales: pure functions over values, without clock, I/O or chance."""
