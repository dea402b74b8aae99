"""Use cases: one public function is one use case in one transaction."""
