"""PySpark's own columns, in our expressions and beside our columns; what a hint for readers of lines leads to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

import headrace as hr
from headrace.cli import main
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark")

charges: Any = hr.read.memory([], "card string, amount int", name="charges")
x: Any = hr.col("x")


def test_a_column_of_pyspark() -> None:
    check_error(
        """
        BAD_COLUMN: Column<'>(amount, 3)'> is a PySpark column, not a headrace column
          at test_from_pyspark.py:*: lambda: charges.filter(F.col("amount") > 3),
          hint: write hr.col("amount"), or a SQL string such as "amount > 3"; call a Spark function as hr.f.sum("amount")
          more: headrace error BAD_COLUMN
        """,
        lambda: charges.filter(F.col("amount") > 3),
    )


def test_an_operator_of_pyspark_beside_a_column_of_ours() -> None:
    check_error(
        """
        BAD_COLUMN: `x` is a headrace column, but the other operand is a PySpark column
          at test_from_pyspark.py:*: lambda: charges.filter(F.col("amount") > x),
          hint: write hr.col("amount"), or a SQL string such as "amount > 3"; call a Spark function as hr.f.sum("amount")
          more: headrace error BAD_COLUMN
        """,
        lambda: charges.filter(F.col("amount") > x),
    )


@pytest.mark.parametrize(
    "use",
    [
        lambda: charges.group_by("card").agg(spent=F.sum("amount")),
        lambda: charges.top(1, by=F.col("amount").desc()),
        lambda: charges.join(charges, on=F.col("card") == F.col("card")),
        lambda: hr.f.coalesce(F.col("amount"), 0),
        lambda: x > F.lit(1),
        lambda: F.lit(1) + x,
        lambda: (F.col("amount") > 1) & (x > 2),
        lambda: F.col("amount") == x,
    ],
)
def test_anywhere(use: Callable[[], object]) -> None:
    with pytest.raises(hr.HeadraceError) as raised:
        use()
    assert raised.value.code == "BAD_COLUMN"
    assert raised.value.site is not None and raised.value.site.file == __file__


def test_lines_of_text(tmp_path: Path) -> None:
    """What the hint for `hr.read.text` names."""
    (tmp_path / "1.txt").write_text('one, "two"\n\n three;"\n')
    options = {"sep": "\u0001", "quote": "", "header": "false"}
    read = hr.read.files(tmp_path, format="csv", schema="value string", options=options)
    assert hr.collect(read).rows() == [('one, "two"',), (' three;"',)]


def test_an_option_of_a_command_has_no_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = tmp_path / "job.py"
    job.write_text('import headrace as hr\njob = hr.job("x", hr.read.memory([], "card string", name="s").write.memory())\n')
    assert main(["run", str(job), "--every", "10 secs"]) == 1
    check_error(
        """
        BAD_SETTING: --every cannot be '10 secs': `secs` is not a unit
          hint: write "10 seconds", or a number of seconds, at most 365 days; 0 starts an epoch as soon as the last one ends. All settings: headrace docs settings
          more: headrace error BAD_SETTING
        """,
        capsys.readouterr().err,
    )
