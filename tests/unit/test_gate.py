"""The law of the gate: Spark's volatile parts are named in `gate` folders alone, PySpark's private ones in `headrace/jvm` alone.

What differs between two versions of Spark has a folder for each version in a gate, with the same files.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.jvm.compile import SUPPORTED
from tests.unit.test_kernel import COMMENT, GATES, PAGE

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "headrace"
VERSIONS = tuple(f"spark{version.replace('.', '')}" for version in SUPPORTED)

# Names are given below `org.apache.spark`. What neither list has is volatile: Spark changes it between versions without a word.
PUBLIC = (
    *("Partition", "SparkContext", "SparkEnv", "SparkThrowable", "TaskContext", "TaskKilledException", "broadcast", "rdd.RDD"),
    *(f"sql.{name}" for name in ("AnalysisException", "Column", "DataFrame", "Encoders", "Row", "SQLContext", "SparkSession")),
    *(f"sql.{package}" for package in ("connector", "functions", "jdbc", "sources", "streaming", "types")),
    *("sql.util.CaseInsensitiveStringMap", "util.CollectionAccumulator", "util.SerializableConfiguration"),
)
"""Documented, developers' API included."""

CATALYST = (
    *("AliasIdentifier", "FunctionIdentifier", "InternalRow", "QueryPlanningTracker"),
    *("analysis", "expressions", "optimizer", "parser", "plans", "rules", "trees", "types", "util"),
)
"""Expressions, plans and rows of Catalyst: the lift and the operators are built of them, so they may be named anywhere."""

FREE = (*PUBLIC, *(f"sql.catalyst.{name}" for name in CATALYST), "types.variant", "unsafe")
MEMBERS = ("cloneSession", "queryExecution", "sessionState", "sharedState")
"""Of sessions and frames, by which one gets at the rest without a name."""

PRIVATE = ("_gateway", "_jdf", "_jsc", "_jsparkSession", "_jvm", "_sc")
"""Of PySpark's classes."""

BROKEN: dict[str, tuple[str, ...]] = {
    "kernel/checkpoint/LocalCheckpointFileManager.scala": (
        "sql.execution.streaming.checkpointing.CheckpointFileManager",
        "sql.execution.streaming.checkpointing.CheckpointFileManager.CancellableFSDataOutputStream",
    ),
}
"""The files that break the law, and the names by which they do. The list only gets shorter."""

NAMED = re.compile(r"\borg\.apache\.spark((?:\.\w+)+)?(?:\.\{([^}]*)\})?")
MEMBER = re.compile(rf"\.({'|'.join(MEMBERS)})\b")


def volatile(text: str) -> set[str]:
    """The volatile names in a Scala file."""
    code = COMMENT.sub(lambda of: of[1] or re.sub(r"[^\n]", " ", of[0]), text)
    return {name for name in _names(code) if not _is_free(name)} | {f".{name}" for name in MEMBER.findall(code)}


def _names(code: str) -> Iterator[str]:
    for package, selected in NAMED.findall(code):
        for name in selected.split(",") if selected else [""]:
            yield f"{package}.{name.strip().split(' ')[0]}".strip(".")


def _is_free(name: str) -> bool:
    ours = tuple(gate.removeprefix("org.apache.spark.") for gate in (*GATES, "org.apache.spark.sql.kafka010.Offsets"))
    return f"{name}.".startswith(tuple(f"{free}." for free in (*FREE, *ours)))


