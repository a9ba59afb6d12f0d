"""Rows of letters, exported for a CSV source, are the same rows where the source reads them."""

from __future__ import annotations

import json
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.plan import Plan
from tests.unit.engine.test_letters import letter, stored, write_letters

pytestmark = pytest.mark.usefixtures("spark")

SCHEMA = "id int, k string, n int, d double, x decimal(20,2), on boolean, at timestamp, day date, last string"
SIGNS = ['"', "'", "\\", ",", ";", "|", "\t", "#", " ", "a", "^"]
TEXTS = [
    None,
    "",
    "NIL",
    "plain",
    "two words",
    " blanks ",
    "\u00a0wide\u00a0",
    "line\nbreak",
    "line\rbreak",
    "\u00e4\u20ac\U0001f600",
    *("".join(signs) for length in (1, 2, 3) for signs in product(SIGNS, repeat=length)),
]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"escape": '"'},
    {"nullValue": "NIL"},
    {"quote": "'", "sep": ";"},
    {"sep": "||", "escape": "^"},
    {"sep": "\\t", "comment": "#", "header": False},
    {"quote": ""},
    {"escape": ""},
    {"ignoreLeadingWhiteSpace": True, "ignoreTrailingWhiteSpace": True},
    {"nullValue": "NIL", "emptyValue": "plain"},
    {"charToEscapeQuoteEscaping": "^"},
]


def values(number: int, text: str | None) -> dict[str, Any]:
    at = None if number % 2 else "2026-01-01T00:00:00.000001Z"
    return {
        "id": number,
        "k": text,
        "n": number % 2,
        "d": float(number % 2),
        "x": number % 3,
        "on": True,
        "at": at,
        "day": "2026-01-02",
        "last": text,
    }


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_what_is_exported_is_read_as_the_same_values(tmp_path: Path, options: dict[str, Any]) -> None:
    def source(path: Path) -> hr.Stream:
        return hr.read.files(path, format="csv", schema=SCHEMA, name="charges", options=options)

    sound = source(tmp_path / "in").expect("n > 1").named("sound")
    stored(tmp_path, Plan.of("fraud", [sound.write.memory(name="out")._use()]))
    rows = [values(number, text) for number, text in enumerate(TEXTS)]
    rows[0]["x"] = "DECIMAL"
    write_letters(
        tmp_path, 0, *(letter("sound", "EXPECTATION: n", json.dumps(row).replace('"DECIMAL"', "123456789012345678.91")) for row in rows)
    )
    exported = hr.letters(tmp_path).export("charges", tmp_path / "out.csv")
    assert exported.rows + sum(exported.left_out.values()) == len(rows)
    collected = hr.collect(source(tmp_path / "out.csv"))
    texts = {row[0]: (row[1], row[8]) for row in collected.rows()}
    wrong = {TEXTS[number]: both for number, both in texts.items() if both != (TEXTS[number], TEXTS[number])}
    assert not wrong
    assert len(collected) == exported.rows > len(rows) / 5
    first = next(row for row in collected.rows() if row[0] == 0)
    assert (first[2:5], first[5]) == ((0, 0.0, Decimal("123456789012345678.91")), True)
    assert {row[2] for row in collected.rows()} == {0, 1}
    without = {"a string has a line break, and a record is one line": 2}
    assert without.items() <= dict(exported.left_out).items()
