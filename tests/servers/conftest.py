"""What tests with servers share: the session, the servers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.servers.disks import disk as disk
from tests.servers.kafka import broker as broker
from tests.servers.kafka import other_broker as other_broker
from tests.servers.mariadb import mariadb as mariadb
from tests.servers.mariadb import other_mariadb as other_mariadb
from tests.servers.postgres import other_postgres as other_postgres
from tests.servers.postgres import postgres as postgres
from tests.servers.problems import says as says
from tests.servers.redis import _redis as _redis
from tests.servers.redis import redis as redis
from tests.servers.registry import registry as registry
from tests.servers.s3 import s3 as s3
from tests.servers.tables import maria as maria
from tests.servers.tables import pg as pg
from tests.servers.tables import place as place
from tests.servers.tables import sqlite as sqlite
from tests.spark.conftest import spark as spark


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints lie where the test is."""
    monkeypatch.chdir(tmp_path)
