"""The use cases of auctions and bids: each public function is one transaction."""
