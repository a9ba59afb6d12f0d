"""A Redis server whose keys are not of the history that they should be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import headrace as hr
from tests.servers.drill import Drill, Row, restore
from tests.servers.redis import VARIABLE, Redis

pytestmark = pytest.mark.usefixtures("spark", "here")


def drilled(redis: Redis, folder: Path) -> Drill:
    def contents() -> list[Row]:
        keys = [key for key in redis.run("KEYS", "t:*").split("\n") if key]
        found = [json.loads(redis.run("GET", key)) for key in keys]
        return sorted((row["k"], row["n"]) for row in found)

    return Drill(folder, lambda s: s.write.redis(redis.url, prefix="t:", key="k", password=hr.secret(VARIABLE), name="out"), contents)


@pytest.mark.parametrize(
    ("ahead", "starts"), [(1, 2), pytest.param(4, 10, marks=pytest.mark.full), pytest.param(50, 1, marks=pytest.mark.full)]
)
def test_a_checkpoint_that_was_put_back(redis: Redis, tmp_path: Path, ahead: int, starts: int) -> None:
    restore(drilled(redis, tmp_path), ahead=ahead, starts=starts)
