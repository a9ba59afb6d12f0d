"""The document that the kernel gets of a query: no change of ours may change it unseen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headrace.analysis.schemas import check
from headrace.optimize import optimize
from headrace.plan import Plan
from tests.spark.compile.documents import FOLDER, files, text


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(("file", "plans"), list(files()), ids=lambda value: value.stem if isinstance(value, Path) else "")
def test_the_documents_of_queries_stay(file: Path, plans: list[Path]) -> None:
    assert text(plans) == file.read_text(encoding="utf-8"), "python -m tests.spark.compile.documents writes the present ones"


def test_there_is_a_document_for_each_job() -> None:
    assert {file.name for file in FOLDER.iterdir()} == {file.name for file, _ in files()}


@pytest.mark.usefixtures("spark")
def test_what_is_known_of_a_rewritten_plan_is_what_spark_says_of_it() -> None:
    plans = [Plan.from_json(json.loads(versions[0].read_text(encoding="utf-8"))) for _, versions in files()]
    for before in plans:
        check(before)
        plan, _ = optimize(before)
        assert check(plan, before) == check(Plan.from_json(plan.to_json())), before.job
