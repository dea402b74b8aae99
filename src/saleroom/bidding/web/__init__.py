"""The pages of auctions and bids."""
