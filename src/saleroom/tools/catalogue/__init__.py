"""`saleroom catalogue`: the catalogue of a sale, to and from a running house."""
