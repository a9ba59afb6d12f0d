"""The connectors of headrace itself: loaded by entry point, never imported."""
