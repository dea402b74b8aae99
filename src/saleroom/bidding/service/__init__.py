"""The use cases of auctions and bids: one public function is one transaction."""
