"""Draws the pictures of the demo's catalogue: `python -m scripts.demo_pictures` writes them into the package."""
