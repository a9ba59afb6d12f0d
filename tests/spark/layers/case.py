"""A case: a file with a text and with what each layer makes of it."""

from __future__ import annotations

import ast
import hashlib
import linecache
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import headrace as hr
from headrace.ops.tables import Table
from headrace.plan import Plan
from headrace.spark.compile import job
from headrace.spark.compile.job import SparkJob
from headrace.testing import Harness
from tests.spark.layers import document, trees
from tests.spark.layers.inputs import inputs

FOLDER = Path(__file__).parent / "cases"
_TITLE = re.compile(r"^---- (.+)\n", re.MULTILINE)


@dataclass(frozen=True)
class Case:
    """The text of a file: a remark, the language of the query, the query."""

    remark: str
    language: str
    text: str

    @classmethod
    def read(cls, file: Path) -> Case:
        """The case of a file; sections below the query are results."""
        remark, language, text, *_ = _TITLE.split(file.read_text(encoding="utf-8"))
        if language not in ("sql", "verbs"):
            raise ValueError(f"{file.name}: a case begins with `---- sql` or `---- verbs`, and this one with `---- {language}`")
        return cls(remark.strip(), language, text.strip())

    @cached_property
    def plan(self) -> Plan:
        """The plan of its streams, each written to memory."""
        with Harness() as harness:
            streams = self._streams(inputs(harness))
        names = ["out"] if len(streams) == 1 else [f"out_{i}" for i, _ in enumerate(streams, 1)]
        return Plan.of("case", [stream.write.memory(name=name)._use() for name, stream in zip(names, streams, strict=True)])

    def whole(self) -> str:
        """The file as it has to be."""
        compiled = job.compile(self.plan)
        sections = {
            self.language: self.text,
            "plan": trees.tree(self.plan),
            "optimised plan": _optimised(compiled),
            "facts": trees.known(compiled.plan),
            "query document": document.shown(compiled),
        }
        return f"{self.remark}\n\n" + "\n".join(f"---- {title}\n{text.strip()}\n" for title, text in sections.items())

    def _streams(self, known: Mapping[str, hr.Stream | Table]) -> tuple[hr.Stream, ...]:
        if self.language == "sql":
            words = set(re.findall(r"\w+", self.text))
            return (hr.sql(self.text, **{name: one for name, one in known.items() if name in words}),)
        value = _value(self.text, {"hr": hr, "__name__": "case", **known})
        return value if isinstance(value, tuple) else (value,)


def cases() -> dict[str, Path]:
    """The files of all cases, by name."""
    return {file.stem: file for file in sorted(FOLDER.glob("*.txt"))}


def _optimised(compiled: SparkJob) -> str:
    return f"rules: {', '.join(compiled.rewritten)}\n{trees.tree(compiled.plan)}" if compiled.rewritten else "no rule applies"


def _value(text: str, names: dict[str, object]) -> Any:
    """What the last expression of a Python text is."""
    tree = ast.parse(text)
    last = tree.body.pop()
    if not isinstance(last, ast.Expr):
        raise ValueError(f"the last statement of a case is its stream, and here it is: {ast.unparse(last)}")
    # A program is checked by its source, which is looked for here as that of a cell of a notebook is.
    file = f"<case {hashlib.sha256(text.encode()).hexdigest()[:8]}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(tree, file, "exec"), names)
    return eval(compile(ast.Expression(last.value), file, "eval"), names)
