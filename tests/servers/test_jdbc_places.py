"""The JDBC sink and the table that is its place: no other sink of its job has it, and nothing of it is left when it is thrown away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.connectors.jdbc import Sink
from headrace.connectors.jdbc.kinds import NEEDS
from headrace.jvm.packages import attach
from tests.servers.tables import Place, Served, rows
from tests.unit.connectors.delta.tasks import context
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark", "here")


def job(place: Place, *sinks: tuple[str, str, Any]) -> hr.Job:
    """A job with sinks by name, table and stream."""
    return hr.job("twice", *(stream.write.jdbc(place.url, table, name=name, **place.options) for name, table, stream in sinks))


def test_two_sinks_of_one_table(pg: Served) -> None:
    """Only the server knows that the two names are those of one table: each sink would take the other's epochs for its own."""
    rows_of_it = hr.read.memory([(1,), (2,)], "n int", name="s")
    check_error(
        """
        FOLDER_OWNED: the sinks one and other both write to the table public.t
          at test_jdbc_places.py:*: return hr.job("twice", *(stream.write.jdbc(place.url, table, name=name, **place.options) for name, table, stream in sinks))
          hint: give each sink its own table; combine streams that have the same columns with union
          more: headrace error FOLDER_OWNED
        """,
        lambda: job(pg, ("one", "t", rows_of_it), ("other", "public.t", rows_of_it)).run(checkpoint="ck", progress=False),
    )
    assert rows(pg, "t") == []
    job(pg, ("one", "t", rows_of_it)).run(checkpoint="ck", fresh=True, progress=False)
    assert rows(pg, "t") == [(1,), (2,)]


@pytest.mark.parametrize("query", ["main", "other"])
@pytest.mark.parametrize("fresh", [False, True])
def test_two_sinks_of_one_start(place: Place, query: str, fresh: bool) -> None:
    attach(hr.session(), [NEEDS])
    whole = {"postgresql": "public.t", "mariadb": f"{place.url.rpartition('/')[2]}.t", "sqlite": "t"}[place.kind]

    def opened(table: str, **options: Any) -> None:
        sink = Sink(place.url, table, **place.options)
        sink.open(context(Path(), "n int", session=hr.session(), fresh=fresh, **options))
        sink.recover()
        sink.close()

    opened("t")
    with pytest.raises(hr.HeadraceError, match=f"FOLDER_OWNED: the sinks sink and twin both write to the table {whole}"):
        opened(whole, name="twin", query=query)
    opened(whole)
    opened("t", name="renamed", term=2)
    assert rows(place, "_headrace_epochs", "sink, term") == [("renamed", 2)]


def test_what_is_thrown_away_leaves_no_row(place: Place, tmp_path: Path) -> None:
    """But for the ledger itself, which other tables may have rows in."""
    thrown = Sink(place.url, "t", **place.options)
    thrown.discard()
    with pytest.raises(Exception, match="_headrace_epochs"):
        rows(place, "_headrace_epochs")
    source = hr.read.memory([(1,)], "n int", name="s")
    job(place, ("one", "t", source), ("other", "u", source)).run(checkpoint=tmp_path / "ck", progress=False)
    thrown.discard()
    assert rows(place, "_headrace_epochs", "sink") == [("other",)]
    assert rows(place, "u") == [(1,)]
    job(place, ("one", "t", source)).run(checkpoint=tmp_path / "again", progress=False)
    assert rows(place, "t") == [(1,)]
