"""Documents of a sale: issued, shown, printed, credited, checked, and what of them is open."""
