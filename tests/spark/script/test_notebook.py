"""A notebook, run without a browser: its outputs are what a person would see."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

pytestmark = pytest.mark.filterwarnings("ignore")  # those of Jupyter's own packages

CELLS = (
    "%load_ext headrace",
    "import headrace as hr\n"
    "hr.session(master='local[2]')\n"
    "charges = hr.read.memory([('a', 7), ('b', 5), ('a', 2)], 'card string, amount int', name='charges')\n"
    "charges.filter('amount > 2')",
    "%%headrace\nCREATE VIEW spent AS SELECT card, sum(amount) AS spent FROM charges GROUP BY card;\nSELECT * FROM spent WHERE card = 'a';",
    "sorted(hr.collect(spent).rows())",
    "%%headrace --epochs 3\nCREATE SOURCE ticks WITH (connector = 'rate', rows_per_second = 10);\n"
    "SELECT value % 2 AS odd, count(*) AS n FROM ticks GROUP BY value % 2;",
    "hr.show(ticks.select('value'), 5, epochs=2)",
    "%%headrace\nSELECT\n  valu FROM ticks;",
)


def test_a_notebook(tmp_path: Path) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources, allow_errors=True).execute()
    loaded, stream, cell, python, live, shown, wrong = (executed["outputs"] for executed in notebook["cells"])
    assert loaded == []
    # a stream shows its columns and the drawing of its plan
    html = _html(stream)[-1]
    assert "<tr><td>card</td><td>string</td></tr><tr><td>amount</td><td>int</td></tr>" in html
    assert "<svg" in html
    assert "charges.filter" in html
    # a cell of SQL reads streams of Python, and names become variables
    assert _text(cell) == "view spent: card string, spent bigint\n"
    assert _html(cell) == ["<table><thead><tr><th>card</th><th>spent</th></tr></thead><tbody><tr><td>a</td><td>9</td></tr></tbody></table>"]
    assert python[0]["data"]["text/plain"] == "[('a', 9), ('b', 5)]"
    # what has no end stays current under its cell; here it stops after some epochs
    [table] = _html(live)
    assert table.startswith("<table><thead><tr><th>odd</th><th>n</th></tr></thead>")
    assert "stopped</p>" in table
    [rows] = _html(shown)
    assert rows.startswith("<table><thead><tr><th>value</th></tr></thead>")
    # an error is its text, with the place in the cell
    [error] = wrong
    assert error["ename"] == "PlanError"
    traceback = "\n".join(error["traceback"])
    assert "at cell:2:3: valu FROM ticks;" in traceback
    assert "client.py" not in traceback


def _html(outputs: list[Any]) -> list[str]:
    return [output["data"]["text/html"] for output in outputs if "text/html" in output.get("data", {})]


def _text(outputs: list[Any]) -> str:
    return "".join(output["text"] for output in outputs if output["output_type"] == "stream" and output["name"] == "stdout")
