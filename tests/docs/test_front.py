"""The front page shows one job in three languages."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import headrace as hr
from tests.docs.test_examples import ROOT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TAB = re.compile(r"^    ```(py|sql|yaml)\n(.*?)^    ```$", re.M | re.S)


def test_the_three_tabs_are_one_plan(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tabs = dict(_TAB.findall((ROOT / "docs" / "index.md").read_text(encoding="utf-8")))
    assert tabs.keys() == {"py", "sql", "yaml"}
    for kind, text in tabs.items():
        Path(f"sales.{kind}").write_text(textwrap.dedent(text), encoding="utf-8")
    assert len({hr.load(f"sales.{kind}").plan.fingerprint for kind in tabs}) == 1
