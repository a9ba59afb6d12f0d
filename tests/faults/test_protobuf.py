"""Python without protobuf: Spark's own Python state operators need it in their workers, nothing of headrace does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

JOB = """
import google

try:
    import google.protobuf
    raise SystemExit("protobuf is here")
except ImportError:
    pass

import headrace as hr
from pyspark.sql.functions import udf


class Count(hr.Program):
    n = hr.Value("bigint")

    def on_event(self, e):
        self.n.set(hr.f.coalesce(self.n.get(), 0) + 1)
        hr.emit(k=self.key.k, n=self.n.get())


def show(frame, epoch):
    twice = udf(lambda n: n * 2, "bigint")
    for row in frame.select("k", twice("n").alias("n")).sort("n").collect():
        print("row", row.k, row.n)


t = hr.read.memory([("a",), ("a",)], "k string", name="t")
print(hr.job("count", t.key_by("k").process(Count).write.foreach_batch(show, name="shown")).run(checkpoint="state", progress=False))
"""


@pytest.mark.full
def test_a_job_with_a_python_function(tmp_path: Path) -> None:
    blocked = tmp_path / "blocked" / "google"
    blocked.mkdir(parents=True)
    # a package of that name in front, without protobuf in it
    (blocked / "__init__.py").write_text("")
    (tmp_path / "job.py").write_text(JOB)
    path = os.pathsep.join([str(blocked.parent), *(place for place in sys.path if place)])
    environment = {**os.environ, "PYTHONPATH": path, "HEADRACE_MASTER": "local[2]", "SPARK_DRIVER_MEMORY": "1g"}
    done = subprocess.run([sys.executable, "job.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "row a 2\nrow a 4\n" in done.stdout
