"""The explanation of a compiled job."""

from __future__ import annotations

from headrace.plan import Explanation, explain
from headrace.spark.compile.job import SparkJob
from headrace.spark.compile.placement import placement


def explained(job: SparkJob, *, verbose: bool = False) -> Explanation:
    """Explain the optimized plan of a job, which runs; `verbose`: with all facts of each node."""
    notes = [f"rewritten by the rules: {', '.join(job.rewritten)}"] if job.rewritten else []
    return explain(job.plan, more={"placement": placement(job)}, notes=notes, original=job.original, verbose=verbose)
