"""Fresh starts that are refused: nothing is emptied, whoever refuses."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import deltalake
import pytest

import headrace as hr
from headrace.errors import HeadraceError
from tests.spark.engine.jobs import files, lines

pytestmark = pytest.mark.usefixtures("spark")

CHARGES = [("a", 1), ("b", 2), ("c", 3)]


@cache
def charges() -> hr.Stream:
    return hr.read.memory(CHARGES, "card string, amount int", name="charges")


def kept(folder: Path) -> list[Any]:
    """Sinks that a fresh start would empty."""
    rows = charges()
    return [
        rows.write.files(folder / "kept", format="json", name="kept"),
        rows.write.delta(folder / "lake", name="lake"),
        rows.write.jdbc(f"sqlite:{folder / 'kept.db'}", "kept", key="card", name="table"),
    ]


def seen(folder: Path) -> tuple[Any, ...]:
    rows = sqlite3.connect(folder / "kept.db").execute("SELECT * FROM kept ORDER BY card").fetchall()
    lake = deltalake.DeltaTable(folder / "lake")
    return files(folder / "state"), files(folder / "kept"), lake.version(), lake.to_pyarrow_table().num_rows, rows


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a job has run, beside folders and tables of others."""
    folder = tmp_path_factory.mktemp("fresh")
    hr.job("other", charges().write.files(folder / "theirs", format="json", name="theirs")).run(checkpoint=folder / "other", progress=False)
    (folder / "a file").write_text("")
    with sqlite3.connect(folder / "theirs.db") as database:
        database.execute("CREATE TABLE spend (card TEXT, amount TEXT)")
    hr.session()
    import pyarrow

    deltalake.write_deltalake(folder / "their lake", pyarrow.table({"card": ["a"], "amount": ["1"]}))
    hr.job("kept", *kept(folder)).run(checkpoint=folder / "state", progress=False)
    return folder


REFUSED: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "a folder of another job": ("FOLDER_OWNED", lambda at: charges().write.files(at / "theirs", format="json", name="new")),
    "a folder below a file": ("FOLDER_NOT_WRITABLE", lambda at: charges().write.files(at / "a file/out", format="json", name="new")),
    "a lake below a file": ("TABLE_UNREADABLE", lambda at: charges().write.delta(at / "a file/out", name="new")),
    "a lake of other columns": ("TABLE_SCHEMA", lambda at: charges().write.delta(at / "their lake", name="new")),
    "a table of other columns": ("TABLE_SCHEMA", lambda at: charges().write.jdbc(f"sqlite:{at / 'theirs.db'}", "spend", name="new")),
    "a table without the key": (
        "TABLE_SCHEMA",
        lambda at: charges().select("card").write.jdbc(f"sqlite:{at / 'theirs.db'}", "spend", key="card", name="new"),
    ),
    "a table that is missing": (
        "TABLE_MISSING",
        lambda at: charges().write.jdbc(f"sqlite:{at / 'theirs.db'}", "none", create=False, name="new"),
    ),
    "a database that is missing": (
        "TABLE_MISSING",
        lambda at: charges().write.jdbc(f"sqlite:{at / 'none.db'}", "none", create=False, name="new"),
    ),
    "a database in no folder": (
        "DATABASE_UNREACHABLE",
        lambda at: charges().write.jdbc(f"sqlite:{at / 'none/none.db'}", "none", name="new"),
    ),
    "a secret that is missing": (
        "SECRET_MISSING",
        lambda at: charges().write.http("http://127.0.0.1:9/", token=hr.secret("NO_SUCH_SECRET"), name="new"),
    ),
    "a lookup's secret": (
        "SECRET_MISSING",
        lambda at: (
            charges()
            .lookup(
                hr.lookup.http("http://127.0.0.1:9/{card}", "card string, n int", token=hr.secret("NO_SUCH_SECRET")),
                on="card",
            )
            .write.memory(name="new")
        ),
    ),
    "a source that is gone": ("TABLE_MISSING", lambda at: read_gone(at).write.memory(name="new")),
}


def read_gone(folder: Path) -> hr.Stream:
    return hr.read.jdbc(f"sqlite:{folder / 'theirs.db'}", "gone", schema="a int", name="gone")


@pytest.mark.parametrize("case", REFUSED)
def test_whatever_refuses_a_fresh_start_nothing_is_emptied(ran: Path, case: str) -> None:
    code, sink = REFUSED[case]
    before = seen(ran)
    with pytest.raises(HeadraceError) as raised:
        hr.job("kept", *kept(ran), sink(ran)).run(checkpoint=ran / "state", fresh=True, progress=False)
    assert (raised.value.code, seen(ran)) == (code, before)
    assert not (ran / "none.db").exists()


def test_what_refuses_nothing_is_emptied(ran: Path) -> None:
    hr.job("kept", *kept(ran)).run(checkpoint=ran / "state", fresh=True, progress=False)
    assert len(lines(ran / "kept")) == 3
