"""A run of all cases: what came out of them, and what their state had, epoch by epoch."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.engine.state import stored_job
from headrace.jvm.frames import java_session
from headrace.jvm.packages import attach
from headrace.jvm.session import jvm
from headrace.ops.operator import operator
from headrace.ops.relational import Stateful
from headrace.packages import Packages
from headrace.plan import Fact, Node, Plan, facts, order
from headrace.spark.inspect.inspect import document, in_stores
from headrace.spark.inspect.tables import kept
from headrace.testing import Harness
from tests.spark.facts.cases import cases, of_processing_time
from tests.spark.facts.inputs import Case, Change, Inputs, commits, commits_of_now, many

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REACHED = Packages(scala=Path(__file__).parent / "scala", name="facts")

HELD = "held_"
Weighed = tuple[tuple[Any, ...], int]


@dataclass(frozen=True)
class Kept:
    """Rows of an operator in the stores, how many of them its layout knows, and the rows of its tables."""

    stored: int
    known: int
    bytes: int
    pages: Mapping[str, int]
    tables: Mapping[str, int]

    @property
    def rows(self) -> int:
        """Those that it keeps, without the ones that wait for the watermark."""
        return sum(rows for table, rows in self.tables.items() if not table.startswith(HELD))


@dataclass(frozen=True)
class Ran:
    """`ends` are the nodes whose rows came out, by case; `states` is by epoch and the name of the operator, "" for rows of none."""

    ends: Mapping[str, Node]
    owners: Mapping[str, str]
    ops: Mapping[str, str]
    operators: Mapping[str, Node]
    facts: Mapping[str, Mapping[str, Fact]]
    outs: Mapping[str, list[list[Weighed]]]
    states: list[Mapping[str, Kept]]
    late: Mapping[str, int]
    last: Mapping[str, int | None]
    monotone: frozenset[str]

    @property
    def whole(self) -> frozenset[str]:
        """The cases whose rows are those of their operators."""
        return frozenset(case for case, end in self.ends.items() if end.name == self.owners[case])

    def stateful(self) -> list[str]:
        """The cases of operators with state."""
        return [case for case, owner in self.owners.items() if owner in self.operators]

    def forgets(self, case: str) -> bool:
        """Whether some operator of a case forgets groups."""
        return any(operator(node).forgets_after is not None for node in order([self.ends[case]]))

    def state(self, case: str) -> list[Kept]:
        """What the operator of a case kept after each epoch."""
        return [state[self.owners[case]] for state in self.states]

    def there(self, case: str, epoch: int) -> Counter[tuple[Any, ...]]:
        """The rows that are there of a case after an epoch."""
        weights: Counter[tuple[Any, ...]] = Counter()
        for changes in self.outs[case][: epoch + 1]:
            for row, weight in changes:
                weights[row] += weight
        return Counter({row: n for row, n in weights.items() if n})


def run(spark: SparkSession, folder: Path) -> Ran:
    """The cases of event time, and of none, in one job."""
    with Harness() as h:
        return _run(spark, h, cases(Inputs.of(h, folder)), commits())


def run_again(spark: SparkSession, folder: Path) -> Ran:
    """The same with the rows of each epoch in another order, in one partition, and many rows at the end: then its state is looked at."""
    with Harness(partitions=1) as h:
        return _run(spark, h, cases(Inputs.of(h, folder)), [*commits(again=True), many()], looks=1)


def run_now(spark: SparkSession, folder: Path) -> Ran:
    """The cases of processing time."""
    with Harness() as h:
        return _run(spark, h, of_processing_time(Inputs.of_now(h, folder)), commits_of_now())


def _run(spark: SparkSession, h: Harness, cases: Mapping[str, Case], all: Iterable[Mapping[str, list[Change]]], looks: int = 5) -> Ran:
    outs = {name: h.collect(case.stream) for name, case in cases.items()}
    last: list[int] = []
    for come in all:
        if not come:
            h.advance("30 hours")
        h.commit(come)
        [query] = h._queries()
        last.append(query.totals.epoch)
    [query] = h._queries()
    totals, live = query.totals, query.identity.live()
    job = h._job
    assert job is not None
    ends = {name: sink.inputs[0] for name, sink in zip(cases, (job.plan.nodes[one] for one in job.plan.sinks), strict=True)}
    operators = {name: node for name, node in job.plan.nodes.items() if isinstance(node, Stateful)}
    return Ran(
        ends,
        {name: str(_owner(case.op, ends[name])) for name, case in cases.items()},
        {name: case.op for name, case in cases.items()},
        operators,
        {title: facts(job.plan, title) for title in ("state", "rows", "order", "time")},
        {
            name: [
                [(_frozen(row), weight) for (n, _), changes in sorted(out._sink.epochs.items()) if n == commit for row, weight in changes]
                for commit in range(1, len(last) + 1)
            ]
            for name, out in outs.items()
        },
        [_states(spark, h._folder / "checkpoint", job.plan, epoch) for epoch in last[-looks:]],
        {name: sum(totals.of_input(live[name].op, side, "late") for side in (0, 1)) for name in operators},
        {name: case.last for name, case in cases.items()},
        frozenset(name for name, case in cases.items() if case.monotone),
    )


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value


def _owner(op: str, end: Node) -> str | None:
    """The operator of a case: the last one of its kind before the end."""
    return next((node.name for node in reversed(order([end])) if node.op == op), None)


def _states(spark: SparkSession, checkpoint: Path, plan: Plan, epoch: int) -> Mapping[str, Kept]:
    attach(spark, [REACHED])
    stored = stored_job(checkpoint)
    # Sources of a harness are not those that a plan names.
    operators = [replace(one, node=plan.nodes[one.entry.shape.name]) for one in kept(stored)]
    request = document(stored, operators, in_stores(checkpoint, {one.query: epoch for one in operators}), stored.partitions)
    reached = json.loads(jvm(spark).headrace.inspect.Reached.counts(java_session(spark), request))
    names = {str(one.entry.op): one.entry.shape.name for one in operators} | {"0": ""}
    return {names[op]: Kept(**counts) for op, counts in reached.items()}
