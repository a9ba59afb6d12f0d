"""What certifies runs in the session that all Spark tests share; what is killed are processes of their own. Servers live for a file of tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers import kafka, mariadb, postgres
from tests.servers.database import running
from tests.spark.conftest import spark as spark


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kafka.Broker]:
    server = kafka.started(tmp_path_factory.mktemp("kafka") / "one")
    yield server
    server.kill()


@pytest.fixture(scope="module", name="postgres")
def _postgres() -> Iterator[postgres.Postgres]:
    with running(postgres.started()) as server:
        yield server


@pytest.fixture(scope="module", name="mariadb")
def _mariadb() -> Iterator[mariadb.MariaDb]:
    with running(mariadb.started()) as server:
        yield server
