"""The page of what goes wrong is that of the tests which make it go wrong."""

from __future__ import annotations

from collections import Counter

from tools import problems_table
from tools.problems_table import PAGE, cases

from headrace.errors import CODES


def test_the_page_is_what_the_tests_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == problems_table.text(), "write it again: make generated"


def test_each_case_stands_there_once() -> None:
    assert [name for name, count in Counter((case.where, case.what) for case in cases()).items() if count > 1] == []


def test_each_error_has_a_cure_and_its_page() -> None:
    for case in cases():
        lines = case.says.splitlines()
        if len(lines) > 1:
            code = lines[0].partition(":")[0]
            assert code in CODES, case
            assert lines[-1].strip() == f"more: headrace error {code}", case
            assert any(line.startswith("  hint: ") for line in lines), case
