"""Errors that only Spark can find."""
