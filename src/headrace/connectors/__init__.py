"""Connectors that come with headrace: loaded by entry point, imported by nobody."""
