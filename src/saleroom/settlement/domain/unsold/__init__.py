"""Lots that were not sold, and the offers of them."""
