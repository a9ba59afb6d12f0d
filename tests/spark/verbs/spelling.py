"""A verb has the same plan in Python, in YAML and, where SQL says just that, in SQL."""

from __future__ import annotations

import textwrap
from pathlib import Path

import headrace as hr
from headrace.spec.kinds import anything
from headrace.spec.reading import read
from tests.spark.optimize.rules import lines, plan_of
from tests.spark.verbs.answers import BASKETS, SALES, SHOPS, Build, Streams
from tests.unit.spec.test_schema import SCHEMA, fits

_SCHEMAS = {"sales": SALES, "shops": SHOPS, "baskets": BASKETS}


def streams() -> Streams:
    """Inputs of which nobody reads a row."""
    return Streams(**{name: hr.read.memory([], schema, name=name) for name, schema in _SCHEMAS.items()})


def check_yaml(folder: Path, build: Build, steps: str, start: str = "sales") -> None:
    """The job of a YAML file whose view has these steps is the job of the stream, and the JSON schema takes the file."""
    sources = "".join(f"  {name}: {{connector: memory, schema: '{schema}', rows: []}}\n" for name, schema in _SCHEMAS.items())
    view = f"  view:\n    from: {start}\n    steps:\n{textwrap.indent(textwrap.dedent(steps).strip(), '      ')}\n"
    file = folder / "job.yaml"
    file.write_text(f"job: spelled\nsources:\n{sources}views:\n{view}sinks:\n  out: {{from: view, connector: memory}}\n", encoding="utf-8")
    assert fits(anything(read(file, {}), "it"), SCHEMA)
    stream = build(streams()).named("view")
    assert hr.load(file).plan.fingerprint == hr.job("spelled", stream.write.memory(name="out")).plan.fingerprint


def check_sql(build: Build, query: str) -> None:
    """The query is lifted to the nodes that the verb makes."""
    known = {name: one for name, one in vars(streams()).items() if name in query}
    assert lines(plan_of([hr.sql(query, **known)])) == lines(plan_of([build(streams())]))
