"""Facts about a plan that are known without running it, one file per fact. Importing this package registers them with `plan.facts`."""

from headrace.analysis import boundedness, delay, guarantee, letters, lookups, outside, repeatable, schemas, state, visibility

__all__ = ["boundedness", "delay", "guarantee", "letters", "lookups", "outside", "repeatable", "schemas", "state", "visibility"]
