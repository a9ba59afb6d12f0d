"""The YAML that the documentation shows is what the reader and the schema take."""

from __future__ import annotations

import re
from pathlib import Path

from tools import yaml_page

from headrace.spec.build import build
from headrace.spec.document import document
from headrace.spec.kinds import anything
from headrace.spec.reading import read
from headrace.spec.verbs import verbs
from tests.unit.spec.conftest import Write
from tests.unit.spec.test_build import plan
from tests.unit.spec.test_schema import SCHEMA, fits

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "reference" / "yaml.md").read_text(encoding="utf-8")
FIRST, WINDOWS, CHECKS, _ = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.M | re.S)


def test_the_first_job_of_the_page(write: Write) -> None:
    parsed = document(write(FIRST), {})
    assert (parsed.job, sorted(parsed.streams), len(parsed.sinks), len(parsed.checks)) == ("fraud", ["charges", "large", "spend"], 2, 2)
    assert fits(anything(read(Path("job.yaml"), {}), "it"), SCHEMA)


def test_the_windows_of_the_page(write: Write) -> None:
    sinks = "sinks:\n  out: {from: visits, connector: memory}\n  spent: {from: spend_per_hour, connector: memory}\n"
    built = build(document(write(FIRST[: FIRST.index("views:")] + WINDOWS + sinks), {}))
    streams = built.streams
    assert plan(built).sinks == ("out", "spent")
    assert streams["spend_per_hour"].columns == ("card", "window_end", "spent")
    assert streams["visits"].columns == ("card", "window_start", "window_end", "n")


def test_the_checks_of_the_page(write: Write) -> None:
    parsed = document(write(FIRST[: FIRST.index("checks:")] + CHECKS), {})
    assert [(one.require, one.schema is not None) for one in parsed.checks] == [
        ("exactly once", False),
        ("exactly once", False),
        ("bounded state", False),
        (None, True),
    ]


def test_the_page_names_every_verb() -> None:
    assert all(f"`{verb}`" in PAGE for verb in verbs())
    assert yaml_page.page() == PAGE, "write it again: make generated"
