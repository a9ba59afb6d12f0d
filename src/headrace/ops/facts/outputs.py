"""The names of the outputs that operators have beside their rows, and the columns of dead letters."""

from __future__ import annotations

from headrace.schema import parse_schema

MAIN = "main"
DEAD_LETTER = "dead_letter"
DEAD_SCHEMA = "node string, reason string, file string, position bigint, raw string"
DEAD_COLUMNS = parse_schema(DEAD_SCHEMA).names

LATE = "late"
LATE_RIGHT = f"{LATE}_right"
