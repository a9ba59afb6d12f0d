"""The JDBC connector, checked by headrace's own suite for connectors."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from headrace import ports
from headrace.connectors.jdbc import Sink, Source
from headrace.connectors.jdbc.address import address_of
from headrace.connectors.jdbc.kinds import dialect_of
from headrace.ports.secrets import Secret
from headrace.schema import Struct
from headrace.testing.conformance import NotConforming, Report, check_sink, check_source
from tests.servers.tables import Served

pytestmark = pytest.mark.usefixtures("spark")

# The row with them is a dead letter there: tests/servers/test_bad_input_databases.py.
NOT_FINITE = {"floating numbers": ("FAILED", "1 rows lost, such as (3, inf, nan)")}
LACKS: dict[str, dict[str, tuple[str, str]]] = {"postgresql": {}, "mariadb": NOT_FINITE, "sqlite": NOT_FINITE}


def check(kind: str, request: pytest.FixtureRequest, *, rows: int, points: tuple[str, ...], only: tuple[str, ...] = ()) -> Report:
    """What the suite says of the sink in front of one kind of database."""
    options: dict[str, Any] = {}
    server: Served | None = None
    if kind != "sqlite":
        server = Served(kind, request.getfixturevalue({"postgresql": "postgres"}.get(kind, kind)))
        options = {"user": "app", "password": Secret(env=server.server.variable), "options": server.options.get("options", {})}
        assert os.environ[server.server.variable]

    def make(place: ports.Elsewhere, key: tuple[str, ...]) -> Sink:
        place.folder.mkdir(parents=True, exist_ok=True)
        return Sink(server.url if server else f"sqlite:{place.folder / 'out.db'}", place.name, key=key or None, **options)

    try:
        return check_sink(make, rows=rows, points=points, only=only)
    except NotConforming as problem:
        return problem.report


@pytest.mark.full
@pytest.mark.parametrize("kind", ["postgresql", "mariadb", "sqlite"])
def test_conformance(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    report = check(kind, request, rows=1_000_000, points=("after staging", "in sink commit", "before the commit log"))
    print(report)
    left = {line.check: (line.outcome, line.why) for line in report.lines if line.outcome != "passed"}
    more, why = left.pop("an additional column in the next version")
    assert more == "refused" and re.fullmatch(r"TABLE_SCHEMA: the table \w+ has no column twice", why), report
    assert left == LACKS[kind], report


@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_an_epoch_in_place_of_all_rows(kind: str, request: pytest.FixtureRequest) -> None:
    report = check(kind, request, rows=0, points=(), only=("in place of all rows",))
    assert [line.outcome for line in report.lines] == ["passed", "passed"], report


class Table:
    """A table of PostgreSQL that grows, in the order of its ids."""

    def __init__(self, place: ports.Elsewhere, schema: Struct, server: Served) -> None:
        self.name = place.name
        self.server = server
        self.schema = schema
        type_of = dialect_of(address_of("read.jdbc", server.url)).type_of
        server.run(f"CREATE TABLE {self.name} ({', '.join(f'{field.name} {type_of(field.type, key=0)}' for field in schema.fields)})")

    def source(self) -> Source:
        options = {"by": "id", "settle": "0 seconds", "user": "app", "password": Secret(env=self.server.server.variable)}
        return Source(self.server.url, self.name, schema=self.schema, **options)

    def add(self, rows: Sequence[Any]) -> None:
        held = ", ".join(["%s"] * len(self.schema.fields))
        with self.server.server.connect(self.server.url) as connection, connection.cursor() as cursor:
            cursor.executemany(f"INSERT INTO {self.name} VALUES ({held})", [tuple(map(_adapted, row)) for row in rows])


def _adapted(value: Any) -> Any:
    return json.dumps(value, default=str) if isinstance(value, list | tuple | dict) else value


@pytest.mark.full
def test_the_source_conforms(pg: Served) -> None:
    report = check_source(lambda place, schema: Table(place, schema, pg))
    left = {line.check: line.outcome for line in report.lines if line.outcome != "passed"}
    unread, nested = ["the count of unread rows", "a malformed row"], ["arrays", "structs", "maps"]
    assert left == {**dict.fromkeys(unread, "left out"), **dict.fromkeys(nested, "refused")}, report
