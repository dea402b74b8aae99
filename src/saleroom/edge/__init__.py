"""`saleroom edge`: a tier before a house that follows its streams once and serves them to many readers."""
