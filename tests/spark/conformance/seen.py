"""A source with a fault that only a kill shows: it takes for read what an earlier process has seen."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, ClassVar

from pyspark.sql import DataFrame, SparkSession

from headrace import ports
from headrace.connectors import files


class Source(files.Source):
    connector: ClassVar[str] = "seen"

    def scan(self, session: SparkSession, context: ports.SourceContext) -> tuple[DataFrame, dict[str, Any]]:
        seen, left = context.checkpoint.parent / "seen", context.checkpoint.parent / "left"
        known = seen.read_text().splitlines() if seen.exists() else []
        files = sorted(file.name for file in Path(self.path).glob("*.json"))
        shutil.rmtree(left, ignore_errors=True)
        left.mkdir(parents=True)
        for name in set(files) - set(known):
            shutil.copy(Path(self.path) / name, left)
        seen.write_text("\n".join(files))
        # without a file it would be refused
        (left / "none.json").touch()
        return super(Source, self.from_options({**self.options(), "path": str(left)}, self._schema())).scan(session, context)
