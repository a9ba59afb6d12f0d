"""hr.why: the rows of the sources from which a row of a result comes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from headrace.engine.asking import answerable
from headrace.engine.job import Job
from headrace.spark.why.report import Why
from headrace.spark.why.why import Question
from headrace.spark.why.why import why as answered


def why(
    job: Job | str | os.PathLike[str],
    view: str,
    row: Mapping[str, Any] | None = None,
    *,
    rows: int = 100,
    progress: Callable[[str], object] | None = None,
) -> Why:
    """Answers why a row is in a result of a job, as `headrace why` does: the rows of its sources that gave it. Changes nothing.

    These rows alone give the row again. For sums, counts and lists they are all rows of the group; for `max`, `min`, `distinct`, `EXISTS`
    and the like some that are enough. [Why is this row here?](../../guides/why.md) has more.

    All rows that the job has read are read again, up to a moment between two epochs. A running job goes on.

    Args:
        job: A job that has run, or the folder of its checkpoint.
        view: The name of a sink, or of an operator of a query.
        row: The values of some columns of the row. If several rows match, the first of them is explained. Default: any row.
        rows: The most rows of each source in the answer, 1 to 100,000.
        progress: A function that is called with a line about each step.

    Raises:
        CheckpointError: `NO_SUCH_ROW` if no row matches; `UNKNOWN_VIEW`; `NO_STATE` before the first epoch; `HISTORY_GONE` if rows cannot
            be read again; `CHECKPOINT_IN_USE` during a deploy; `CHECKPOINT_OTHER_VERSION` if the job has changed since;
            `NOT_A_CHECKPOINT`, `EPOCH_UNFINISHED`.
        PlanError: `UNKNOWN_COLUMN` if the result has no such column; `BAD_INPUT` for another argument.

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", 3), ("b", 5), ("a", 4)], "card string, amount int", name="charges")
        >>> spent = charges.group_by("card").agg(spent="sum(amount)").named("spent")
        >>> job = hr.job("spending", spent.write.memory(name="out"))
        >>> _ = job.run(progress=False)
        >>> answer = hr.why(job, "out", {"card": "a"})
        >>> print(answer)
        spending: why out has card="a", spent=7, after epoch 0
          spent: aggregate by card: sum(amount) AS spent  (1 row from 2)
          charges: memory (3 rows)  (2 rows)
            card="a", amount=3
            card="a", amount=4
        nothing was changed; done in ... s
        >>> sorted(one.row["amount"] for source in answer.sources for one in source.rows)
        [3, 4]
    """
    with answerable(job, "hr.why", rows) as (home, compiled):
        return answered(Question(view, dict(row or {}), rows), home, compiled, progress or (lambda line: None))
