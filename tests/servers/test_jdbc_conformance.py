"""The JDBC connector, checked by headrace's own suite for connectors."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from headrace import ports
from headrace.connectors.jdbc import Sink
from headrace.ports.secrets import Secret
from headrace.testing.conformance import check_sink
from tests.servers.tables import Served

pytestmark = pytest.mark.usefixtures("spark")


def check(kind: str, request: pytest.FixtureRequest, *, rows: int, points: tuple[str, ...]) -> str:
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

    return str(check_sink(make, rows=rows, points=points))


@pytest.mark.full
@pytest.mark.parametrize("kind", ["postgresql", "mariadb", "sqlite"])
def test_conformance(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    check(
        kind,
        request,
        rows=1_000_000 if kind == "postgresql" else 100_000,
        points=("after staging", "in sink commit", "before the commit log"),
    )
