"""Documents: their lines, parties, payments and numbers, their electronic form, and how long they are kept."""
