"""The use cases of sales: each public function is one transaction."""
