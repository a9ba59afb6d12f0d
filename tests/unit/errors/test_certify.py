"""Errors of what certifies jobs."""

from __future__ import annotations

from typing import Any

import headrace as hr
from headrace.certify import certify
from headrace.certify.copy import copy
from headrace.plan import Plan
from tests.unit.errors import check_error


def test_a_point_that_is_none() -> None:
    job: Any = None
    check_error(
        """
        CANNOT_CERTIFY: the job cannot be certified: unknown point `in the middle`
          hint: `points` takes: "before offsets are logged", "after offsets are logged", "in a task", "before state commit", "after state commit", "after staging", "before sink commit", "at a call in sink commit", "in sink commit", "after sink commit", "before the record", "after the record", "before the commit log", "after the commit log"
          more: headrace error CANNOT_CERTIFY
        """,
        lambda: certify(job, points=["in the middle"]),
    )


def test_a_job_whose_sinks_cannot_be_written_elsewhere(tmp_path: Any) -> None:
    sink = hr.read.memory([(1,)], "id int", name="rows").write.console(name="screen")
    plan = Plan.of("shown", [sink._use()])
    check_error(
        """
        CANNOT_CERTIFY: the job cannot be certified: none of its sinks (screen) can write to a temporary folder or table
          hint: add a files sink, for example: stream.write.files(...)
          more: headrace error CANNOT_CERTIFY
        """,
        lambda: copy(plan, tmp_path, rows=10, epochs=2, servers={}),
    )
