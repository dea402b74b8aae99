"""Paper of a sale: catalogues, labels, lists and sheets, set by a process of its own."""
