"""Processors written in Scala on Spark's typed API, compiled like the kernel."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bench.state.contenders.spark import Spark
from bench.state.inputs import CACHE
from bench.state.workloads import Workload
from headrace.jvm.compile import scalac, spark_version
from headrace.jvm.java import find

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SOURCES = Path(__file__).parent.parent / "scala"


class ScalaProcessor(Spark):
    def query(self, workload: Workload, rows: DataFrame) -> DataFrame:
        from pyspark.sql import DataFrame

        frame = self.spark._jvm.headrace.bench.Contenders.apply(workload.name, rows._jdf)
        return DataFrame(frame, self.spark)


def jar() -> Path:
    """Return the compiled processors, from the cache or built now. The jar must be on the class path when the session starts."""
    digest = hashlib.sha256(spark_version().encode())
    for file in sorted(SOURCES.glob("*.scala")):
        digest.update(file.read_bytes())
    target = CACHE / f"contenders-{digest.hexdigest()[:16]}.jar"
    if not target.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as work:
            output = scalac(find(), SOURCES, Path(work) / "contenders.jar")
            if output is not None:
                raise RuntimeError(f"the Scala processors could not be compiled:\n{output}")
            shutil.move(Path(work) / "contenders.jar", target)
    return target
