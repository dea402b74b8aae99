"""What every area may use: money, text, hashes and the hierarchy of refusals. Pure functions and values."""
