"""Rows posted to a server in batches, over HTTP."""

from headrace.connectors.http.sink import PACKAGES, Sink

__all__ = ["PACKAGES", "Sink"]
