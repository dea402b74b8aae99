"""Settlement as rows."""
