"""A live sale: its block, the acts of its clerk, and those who follow it."""
