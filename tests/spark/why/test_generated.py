"""Rows of queries that are made up: the source rows that `hr.why` names, alone, give the row in Spark's batch engine."""

from __future__ import annotations

import datetime as dt
import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, seed
from hypothesis import strategies as st

import headrace as hr
from headrace.schema import parse_schema, plain
from headrace.schema.values import rows_from_internal, rows_to_internal
from headrace.spark.compile.job import compile
from headrace.spark.why.report import Why
from headrace.spark.why.why import Question, answering
from tests.scale import FULL, runs
from tests.spark.sql.batch import Batch
from tests.spark.sql.generated import query
from tests.spark.sql.same import close
from tests.spark.sql.tables import SCHEMAS, Row, random_row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AT_ONCE, ROWS = (8, 5) if FULL else (3, 2)
"""Queries of one job, and rows of each result that are asked about."""

SIZE = 16
"""Rows of a table."""

TOLERANCE = 1e-9


@seed(20261128)
@runs(1, 10)
@given(seeds=st.lists(st.integers(0, 2**32), min_size=AT_ONCE, max_size=AT_ONCE, unique=True))
def test_named_rows_alone_give_the_row(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, seeds: list[int]) -> None:
    chance = random.Random(seeds[0])
    tables = {name: [random_row(name, chance) for _ in range(SIZE)] for name in SCHEMAS}
    texts = {f"query_{number}": query(one) for number, one in enumerate(seeds)}
    wrong, count = [], 0
    with Batch(spark, SCHEMAS) as batch:
        batch.hold(tables)
        answers = {name: batch.answer(text) for name, text in texts.items()}
        known = {name: text for name, text in texts.items() if answers[name]}
        asked = {name: chance.sample(answers[name] or [], min(ROWS, len(answers[name] or []))) for name in known}
        for name, row, why in explained(tmp_path_factory.mktemp("why"), tables, known, asked):
            count += 1
            batch.hold(named_rows(why, tables))
            alone = batch.answer(known[name]) or []
            if not any(close(row, other, TOLERANCE) for other in alone):
                wrong.append(f"{known[name]}\n{row}\n{why}\nalone: {alone}")
    assert not wrong, "\n\n".join(wrong)
    assert count, "no query has a row"


def explained(
    folder: Path, tables: Mapping[str, list[Row]], texts: Mapping[str, str], asked: Mapping[str, list[Row]]
) -> Iterator[tuple[str, Row, Why]]:
    """Run queries as one job, and explain some rows of each."""
    sources = {name: hr.read.memory(rows, schema=SCHEMAS[name], name=name) for name, rows in tables.items()}
    views = {
        name: hr.sql(text, **{table: source for table, source in sources.items() if f"FROM {table}" in text})
        for name, text in texts.items()
    }
    job = hr.job("generated", *(view.write.memory(name=name) for name, view in views.items()))
    job.run(checkpoint=folder / "checkpoint", progress=False)
    version = compile(job.plan)
    with answering((folder / "checkpoint").absolute(), lambda stored: version, list(texts), print) as answers:
        for name, rows in asked.items():
            schema = version.schemas.of[name]
            for row in rows:
                (whole,) = rows_from_internal(rows_to_internal([row], schema, dt.UTC), schema, dt.UTC)
                yield name, row, answers.of(Question(name, dict(zip(schema.names, whole, strict=True)), 1000))


def named_rows(why: Why, tables: Mapping[str, list[Row]]) -> dict[str, list[Row]]:
    """Return the tables with only the rows that an answer names."""
    some: dict[str, list[Row]] = {name: [] for name in tables}
    for source in why.sources:
        schema = parse_schema(SCHEMAS[source.name])
        internal = rows_from_internal(rows_to_internal(tables[source.name], schema, dt.UTC), schema, dt.UTC)
        left = Counter({text(dict(one.row)): one.times for one in source.rows})
        for row, known in zip(tables[source.name], internal, strict=True):
            name = text(plain(known, schema))
            if left[name]:
                left[name] -= 1
                some[source.name].append(row)
        assert not +left, "a row that its source does not have"
    return some


def text(row: Mapping[str, Any]) -> str:
    return json.dumps(row, sort_keys=True)
