"""Each case is as its file says, and together they show every operator and every rule."""

from __future__ import annotations

import difflib
import re

import pytest
from pyspark.sql import SparkSession

from headrace.optimize import RULES
from headrace.plan.node import REGISTRY
from tests.spark.layers.case import Case, cases

FILES = cases()
CASES = {name: Case.read(file) for name, file in FILES.items()}


@pytest.mark.parametrize("name", CASES)
def test_a_case_is_as_its_file_says(spark: SparkSession, name: str) -> None:
    was, now = FILES[name].read_text(encoding="utf-8"), CASES[name].whole()
    if now != was:
        diff = difflib.unified_diff(was.splitlines(), now.splitlines(), f"cases/{name}.txt", "as it is now", lineterm="")
        pytest.fail("\n".join([*diff, "", f"to accept it: python -m tests.spark.layers --rewrite {name}"]), pytrace=False)


def test_every_operator_has_a_case(spark: SparkSession) -> None:
    assert {node.op for case in CASES.values() for node in case.plan.nodes.values()} >= set(REGISTRY)


def test_every_rule_has_a_case() -> None:
    lines = [line for file in FILES.values() for line in re.findall(r"^---- optimised plan\nrules: (.+)$", file.read_text("utf-8"), re.M)]
    assert {rule for line in lines for rule in line.split(", ")} == {rule.__name__.replace("_", " ") for rule in RULES}
