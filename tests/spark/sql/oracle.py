"""The prefix oracle: after every commit each query's answer is what Spark's batch engine answers over the net rows so far."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import headrace as hr
from headrace.errors import HeadraceError
from headrace.testing import Collected, Harness
from tests.spark.sql.batch import Batch
from tests.spark.sql.changing import Epoch, Net
from tests.spark.sql.corpus import Query
from tests.spark.sql.same import both_signs, differing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHOWN = 4
"""Rows of a difference that are shown."""


@dataclass
class Difference:
    """Where an answer is not that of batch."""

    query: str
    epoch: int
    missing: list[Any] = field(default_factory=list)
    extra: list[Any] = field(default_factory=list)
    report: str = ""

    def __str__(self) -> str:
        parts = [f"{self.query}, epoch {self.epoch}:"] + ([self.report] if self.report else [])
        for what, rows in (("missing", self.missing), ("extra", self.extra)):
            if rows:
                more = f" and {len(rows) - SHOWN} more" if len(rows) > SHOWN else ""
                parts.append(f"{what} {rows[:SHOWN]}{more}")
        return " ".join(parts)


def run(
    queries: Mapping[str, str | Query],
    schemas: Mapping[str, str],
    epochs: Sequence[Epoch],
    *,
    restarts: Collection[int] = (),
    spark: SparkSession | None = None,
) -> None:
    """All queries as one job; complains of all differences together. `restarts` are the numbers of commits after which it starts again."""
    wrong = differences(queries, schemas, epochs, restarts=restarts, spark=spark)
    assert not wrong, message(wrong)


def differences(
    queries: Mapping[str, str | Query],
    schemas: Mapping[str, str],
    epochs: Sequence[Epoch],
    *,
    restarts: Collection[int] = (),
    spark: SparkSession | None = None,
    trusted: bool = False,
    checked: Collection[int] | None = None,
) -> list[Difference]:
    """`run`, for who wants to look; `checked` are the commits after which answers are compared (all, if none are named).

    Where batch itself fails over the rows so far, as by a division by zero, there is no answer to compare with; of each query there has to
    be one.
    """
    known = {name: query if isinstance(query, Query) else Query(name, query) for name, query in queries.items()}
    wrong: list[Difference] = []
    nets = {name: Net() for name in schemas}
    with Harness() as h, Batch(spark or hr.session(), schemas) as batch:
        tables = {name: h.source(name, ddl, changes=True, trusted=trusted) for name, ddl in schemas.items()}
        outs: dict[str, Collected] = {}
        for name, query in known.items():
            try:
                outs[name] = h.collect(hr.sql(query.text, **{table: tables[table] for table in query.tables(list(tables))}))
            except HeadraceError as refused:
                if query.refused is None or query.refused not in str(refused):
                    wrong.append(Difference(name, 0, report=f"refused: {refused}"))
            else:
                if query.refused is not None:
                    wrong.append(Difference(name, 0, report="it is no longer refused"))
        if not outs:
            return wrong
        stale = set(nets)
        unanswered = set(outs)
        for number, epoch in enumerate(epochs, 1):
            h.commit(epoch)
            for table, changes in epoch.items():
                nets[table].apply(changes)
            stale.update(epoch)
            if checked is None or number in checked:
                batch.hold({table: nets[table].rows() for table in stale})
                stale.clear()
                for name, out in outs.items():
                    answer = batch.answer(known[name].batch)
                    if answer is not None:
                        unanswered.discard(name)
                        wrong += _compared(known[name], out, answer, number)
            if number in restarts:
                h.restart()
    return wrong + [Difference(name, len(epochs), report="batch fails after every epoch") for name in sorted(unanswered)]


def _compared(query: Query, out: Collected, answer: list[Any], number: int) -> list[Difference]:
    wrong = []
    missing, extra = differing(answer, out.rows(), query.tolerance)
    if missing or extra:
        wrong.append(Difference(query.name, number, missing, extra))
    if twice := both_signs(out.changes(), number):
        wrong.append(Difference(query.name, number, report=f"taken away and added at once: {twice[:SHOWN]}"))
    return wrong


def message(wrong: Sequence[Difference]) -> str:
    """All differences, the first two of each query."""
    by_query: dict[str, list[Difference]] = {}
    for one in wrong:
        by_query.setdefault(one.query, []).append(one)
    lines = [str(one) for ones in by_query.values() for one in ones[:2]]
    return f"{len(by_query)} queries differ from batch:\n" + "\n".join(lines)
