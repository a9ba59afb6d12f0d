"""Fresh starts that are refused: nothing is emptied, whoever refuses."""

from __future__ import annotations

import gzip
import json
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
    (folder / "rates.json").write_text('{"card": "a", "rate": 1}\n{"card": \n')
    (folder / "charges.csv").write_text("card,amount,at\na,1,2026-01-01 00:00:00\n")
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
    "a lookup's database that is missing": (
        "LOOKUP_FAILED",
        lambda at: joined(hr.lookup.jdbc(f"sqlite:{at / 'no.db'}", "rates", "card string, rate int")),
    ),
    "a lookup's table that is missing": (
        "LOOKUP_FAILED",
        lambda at: joined(hr.lookup.jdbc(f"sqlite:{at / 'theirs.db'}", "rates", "card string, rate int")),
    ),
    "a lookup's bad line": (
        "LOOKUP_FAILED",
        lambda at: joined(hr.lookup.files(at / "rates.json", format="json", schema="card string, rate int")),
    ),
    "a lookup's bad option": (
        "LOOKUP_FAILED",
        lambda at: joined(
            hr.lookup.files(at / "charges.csv", format="csv", schema="card string, at string", options={"quote": "xx"}),
        ),
    ),
    "a sink's quote": ("BAD_OPTION", lambda at: written(at, "csv", quote="xx")),
    "a sink's compression": ("BAD_OPTION", lambda at: written(at, "json", compression="nosuch")),
    "a sink's codec": ("BAD_OPTION", lambda at: written(at, "parquet", compression="nosuch")),
    "a sink's encoding": ("BAD_OPTION", lambda at: written(at, "csv", encoding="nosuch")),
    "a sink's pattern of times": ("BAD_OPTION", lambda at: written(at, "json", timestampFormat="nosuch")),
    "a source's quote": ("BAD_OPTION", lambda at: read_csv(at, quote="xx")),
    "a source's encoding": ("BAD_OPTION", lambda at: read_csv(at, encoding="nosuch")),
    "a source's pattern of times": ("BAD_OPTION", lambda at: read_csv(at, timestampFormat="nosuch")),
    "a server that is away": (
        "HTTP_FAILED",
        lambda at: charges().write.http("http://127.0.0.1:9/", retries=1, backoff="1 millisecond", name="new"),
    ),
}


def joined(table: Any) -> Any:
    return charges().lookup(table, on="card").write.memory(name="new")


def written(folder: Path, format: str, **options: str) -> Any:
    rows = charges().with_columns(at="timestamp '2026-01-01 00:00:00'")
    return rows.write.files(folder / "new", format=format, options=options, name="new")


def read_csv(folder: Path, **options: str) -> Any:
    schema = "card string, amount int, at timestamp"
    return hr.read.files(folder / "charges.csv", format="csv", schema=schema, options=options, name="csv").write.memory(name="new")


def read_gone(folder: Path) -> hr.Stream:
    return hr.read.jdbc(f"sqlite:{folder / 'theirs.db'}", "gone", schema="a int", name="gone")


@pytest.mark.parametrize("case", REFUSED)
def test_whatever_refuses_a_fresh_start_nothing_is_emptied(ran: Path, case: str) -> None:
    code, sink = REFUSED[case]
    before = seen(ran)
    with pytest.raises(HeadraceError) as raised:
        hr.job("kept", *kept(ran), sink(ran)).run(checkpoint=ran / "state", fresh=True, progress=False)
    assert (raised.value.code, seen(ran)) == (code, before)
    assert not any((ran / name).exists() for name in ("none.db", "no.db", "new"))


def test_what_refuses_nothing_is_emptied(ran: Path) -> None:
    hr.job("kept", *kept(ran)).run(checkpoint=ran / "state", fresh=True, progress=False)
    assert len(lines(ran / "kept")) == 3


def test_options_that_do_not_do_are_refused_with_their_line(ran: Path) -> None:
    with pytest.raises(HeadraceError) as raised:
        hr.job("kept", *kept(ran), written(ran, "json", compression="nosuch")).run(checkpoint=ran / "state", fresh=True, progress=False)
    text = str(raised.value)
    assert text.startswith("BAD_OPTION: write.files: new cannot be written with its options: [CODEC_NOT_AVAILABLE")
    assert "Available codecs are" in text and "test_fresh.py" in text


def test_options_that_do_are_taken(tmp_path: Path) -> None:
    (tmp_path / "charges.csv").write_bytes("card;at\n\xe4;01.02.2026\n".encode("latin-1"))
    options = {"encoding": "ISO-8859-1", "sep": ";", "dateFormat": "dd.MM.yyyy"}
    rows = hr.read.files(tmp_path / "charges.csv", format="csv", schema="card string, at date", options=options, name="csv")
    how = {"compression": "gzip", "dateFormat": "yyyy/MM/dd"}
    sink = rows.write.files(tmp_path / "out", format="json", options=how, name="out")
    table = hr.lookup.memory([("ä", 1)], "card string, n int")
    looked_up = rows.lookup(table, on="card").write.memory(name="looked up")
    for _ in range(2):
        hr.job("options", sink, looked_up).run(checkpoint=tmp_path / "state", fresh=True, progress=False)
    (file,) = hr.committed_files(tmp_path / "out")
    assert json.loads(gzip.decompress(Path(file).read_bytes())) == {"card": "ä", "at": "2026/02/01"}
