"""Auctions, bids and photos as rows."""
