"""Sales of many lots: their catalogues, states and logs."""
