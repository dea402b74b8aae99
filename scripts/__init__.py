"""Programs that make files of this repository again. Nothing in the package needs them."""
