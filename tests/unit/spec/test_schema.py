"""The JSON schema: current in the documentation, and of one mind with the reader."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tools import yaml_page

from headrace import cli, spec
from headrace.spec.kinds import anything
from headrace.spec.reading import read
from tests.unit.spec.conftest import Write
from tests.unit.spec.test_build import SINKS, SOURCES, STEPS

ROOT = Path(__file__).resolve().parents[3]
PAGE = yaml_page.SCHEMA
SCHEMA = spec.schema(only="headrace.connectors.")

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def fits(value: Any, schema: Any) -> bool:
    """Whether a value fits a JSON schema, as far as ours go; a keyword that is not known here is an error."""
    if isinstance(schema, bool):
        return schema
    rules = {
        "type": lambda kinds: any(_is(value, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)),
        "enum": lambda options: value in options,
        "const": lambda only: value == only,
        "pattern": lambda text: not isinstance(value, str) or re.search(text, value) is not None,
        "anyOf": lambda ways: any(fits(value, way) for way in ways),
        "oneOf": lambda ways: sum(fits(value, way) for way in ways) == 1,
        "allOf": lambda ways: all(fits(value, way) for way in ways),
        "if": lambda condition: not fits(value, condition) or fits(value, schema["then"]),
        "items": lambda item: not isinstance(value, list) or all(fits(one, item) for one in value),
        "required": lambda names: not isinstance(value, dict) or all(name in value for name in names),
        "properties": lambda known: (
            not isinstance(value, dict) or all(fits(value[name], one) for name, one in known.items() if name in value)
        ),
        "additionalProperties": lambda other: (
            not isinstance(value, dict) or all(fits(one, other) for name, one in value.items() if name not in schema.get("properties", {}))
        ),
        "minProperties": lambda n: not isinstance(value, dict) or len(value) >= n,
        "minimum": lambda least: not _is(value, "integer") or value >= least,
        "maxProperties": lambda n: not isinstance(value, dict) or len(value) <= n,
        **dict.fromkeys(("then", "$schema", "title", "description"), lambda _: True),
    }
    return all(rules[keyword](rule) for keyword, rule in schema.items())


def _is(value: Any, kind: str) -> bool:
    return isinstance(value, _TYPES[kind]) and not (isinstance(value, bool) and kind in ("integer", "number"))


def taken(write: Write, text: str) -> bool:
    """Whether the schema takes a file."""
    return fits(anything(read(write(text), {}), "it"), SCHEMA)


def test_the_schema_in_the_documentation_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == yaml_page.schema(), "write it again: make generated"


def test_the_command_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == spec.schema()


@pytest.mark.parametrize("step", STEPS)
def test_it_takes_every_step_that_is_read(step: str, write: Write) -> None:
    assert taken(write, f"{SOURCES}views:\n  view:\n    from: charges\n    steps:\n      - {step}\n{SINKS}")


@pytest.mark.parametrize(
    "step",
    [
        "fliter: x",
        "join: {with: a}",
        "join: {with: a, on: b, hw: left}",
        "top: {n: three, by: x}",
        "distinct: true",
        "select",
        "{drop: a, filter: b}",
    ],
)
def test_it_refuses_what_is_refused(step: str, write: Write) -> None:
    assert not taken(write, f"{SOURCES}views:\n  view:\n    from: charges\n    steps:\n      - {step}\n{SINKS}")


WRONG = {
    "another key": SOURCES.replace("sources:", "sorces:") + SINKS,
    "no sinks": SOURCES,
    "another option": SOURCES.replace("format:", "fmt:") + SINKS,
    "no option": SOURCES.replace("path: in, ", "") + SINKS,
    "another connector": SOURCES.replace("connector: files", "connector: fils") + SINKS,
    "another mode": SOURCES + SINKS.replace("memory", "memory, mode: chnges"),
    "a number that is a word": SOURCES.replace("format: json", "format: json, files_per_epoch: few") + SINKS,
    "another setting": SOURCES + SINKS + "settings: {spark.sql.session.timezone: UTC}\n",
    "another check": SOURCES + SINKS + "checks: [{require: exactly twice}]\n",
    "a check of nothing": SOURCES + SINKS + "checks: [{view: view}]\n",
    "a function": SOURCES + "sinks: {out: {from: view, connector: foreach_batch, function: send}}\n",
}


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_it_refuses_other_files(text: str, write: Write) -> None:
    assert not taken(write, text)


RIGHT = {
    "the job of the Spark tests": (ROOT / "tests/spark/spec/job.yaml").read_text(encoding="utf-8"),
    "a file to include": (ROOT / "tests/spark/spec/sources.yaml").read_text(encoding="utf-8"),
    "a variable where a number is wanted": SOURCES.replace("format: json", "format: json, files_per_epoch: '$${FEW}'") + SINKS,
    "a watermark": SOURCES.replace("format: json", "format: json, watermark: {column: ts, delay: 5 minutes}") + SINKS,
}


@pytest.mark.parametrize("text", RIGHT.values(), ids=RIGHT)
def test_it_takes_other_files(text: str, write: Write) -> None:
    assert taken(write, text)


def test_the_test_knows_all_keywords() -> None:
    assert fits({"a": 1}, {"type": "object", "properties": {"a": {"type": "integer"}}})
    with pytest.raises(KeyError):
        fits(1, {"multipleOf": 2})
