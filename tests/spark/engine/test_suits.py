"""What a connector says of types, and what it lacks, is said when the job is made: nothing is opened, nothing is there afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.connectors.files import Sink
from headrace.jvm import fetch, packages
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark")

ROWS = hr.read.memory([], "id int, tags array<string>, span interval day to second", name="rows")


def delta(folder: Path) -> Any:
    return ROWS.write.delta(folder / "t", name="out")


def iceberg(folder: Path) -> Any:
    return ROWS.write.iceberg("db.t", catalog={"uri": f"sqlite:///{folder}/catalog.db", "warehouse": str(folder)}, name="out")


def kafka(folder: Path) -> Any:
    return ROWS.write.kafka("t", servers="127.0.0.1:1", headers={"tags": "tags"}, name="out")


@pytest.mark.parametrize(
    ("write", "code", "says"),
    [
        (delta, "WRONG_TYPE", "a Delta table cannot hold column span of type interval day to second"),
        (iceberg, "WRONG_TYPE", "an Iceberg table cannot hold column span of type interval day to second"),
        (kafka, "WRONG_TYPE", "write.kafka: headers needs a column of type string or binary, but tags is array<string>"),
    ],
)
def test_types_are_refused_when_the_job_is_made(tmp_path: Path, write: Any, code: str, says: str) -> None:
    with pytest.raises(hr.HeadraceError) as raised:
        hr.job("suits", write(tmp_path))
    assert (raised.value.code, raised.value.message) == (code, says)
    assert raised.value.site is not None
    assert "write." in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_a_fresh_start_that_is_refused_leaves_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, state = tmp_path / "out", tmp_path / "state"
    job = hr.job("suits", hr.read.memory([(1,)], "id int", name="rows").write.files(out, format="json", name="out"))
    job.run(checkpoint=state, progress=False)
    before = contents(tmp_path)

    def refuse(self: Sink, name: str, schema: Any) -> None:
        raise hr.HeadraceError("WRONG_TYPE", f"{name} takes no {schema.ddl} any more")

    monkeypatch.setattr(Sink, "suits", refuse)
    with pytest.raises(hr.HeadraceError, match="out takes no id int any more"):
        job.run(checkpoint=state, fresh=True, progress=False)
    assert contents(tmp_path) == before


def contents(folder: Path) -> dict[Path, bytes]:
    """All files but those that say who has the checkpoint."""
    return {file: file.read_bytes() for file in folder.rglob("*") if file.is_file() and not file.name.startswith("lock")}


def test_a_package_that_may_not_be_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "_chosen", "never")
    monkeypatch.setattr(fetch, "there", lambda jar: "sqlite" not in jar.coordinate)
    check_error(
        """
        PACKAGE_MISSING: jdbc needs org.xerial:sqlite-jdbc:3.54.1.0, but this session may not fetch packages
          at test_suits.py:*: lambda: hr.job("suits", hr.read.memory([], "id int", name="rows").write.jdbc(f"sqlite:{tmp_path}/t.db", "t")),
          hint: `headrace packages add jdbc` fetches them once; hr.session(packages="auto") lets jobs do it
          more: headrace error PACKAGE_MISSING
        """,
        lambda: hr.job("suits", hr.read.memory([], "id int", name="rows").write.jdbc(f"sqlite:{tmp_path}/t.db", "t")),
    )


def test_a_python_package_that_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "installed", lambda module: False)
    check_error(
        """
        PACKAGE_MISSING: delta needs the Python package deltalake, which is not installed
          at test_suits.py:*: lambda: hr.job("suits", hr.read.memory([], "id int", name="rows").write.delta(tmp_path / "t")),
          hint: pip install "headrace[delta]"
          more: headrace error PACKAGE_MISSING
        """,
        lambda: hr.job("suits", hr.read.memory([], "id int", name="rows").write.delta(tmp_path / "t")),
    )
