"""Values and pure functions for every area: money, text, hashes and the hierarchy of refusals."""
