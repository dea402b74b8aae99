"""After the hammer: what buyers owe, what consignors get, and what the house and the tax office keep."""
