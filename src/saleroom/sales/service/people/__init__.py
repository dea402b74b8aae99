"""The people of a sale: participants with their paddles, and consignors."""
