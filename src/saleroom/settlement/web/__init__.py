"""The pages of settlement."""
