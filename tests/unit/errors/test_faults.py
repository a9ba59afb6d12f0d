"""Hints of the type check that depend on a type."""

from __future__ import annotations

import pytest

from headrace.analysis.faults import Fault, error_of
from headrace.schema import parse_schema

SCHEMA = parse_schema("m map<string, int>, xs array<int>, d interval day to second")


@pytest.mark.parametrize(
    ("condition", "parameters", "text", "hint"),
    [
        ("KEY_TYPE", {"type": "MAP<STRING, INT>"}, "m", "key by one of its values, such as m['x']"),
        ("KEY_TYPE", {"type": "MAP<INT, INT>"}, "m", "key by one of its values, such as m[1]"),
        ("KEY_TYPE", {"type": "MAP<DATE, INT>"}, "m", "key by one of its values"),
        ("KEY_TYPE", {"type": "MAP<INT, INT>"}, "", "key by one of its values"),
        ("KEY_TYPE", {"type": "INTERVAL"}, "d", "key by its text: CAST(d AS string)"),
        ("GENERATOR_IN_ROW_EXPRESSION", {}, "explode(m)", 'use the verb: .explode("m", as_=("key", "value")), which gives a row per item'),
        ("GENERATOR_IN_ROW_EXPRESSION", {}, "explode(xs)", 'use the verb: .explode("xs", as_="item"), which gives a row per item'),
        (
            "CONSTANT_TEXT",
            {"text": "'x'", "type": "INTERVAL DAY"},
            "d > 'x'",
            "write an INTERVAL DAY; or cast the column: CAST(d AS string)",
        ),
    ],
)
def test_hints(condition: str, parameters: dict[str, str], text: str, hint: str) -> None:
    assert error_of(Fault("charges", None, condition, "refused", parameters, text, SCHEMA)).hint == hint


def test_article() -> None:
    fault = Fault("charges", None, "CONSTANT_TEXT", "", {"text": "'x'", "type": "INTERVAL DAY"}, "d > 'x'", SCHEMA)
    assert error_of(fault).message == "charges: the string 'x' is not an INTERVAL DAY, in `d > 'x'`"
