"""The use cases of accounts: one public function is one transaction."""
