"""Auctions, bids, closing, ledgers and receipts: the heart of the house."""