def private(text: str) -> set[str]:
    """The private names of PySpark in a Python file: attributes, arguments by name, and texts that are nothing but one."""
    nodes = list(ast.walk(ast.parse(text)))
    names = [node.attr for node in nodes if isinstance(node, ast.Attribute)]
    names += [node.arg for node in nodes if isinstance(node, ast.keyword) and node.arg]
    names += [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return set(names) & set(PRIVATE)


def scala() -> Iterator[tuple[Path, str]]:
    for folder in (SOURCE / "kernel", *sorted((SOURCE / "connectors").glob("*/scala"))):
        for file in sorted(folder.rglob("*.scala")):
            yield file, file.read_text(encoding="utf-8")


def at_gate(file: Path) -> bool:
    return file.parent.name == "gate" or (file.parent.parent.name == "gate" and file.parent.name in VERSIONS)


def broken() -> dict[str, tuple[str, ...]]:
    names_by_file = {file: volatile(text) for file, text in scala() if not at_gate(file)}
    python = (file for file in sorted(SOURCE.rglob("*.py")) if not file.is_relative_to(SOURCE / "jvm"))
    names_by_file |= {file: private(file.read_text(encoding="utf-8")) for file in python}
    return {file.relative_to(SOURCE).as_posix(): tuple(sorted(names)) for file, names in names_by_file.items() if names}


def test_volatile_parts_are_named_at_the_gate() -> None:
    assert broken() == BROKEN


def test_packages_of_spark_lie_at_the_gate() -> None:
    within = {file for file, text in scala() if re.search(r"^\s*package org\.apache\.spark\b", text, re.M)}
    assert {file.relative_to(SOURCE).as_posix() for file in within if not at_gate(file)} == set()


def test_each_version_of_spark_has_the_same_files() -> None:
    paths = [file.relative_to(SOURCE) for file, _ in scala()]
    of_versions = {version: {path.parents[1] / path.name for path in paths if path.parent.name == version} for version in VERSIONS}
    assert len({frozenset(files) for files in of_versions.values()}) == 1
    assert not set(paths) & set().union(*of_versions.values())
    assert [path for path in paths if any(re.fullmatch(r"spark\d\d", part) for part in path.parts) and not at_gate(path)] == []


def test_the_page_has_the_gate() -> None:
    (section,) = re.findall(r"^## The gate$(.*?)^## ", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    rows = re.findall(r"^\| (?:(\w+): )?(`\w+`(?:, `\w+`)*) \|", section, re.M)
    named = [(connector or "kernel", name) for connector, names in rows for name in re.findall(r"\w+", names)]
    there = {(file.relative_to(SOURCE).parts[:2], file.stem) for file, _ in scala() if at_gate(file)}
    assert sorted(named) == sorted((parts[1] if parts[0] == "connectors" else "kernel", name) for parts, name in there)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("import org.apache.spark.sql.{classic, DataFrame}", {"sql.classic"}),
        (
            "import org.apache.spark.sql.execution.{\n  SortExec => Sort,\n  SparkPlan}",
            {"sql.execution.SortExec", "sql.execution.SparkPlan"},
        ),
        ("import org.apache.spark.sql._", {"sql._"}),
        ("import org.apache.spark.sql.catalyst._", {"sql.catalyst._"}),
        ("val plan = frame.queryExecution.analyzed // of org.apache.spark.sql.classic", {".queryExecution"}),
        ('s"new org.apache.spark.sql.internal.SQLConf()"', {"sql.internal.SQLConf"}),
        ("import org.apache.spark.sql.types._\nimport org.apache.spark.sql.catalyst.expressions.{Add, Cast}", set()),
        ("import org.apache.spark.rdd.RDD\nimport org.apache.spark.rdd.InputFileBlockHolder", {"rdd.InputFileBlockHolder"}),
        ("import org.apache.spark.sql.headrace.Inside", set()),
    ],
)
def test_a_volatile_name_is_seen(text: str, names: set[str]) -> None:
    assert volatile(text) == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("java(spark._jsparkSession, frame._jdf)", {"_jsparkSession", "_jdf"}),
        ("SparkConf(_jvm=None)", {"_jvm"}),
        ('getattr(spark, "_jsc")', {"_jsc"}),
        ('"""Not `_jvm`, _jdf."""\nclassic = spark.session  # _jdf', set()),
    ],
)
def test_a_private_name_is_seen(text: str, names: set[str]) -> None:
    assert private(text) == names
