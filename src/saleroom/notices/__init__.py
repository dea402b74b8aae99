"""Words to people about what happens to their lots: when they are posted, how they are sent, and who wants them."""
