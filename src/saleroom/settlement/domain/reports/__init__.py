"""Reports: how a sale went, and the tax of the house."""
