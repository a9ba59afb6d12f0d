"""headrace keeps results up to date."""
