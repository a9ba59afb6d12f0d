"""Records of CSV under the options of a source: what they look like, what cannot be one. tests/spark/engine/test_exported.py reads them with Spark."""

from __future__ import annotations

import pytest

from headrace.engine.records import Records, Unwritable
from headrace.schema import parse_schema

SCHEMA = parse_schema("k string, n decimal(20,2), on boolean")


@pytest.mark.parametrize(
    ("options", "values", "line"),
    [
        ({}, ["a", "1", True], "a,1,true"),
        ({}, [None, "0", False], ",0,false"),
        ({}, ['say "hi"', "1.10", None], '"say \\"hi\\"",1.10,'),
        ({"escape": '"'}, ['say "hi"', None, None], '"say ""hi""",,'),
        ({"quote": "'"}, ["it's", None, None], "'it\\'s',,"),
        ({"sep": "\\t"}, ["a\tb", "1", None], '"a\tb"\t1\t'),
        ({"sep": "||"}, ["a|", "1", None], '"a|"||1||'),
        ({}, ["back\\slash", None, None], "back\\slash,,"),
        ({}, ["back\\, slash", None, None], '"back\\\\, slash",,'),
        ({}, [" a ", None, None], '" a ",,'),
        ({"nullvalue": "NIL"}, ["", None, None], '"",,'),
        ({"sep": "\\t"}, [None, None, None], '""\t""\t""'),
    ],
)
def test_a_line(options: dict[str, str], values: list[str | bool | None], line: str) -> None:
    assert Records(options, SCHEMA).line(values) == line


@pytest.mark.parametrize(
    ("options", "values", "why"),
    [
        ({}, ["", None, None], "a string is empty, and the source reads that as null"),
        ({"nullvalue": "NIL"}, ["NIL", None, None], "the source reads 'NIL' as null"),
        ({"nullvalue": "NIL", "emptyvalue": "NONE"}, ["", None, None], "a string is empty, and the source reads that as 'NONE'"),
        ({}, ["a\nb", None, None], "a string has a line break, and a record is one line"),
        ({"quote": ""}, ["a,b", None, None], "a string needs quotes, and the source reads none"),
        ({"locale": "de"}, ["a", "1.5", None], "`n` is a decimal formatted by locale, which the letter does not use"),
        ({"quote": "", "sep": "\\t"}, [None, None, None], "all its values are null, and the source skips blank lines"),
    ],
)
def test_no_line(options: dict[str, str], values: list[str | bool | None], why: str) -> None:
    with pytest.raises(Unwritable) as raised:
        Records(options, SCHEMA).line(values)
    assert str(raised.value) == why


def test_values_of_types_that_a_letter_writes_in_another_way() -> None:
    with pytest.raises(Unwritable, match="cannot hold the binary of `b`"):
        Records({}, parse_schema("b binary")).line(["YQ=="])
    with pytest.raises(Unwritable, match="`at` is formatted by timestampformat"):
        Records({"timestampformat": "yyyy"}, parse_schema("at timestamp")).line(["2026-01-01T00:00:00.000000Z"])


@pytest.mark.parametrize("options", [{}, {"escape": '"'}, {"quote": "'", "sep": "||"}, {"sep": ";", "quote": ""}, {"sep": "\\t"}])
def test_names_are_split_as_they_are_written(options: dict[str, str]) -> None:
    records = Records(options, parse_schema("k string, `a b` int, `it,s` int"))
    assert records.split(records.names) == ["k", "a b", "it,s"]
