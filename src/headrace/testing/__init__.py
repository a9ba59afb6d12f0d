"""Tests of programs and plans: `Harness` runs them on rows from the test, epoch by epoch."""

from headrace.testing.collected import Collected
from headrace.testing.harness import Harness

__all__ = ["Collected", "Harness"]
