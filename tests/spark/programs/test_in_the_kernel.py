"""Traced programs in the kernel, without a streaming query, against their plain Python models: many random cases in one session."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.program import trace
from headrace.schema import parse_schema
from tests.models.cases import DELAY, SUBJECTS, Epochs, Subject, epochs
from tests.models.machine import ZERO, Machine, Row, floor, run
from tests.scale import FULL
from tests.spark.kernel.trial import DEAD, FLUSH, Json, trial

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MICRO = dt.timedelta(microseconds=1)


def micros(time: dt.datetime | None) -> int:
    return 0 if time is None else (time - ZERO) // MICRO


def operator(subject: Subject) -> Json:
    """A traced program as the operator of a query document."""
    inputs = {name: parse_schema(schema) for name, schema in subject.schemas.items()}
    key = inputs["event"].fields[0]
    traced = trace(subject.program, name=subject.name, key=(key.name,), inputs={name: schema.names for name, schema in inputs.items()})
    for output in traced.outputs:
        assert output.columns == parse_schema(subject.schema[output.name]).names
    return {
        **traced.to_json(),
        "op": 1,
        "name": subject.name,
        "site": "job.py:1",
        "kind": "program",
        "level": 1,
        "key": f"{key.name} {key.type}",
        "order": "time",
        "clock": traced.clock,
        "layout": {"number": 1, "old": []},
        "inputs": [
            {"name": name, "side": side, "schema": schema.ddl, "judged": True} for side, (name, schema) in enumerate(inputs.items())
        ],
        "outputs": [
            {"name": name, "schema": schema, "time": None, "routes": []} for name, schema in {**subject.schema, "dead_letter": DEAD}.items()
        ],
    }


def as_json(value: Any) -> Any:
    return str(value.replace(tzinfo=None)) if isinstance(value, dt.datetime) else str(value) if isinstance(value, Decimal) else value


def of_json(row: Json, schema: str) -> Row:
    def one(value: Any, kind: str) -> Any:
        if value is None:
            return None
        return dt.datetime.fromisoformat(value) if kind == "timestamp" else Decimal(str(value)) if kind.startswith("decimal") else value

    return tuple(one(row.get(field.name), field.type.text) for field in parse_schema(schema).fields)


def in_the_kernel(spark: SparkSession, subject: Subject, cut: Epochs) -> dict[str, Counter[Row]]:
    """What the kernel gives for the epochs, each followed by the empty one that it makes due, the last by the flush."""
    clock = Machine(subject.model, dict.fromkeys(subject.makers, DELAY))
    asked: list[Json] = []
    for epoch in cut:
        rows = []
        for name, part in epoch.items():
            schema = parse_schema(subject.schemas[name])
            key_at, time_at = subject.model.inputs[name]
            for row in part:
                columns = {column: as_json(value) for column, value in zip(schema.names, row, strict=True)}
                key = {parse_schema(subject.schemas["event"]).names[0]: row[key_at]}
                rows.append({"input": name, "key": key, "time": micros(row[time_at]), "row": columns})
        asked.append({"watermark": micros(clock.watermark), "rows": rows})
        clock.epoch(epoch)
        asked.append({"watermark": micros(clock.watermark), "rows": []})
    last = micros(floor(max(clock.latest.values())))
    asked.append({"watermark": FLUSH + last, "flushing": True, "last_event": last, "rows": []})
    found: dict[str, Counter[Row]] = {}
    # A restart before each epoch would be as good: nothing but this state goes from one to the next.
    half = len(asked) // 2
    program = operator(subject)
    first = trial(spark, program, *asked[:half])
    second = trial(spark, program, *asked[half:], state=first.state)
    for rows in (*first.epochs, *second.epochs):
        for output, row, _ in rows:
            found.setdefault(output, Counter())[of_json(row, subject.schema[output])] += 1
    return found


@pytest.mark.parametrize("late", [0.0, 0.2], ids=["on time", "late"])
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
@settings(max_examples=60 if FULL else 5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), cuts=st.integers(0, 5))
def test_the_kernel_does_what_the_model_does(spark: SparkSession, subject: Subject, late: float, seed: int, cuts: int) -> None:
    cut = epochs(subject, random.Random(seed), keys=10, rows=200, cuts=cuts, late=late)
    assert in_the_kernel(spark, subject, cut) == run(subject.model, cut, dict.fromkeys(subject.makers, DELAY))
