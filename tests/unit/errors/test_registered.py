"""Connectors of other packages have error codes of their own, with pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace import cli, codes
from headrace.codes import CODES, Code, register
from headrace.errors import ConnectorError, HeadraceError
from tests.spark.conformance.lines import installed

ROW = Code("ConnectorError", "environment", "a database that another process has open")
PAGE = "# DUCKDB_LOCKED\n\nOne process at a time writes a DuckDB file.\n"
MODULE = """
from pathlib import Path
from headrace.errors import Code, register

register({"DUCKDB_LOCKED": Code("ConnectorError", "environment", "a database that another process has open")}, Path(__file__).parent)
"""


@pytest.fixture(autouse=True)
def _codes_as_before() -> Iterator[None]:
    known = dict(CODES)
    yield
    CODES.clear()
    CODES.update(known)
    codes._pages.clear()


def test_an_error_of_a_connector_is_made_and_explained_like_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "DUCKDB_LOCKED.md").write_text(PAGE)
    (tmp_path / "ducks.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    with installed("ducks", "ducks", tmp_path):
        assert cli.main(["error", "DUCKDB_LOCKED"]) == 0
        assert capsys.readouterr().out == PAGE
        assert cli.main(["error"]) == 0
        assert any(line.split() == ["DUCKDB_LOCKED", *ROW.title.split()] for line in capsys.readouterr().out.splitlines())
    error = HeadraceError("DUCKDB_LOCKED", "shop.duckdb is open in process 4711", hint="close it there")
    assert isinstance(error, ConnectorError) and error.exit_code == 4
    assert str(error) == "DUCKDB_LOCKED: shop.duckdb is open in process 4711\n  hint: close it there\n  more: headrace error DUCKDB_LOCKED"
    assert error.page == str(tmp_path / "DUCKDB_LOCKED.md")


def test_a_module_may_register_again_what_it_has(tmp_path: Path) -> None:
    (tmp_path / "DUCKDB_LOCKED.md").write_text(PAGE)
    for _ in range(2):
        register({"DUCKDB_LOCKED": ROW}, tmp_path)
    assert CODES["DUCKDB_LOCKED"] == ROW


def test_codes_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "TABLE_MISSING.md").write_text("")
    for code, row, message in (
        ("DuckLocked", ROW, "the code 'DuckLocked' must have only capitals, digits and underscores, as in DUCKDB_LOCKED"),
        ("TABLE_MISSING", ROW, "the code TABLE_MISSING is taken"),
        ("NULL_TIME", ROW, "the code NULL_TIME is taken"),
        ("DUCKDB_LOCKED", ROW, f"the code DUCKDB_LOCKED has no page {tmp_path / 'DUCKDB_LOCKED.md'}"),
        (
            "DUCKDB_LOCKED",
            Code("DuckError", "user", ""),
            "the code DUCKDB_LOCKED: `kind` cannot be 'DuckError'; "
            "it is one of: PlanError, SchemaError, ProgramError, ConfigError, CheckpointError, ConnectorError, RunError",
        ),
        (
            "DUCKDB_LOCKED",
            Code("ConnectorError", "duck", ""),
            "the code DUCKDB_LOCKED: `fault` cannot be 'duck'; it is one of: user, input, environment, headrace",
        ),
    ):
        with pytest.raises(ValueError) as raised:
            register({code: row}, tmp_path)
        assert str(raised.value) == message
    assert "DUCKDB_LOCKED" not in CODES


def test_a_code_that_nobody_registered() -> None:
    with pytest.raises(TypeError) as raised:
        HeadraceError("DUCKDB_LOCKED", "shop.duckdb is open")
    assert str(raised.value) == "no error has the code DUCKDB_LOCKED; a connector adds its own with headrace.errors.register"
