"""Sales, lots and consignors as rows."""
