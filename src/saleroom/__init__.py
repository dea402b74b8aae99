"""A self-hosted auction house."""

__version__ = "0.1.0"
