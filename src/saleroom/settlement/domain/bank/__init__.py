"""Money from and to the bank: payments on statements, accounts, transfers, payouts and what banks say about them."""
