"""The connector in examples/headrace-duckdb, a package of somebody else by all that headrace knows of it: its own tests."""

from __future__ import annotations

import importlib.util
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace import codes
from tests.spark.conformance.lines import installed

PACKAGE = Path(__file__).resolve().parents[3] / "examples" / "headrace-duckdb"
_SPEC = importlib.util.spec_from_file_location("duckdb_example", PACKAGE / "tests" / "test_duckdb.py")
assert _SPEC is not None and _SPEC.loader is not None
example = importlib.util.module_from_spec(_SPEC)


@pytest.fixture(autouse=True, scope="module")
def _package(spark: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The package as if it were installed."""
    named = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]["entry-points"]["headrace.connectors"]
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(str(PACKAGE / "src"))
        with installed("duckdb", named["duckdb"], tmp_path_factory.mktemp("duckdb")):
            known = dict(codes.CODES)
            _SPEC.loader.exec_module(example)  # type: ignore[union-attr]  # it is asserted above
            yield
            # other tests count the codes that there are
            codes.CODES.clear()
            codes.CODES.update(known)
            codes._pages.clear()


@pytest.mark.full
def test_replays_and_late_commits() -> None:
    example.test_replays_and_late_commits()


@pytest.mark.full
def test_all_of_the_suite() -> None:
    example.test_all_of_the_suite()


def test_a_file_that_another_process_has_open(tmp_path: Path) -> None:
    example.test_a_file_that_another_process_has_open(tmp_path)


def test_what_a_plan_stores() -> None:
    example.test_what_a_plan_stores()
