"""The kernel reads what Python writes, and refuses a document that has a field more or less."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from py4j.protocol import Py4JJavaError

from headrace.jvm.session import jvm
from tests.spark.compile.documents import FOLDER

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Json = dict[str, Any]


def documents(file: Path) -> list[Json]:
    return [{name: value for name, value in one.items() if name != "version"} for one in json.loads(file.read_text(encoding="utf-8"))]


def read(spark: SparkSession, document: Json) -> Any:
    return jvm(spark).headrace.query.Document.read(json.dumps(document))


@pytest.mark.parametrize("file", sorted(FOLDER.iterdir()), ids=lambda file: file.stem)
def test_the_documents_of_queries_are_read(spark: SparkSession, file: Path) -> None:
    for document in documents(file):
        query = read(spark, document)
        assert query.fingerprint() == document["fingerprint"]
        levels = [[query.levels().apply(i).apply(j).name() for j in range(len(level))] for i, level in enumerate(document["levels"])]
        assert levels == [[operator["name"] for operator in level] for level in document["levels"]]


def aggregate(document: Json) -> Json:
    return next(one for level in document["levels"] for one in level if one["kind"] == "aggregate")


def step(document: Json) -> Json:
    return next(step for one in document["sources"] for route in one["routes"] for step in route["steps"])


CHANGES: dict[str, tuple[Callable[[Json], Any], str]] = {
    "another format": (lambda d: d.update(format=2), "this kernel reads query documents of format 1, not 2"),
    "a field more": (lambda d: d.update(speed="high"), "DocumentText has an unknown field `speed`"),
    "a field less": (lambda d: d.pop("clock"), "DocumentText has no field `clock`"),
    "an operator's field more": (lambda d: aggregate(d).update(sorted=True), r"/levels/\d/\d OperatorText has an unknown field `sorted`"),
    "an operator's field less": (lambda d: aggregate(d).pop("aggregates"), r"/levels/\d/\d OperatorText has no field `aggregates`"),
    "an operator of no kind": (lambda d: aggregate(d).update(kind="heap"), r"/levels/\d/\d there is no RelationText `heap`"),
    "a text for a flag": (lambda d: aggregate(d).update({"global": "no"}), r'/levels/\d/\d/global true or false is expected, not "no"'),
    "a text for a list": (lambda d: aggregate(d).update(keys="k"), r'/levels/\d/\d/keys a list is expected, not "k"'),
    "a step's field more": (lambda d: step(d).update(often=2), r"/sources/\d/routes/\d/steps/\d StepText has an unknown field `often`"),
    "a step of no kind": (
        lambda d: (step(d).clear(), step(d).update(skip=1)),
        r"/sources/\d/routes/\d/steps/\d no StepText has the fields `skip`",
    ),
    "a number too large": (lambda d: d.update(partitions=1 << 31), "/partitions a number of 32 bits is expected, not 2147483648"),
    "levels of another query": (lambda d: d.update(retired=[]), "levels, and retired operators of 0"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_document_of_another_version_is_refused(spark: SparkSession, name: str) -> None:
    change, message = CHANGES[name]
    (document,) = documents(FOLDER / "windows.json")
    change(document)
    with pytest.raises(Py4JJavaError, match=message):
        read(spark, document)
