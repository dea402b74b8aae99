"""Rate cards: scales, taxes, versions, the version that holds for a lot, and what they come to."""
