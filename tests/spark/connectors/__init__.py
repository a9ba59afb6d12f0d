"""Connectors in whole jobs."""
