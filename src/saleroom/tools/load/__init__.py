"""`saleroom load`: a running house tried from outside, over HTTP alone, and judged by its answers."""
