"""The use cases of settlement: each public function is one transaction."""
