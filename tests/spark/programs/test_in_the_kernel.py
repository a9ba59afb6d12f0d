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
from tests.models.cases import SUBJECTS, Epochs, Subject, epochs
from tests.models.machine import MICRO, ZERO, Row, run, sortable
from tests.scale import FULL
from tests.spark.kernel.trial import DEAD, FLUSH, Json, trial

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def micros(time: dt.datetime | None) -> int:
    return 0 if time is None else (time - ZERO) // MICRO


def operator(subject: Subject, order: str) -> Json:
    """A traced program as the operator of a query document."""
    inputs = {name: parse_schema(schema) for name, schema in subject.schemas.items()}
    key = [inputs["event"].fields[0]] if subject.keyed else []
    traced = trace(
        subject.program,
        name=subject.name,
        key=tuple(one.name for one in key),
        inputs={name: schema.names for name, schema in inputs.items()},
    )
    for output in traced.outputs:
        assert output.columns == parse_schema(subject.outputs[output.name]).names
    outputs = {**subject.outputs, "dead_letter": DEAD}
    return {
        **traced.to_json(),
        "op": 1,
        "name": subject.name,
        "site": "job.py:1",
        "kind": "program",
        "level": 1,
        "key": ", ".join(f"{one.name} {one.type}" for one in key),
        "order": order,
        "clock": traced.clock,
        "layout": {"number": 1, "old": []},
        "inputs": [
            {"name": name, "side": side, "schema": schema.ddl, "judged": order == "time"}
            for side, (name, schema) in enumerate(inputs.items())
        ],
        "outputs": [{"name": name, "schema": schema, "time": None, "routes": []} for name, schema in outputs.items()],
    }


def as_json(value: Any) -> Any:
    return str(value.replace(tzinfo=None)) if isinstance(value, dt.datetime) else str(value) if isinstance(value, Decimal) else value


def of_json(row: Json, schema: str) -> Row:
    def one(value: Any, kind: str) -> Any:
        if value is None:
            return None
        if isinstance(value, list):
            return tuple(value)
        return dt.datetime.fromisoformat(value) if kind == "timestamp" else Decimal(str(value)) if kind.startswith("decimal") else value

    return tuple(one(row.get(field.name), field.type.text) for field in parse_schema(schema).fields)


def in_the_kernel(spark: SparkSession, subject: Subject, cut: Epochs, order: str) -> dict[str, Counter[Row]]:
    """What the kernel gives for the epochs, each followed by the empty one that it makes due, the last by the flush."""
    times = subject.times(cut)
    epochs: list[Json] = []
    for number, epoch in enumerate(cut):
        rows = []
        for name, part in epoch.items():
            schema = parse_schema(subject.schemas[name])
            key_at, time_at = subject.model.inputs[name]
            for row in sorted(part, key=sortable):
                columns = {column: as_json(value) for column, value in zip(schema.names, row, strict=True)}
                key = {} if key_at is None else {parse_schema(subject.schemas["event"]).names[0]: row[key_at]}
                rows.append({"input": name, "key": key, "time": micros(row[time_at]), "row": columns})
        epochs.append({"watermark": micros(times.marks[number]), "rows": rows})
        epochs.append({"watermark": micros(times.marks[number + 1]), "rows": []})
    last = micros(times.last)
    epochs.append({"watermark": FLUSH + last, "flushing": True, "last_event": last, "rows": []})
    counts: dict[str, Counter[Row]] = {}
    # A restart before each epoch would be as good: nothing but this state goes from one to the next.
    half = len(epochs) // 2
    program = operator(subject, order)
    first = trial(spark, program, *epochs[:half])
    second = trial(spark, program, *epochs[half:], state=first.state)
    for rows in (*first.epochs, *second.epochs):
        for output, row, _ in rows:
            of = {"reason": str(row["reason"]).partition(" at ")[0]} if output == "dead_letter" else row
            counts.setdefault(output, Counter())[of_json(of, subject.outputs[output])] += 1
    return counts


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
@settings(max_examples=60 if FULL else 2, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), cuts=st.integers(0, 5), late=st.sampled_from([0.0, 0.2]))
def test_the_kernel_does_what_the_model_does(spark: SparkSession, subject: Subject, seed: int, cuts: int, late: float) -> None:
    cut = epochs(subject, random.Random(seed), keys=10, rows=200, cuts=cuts, late=late)
    assert in_the_kernel(spark, subject, cut, "time") == run(subject.model, cut, subject.times(cut))


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
@settings(max_examples=60 if FULL else 2, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), cuts=st.integers(0, 5))
def test_in_the_order_of_arrival(spark: SparkSession, subject: Subject, seed: int, cuts: int) -> None:
    """Most results depend on the order of arrival: the model is given the same."""
    cut = epochs(subject, random.Random(seed), keys=10, rows=200, cuts=cuts, late=0.1)
    assert in_the_kernel(spark, subject, cut, "arrival") == run(subject.model, cut, subject.times(cut), order="arrival")
