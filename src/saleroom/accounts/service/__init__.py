"""The use cases of accounts: each public function is one transaction."""
