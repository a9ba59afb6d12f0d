"""A job in the middle of an epoch that a sink has in part: what may change, and what may not."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

import headrace as hr
from headrace.errors import HeadraceError
from headrace.plan import Plan
from headrace.spark.checkpoint.compare import refuse_in_mid_epoch
from tests.unit.errors import check_error

BEFORE: dict[str, Any] = {"least": 1, "topic": "out", "key": None, "options": {}}


def plan(*, least: int, topic: str, key: str | None, options: dict[str, str], name: str = "sink", more: bool = False) -> Plan:
    rows = hr.read.memory([("a", 1)], "k string, n int", name="rows")
    large = rows.filter(f"n > {least}").named("large")
    sinks = [large.write.kafka(topic, servers="a:9092", key=key, options=options, name=name)._use()]
    return Plan.of("job", [*sinks, rows.write.memory(name="more")._use()] if more else sinks)


STORED = json.loads(json.dumps(plan(**BEFORE).to_json()))


@pytest.mark.parametrize("change", [{}, {"options": {"linger.ms": "5"}}, {"more": True}])
def test_what_does_not_decide_where_rows_lie_may_change(change: dict[str, Any]) -> None:
    refuse_in_mid_epoch(plan(**{**BEFORE, **change}), STORED, {"sink": 3})


def test_a_sink_that_holds_the_epoch_and_is_gone() -> None:
    with pytest.raises(HeadraceError, match="other: epoch 3 was interrupted, and other was removed since"):
        refuse_in_mid_epoch(plan(**BEFORE), STORED, {"other": 3})


def test_where_the_job_stands_in_its_file_may_change() -> None:
    moved = json.loads(re.sub(r'"site": "[^"]*"', '"site": "other.py:99"', json.dumps(STORED)))
    assert moved != STORED
    refuse_in_mid_epoch(plan(**BEFORE), moved, {"sink": 3})


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"least": 2}, "large was changed"),
        ({"topic": "other"}, "sink was changed"),
        ({"key": "k"}, "sink was changed"),
        ({"name": "renamed"}, "renamed was added"),
    ],
)
def test_what_decides_where_rows_lie_may_not(change: dict[str, Any], what: str) -> None:
    changed = plan(**{**BEFORE, **change})
    with pytest.raises(HeadraceError) as refused:
        refuse_in_mid_epoch(changed, STORED, {change.get("name", "sink"): 3})
    assert f"epoch 3 was interrupted, and {what} since" in refused.value.message
    refuse_in_mid_epoch(changed, STORED, {})  # between two epochs anything may


def posting(batch: int, timeout: str = "1 second") -> Plan:
    rows = hr.read.memory([("a", 1)], "k string, n int", name="rows")
    return Plan.of("job", [rows.write.http("http://a/b", idempotent=True, batch=batch, timeout=timeout, name="posts")._use()])


def test_batches_that_have_keys_stay_what_they_are() -> None:
    stored = json.loads(json.dumps(posting(10).to_json()))
    refuse_in_mid_epoch(posting(10, "2 seconds"), stored, {"posts": 1})
    with pytest.raises(HeadraceError, match="posts: epoch 1 was interrupted, and posts was changed since"):
        refuse_in_mid_epoch(posting(20), stored, {"posts": 1})


def test_the_message() -> None:
    check_error(
        """
        EPOCH_UNFINISHED: sink: epoch 3 was interrupted, and large was changed since
          at test_compare.py:*: large = rows.filter(f"n > {least}").named("large")
          hint: nothing was changed: run the version that wrote the checkpoint once, so that it finishes the epoch, then this one; or start over with fresh=True
          more: headrace error EPOCH_UNFINISHED
        """,
        lambda: refuse_in_mid_epoch(plan(**{**BEFORE, "least": 2}), STORED, {"sink": 3}),
    )
