"""The rules of accounts: pure functions over values."""
