"""The catalogue as files: imports with their photos, and exports."""
