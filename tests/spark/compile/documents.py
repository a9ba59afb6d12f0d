"""The query documents of the golden plans, as the kernel reads them.

`python -m tests.spark.compile.documents` writes the golden files anew. A document that changes is another job for the kernel: what it kept has to fit.
The plans have no lines of code. In the place of what a connector says of its scans, stages and requests stands its name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headrace.ops import Sink
from headrace.plan import Plan
from headrace.spark.checkpoint.folder import FORMAT
from headrace.spark.compile.document import build
from headrace.spark.compile.identity import DEAD_LETTERS, Identity, identify, repaired_scan
from headrace.spark.compile.job import SparkJob, compile
from headrace.spark.compile.levels import Query
from headrace.spark.compile.relocation import relocate
from tests.golden import DEPLOYS, GOLDEN, runs

FOLDER: Path = GOLDEN / "documents"
PARTITIONS = 2
_WIDTH = 140


def jobs() -> dict[str, list[Path]]:
    """The plans of each job, those of its versions in order."""
    now = GOLDEN / str(FORMAT)
    plans = {file.stem: [file] for file in sorted((now / "plans").glob("*.json"))}
    return plans | {case.name: [run / "plan.json" for run in runs(case)] for case in sorted((now / "checkpoints").iterdir())}


def text(plans: list[Path]) -> str:
    """The documents of a job: those of each version that differs from the one before, in the order of its queries."""
    identity, before, documents = Identity(), "", []
    for number, file in enumerate(plans, 1):
        job = compile(Plan.from_json(json.loads(file.read_text(encoding="utf-8"))))
        if (file.parent / DEPLOYS).exists():
            identity = relocate(identity, job.shapes).identity
        identity, names = identify(identity, job.shapes)
        if job.plan.fingerprint != before:
            documents += [{"version": number, **_document(job, query, identity, names[query.name])} for query in job.queries]
        before = job.plan.fingerprint
    return f"{shown(documents)}\n"


def _document(job: SparkJob, query: Query, identity: Identity, name: str) -> dict[str, Any]:
    readers = {str(source.name): {"kind": source.connector} for source in job.sources}
    readers |= {repaired_scan(name): {"scan": name, **reader} for name, reader in readers.items() if _repairs(job, name)}
    stages = {str(sink.name): {"kind": sink.connector} for sink in query.sinks if isinstance(sink, Sink)}
    asks = {str(node.name): {"kind": node.connector} for node in query.looked_up}
    return build(query, identity.query(name), job.at, readers, {**stages, DEAD_LETTERS: {"kind": "files"}}, PARTITIONS, asks)


def _repairs(job: SparkJob, name: str) -> bool:
    return any(source.name == name and source.connect().repairs is not None for source in job.sources)


def shown(value: Any, indent: int = 0) -> str:
    """JSON with one line for whatever fits into one."""
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or indent + len(line) <= _WIDTH:
        return line
    open_, close = "{}" if isinstance(value, dict) else "[]"
    items = [f"{json.dumps(key)}: {shown(item, indent + 1)}" for key, item in value.items()] if isinstance(value, dict) else None
    parts = items if items is not None else [shown(item, indent + 1) for item in value]
    inner = ",\n".join(f"{' ' * (indent + 1)}{part}" for part in parts)
    return f"{open_}\n{inner}\n{' ' * indent}{close}"


def files() -> Iterator[tuple[Path, list[Path]]]:
    """The golden file of each job, with its plans."""
    for name, plans in jobs().items():
        yield FOLDER / f"{name}.json", plans


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for file, plans in files():
        file.write_text(text(plans), encoding="utf-8")
