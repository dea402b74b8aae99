"""What becomes of lots that were not sold: offers, other sales, the way back."""
