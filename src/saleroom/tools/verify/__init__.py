"""`saleroom verify`: a ledger checked without the house that wrote it."""
