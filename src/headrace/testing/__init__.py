"""Testing jobs and programs: `Harness` runs them on rows that a test gives, epoch by epoch."""

from headrace.testing.collected import Collected
from headrace.testing.harness import Harness

__all__ = ["Collected", "Harness"]
