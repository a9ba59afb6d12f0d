"""Keys of Redis, behind an aggregate."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import headrace as hr
from tests.faults.jobs.rows import orders
from tests.servers.redis import PASSWORD, VARIABLE, Redis

spent = orders().group_by("shop").agg(amount="sum(amount)", orders="count(*)")

job = hr.job("redis", spent.write.redis("redis://127.0.0.1", prefix="spent:", key="shop", password=hr.secret(VARIABLE), name="spent out"))


@contextmanager
def servers() -> Iterator[dict[str, str]]:
    """A server that the copies of the job write to."""
    server = Redis(Path(tempfile.mkdtemp(prefix="headrace-redis-")))
    server.start()
    os.environ[VARIABLE] = PASSWORD
    try:
        yield {"redis": server.url}
    finally:
        server.stop()
        shutil.rmtree(server.folder, ignore_errors=True)
