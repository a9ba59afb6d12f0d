"""Keys of Redis that hold another history than their checkpoint, and servers that were flushed or put back: no epoch of another history is taken
for one of this.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace import ports
from headrace.connectors.redis import Sink
from headrace.connectors.redis import sink as module
from headrace.testing import Harness
from tests.servers.drill import Drill, Row, restore, rows
from tests.servers.redis import VARIABLE, Redis
from tests.servers.tables import into
from tests.unit.connectors.delta.tasks import context
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark", "here")

FULL = pytest.mark.full
NOTE = "_headrace:t:"


def sink_of(redis: Redis) -> Sink:
    return Sink(redis.url, prefix="t:", key="k", password=hr.secret(VARIABLE), retry="1 second")


def of(**options: Any) -> ports.SinkContext:
    return context(Path(), "k string", mode="upsert", **options)


def started(redis: Redis, **options: Any) -> Sink:
    sink = sink_of(redis)
    sink.open(of(**options))
    return sink


def commit(sink: Sink, epoch: int, identity: str, *keys: str) -> None:
    sink.commit(epoch, ports.Staged(len(keys), (), lambda: [(key, 1) for key in keys], identity=identity))


def keys(redis: Redis) -> list[str]:
    return sorted(redis.run("KEYS", "t:*").split())


def test_what_the_keys_hold(redis: Redis) -> None:
    """It is looked at without a change."""
    assert sink_of(redis).mark(of()) == ports.Mark()
    assert redis.run("DBSIZE") == "0"
    sink = started(redis)
    assert sink_of(redis).mark(of()) == ports.Mark()
    commit(sink, 0, "a", "x")
    commit(sink, 3, "b", "y")
    assert sink_of(redis).mark(of()) == ports.Mark(3, "b")
    assert sink_of(redis).mark(of(checkpoint_id="other")) == sink_of(redis).mark(of(query="other")) == ports.Mark()
    later = started(redis, term=2)
    commit(later, 4, "", "z")
    assert sink_of(redis).mark(of()) == ports.Mark(4)


def test_a_note_from_before_there_were_identities(redis: Redis) -> None:
    commit(started(redis), 5, "", "x")
    redis.run("HDEL", NOTE, "identity")
    assert sink_of(redis).mark(of()) == ports.Mark(5)
    sink = started(redis, term=2)
    commit(sink, 5, "a", "lost")
    commit(sink, 6, "b", "y")
    assert keys(redis) == ["t:x", "t:y"] and sink_of(redis).mark(of()) == ports.Mark(6, "b")


def test_an_epoch_of_another_history(redis: Redis) -> None:
    sink = started(redis)
    commit(sink, 0, "a", "x")
    commit(sink, 1, "b", "y")
    commit(sink, 1, "b", "y")
    commit(sink, 1, "", "y")
    for epoch, identity in ((1, "c"), (0, "a"), (0, "")):
        with pytest.raises(hr.HeadraceError, match="CHECKPOINT_BEHIND: sink holds epoch 1 of another history"):
            commit(sink, epoch, identity, "z")
    assert keys(redis) == ["t:x", "t:y"]


def test_a_server_that_is_put_back_while_a_job_runs(redis: Redis) -> None:
    sink = started(redis)
    commit(sink, 0, "a", "x")
    redis.run("COPY", NOTE, "snapshot")
    commit(sink, 1, "b", "y")
    redis.run("COPY", "snapshot", NOTE, "REPLACE")
    check_error(
        """
        TABLE_REPLACED: sink: redis://127.0.0.1:PORT/0, keys t:* ends with epoch 0, but the job has written epoch 1 there
          hint: restore it, write the following rows to another place, or start over with fresh=True, which writes all rows again. Nothing was changed.
          more: headrace error TABLE_REPLACED
        """,
        lambda: commit(sink, 2, "c", "z"),
        hide={str(redis.port): "PORT"},
    )
    assert keys(redis) == ["t:x", "t:y"]


def test_a_server_that_loses_a_part_of_an_epoch(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a crash between two parts: the epoch is sent again from its beginning."""
    monkeypatch.setattr(module, "_BATCH", 2)
    sink = started(redis)
    commit(sink, 0, "a", "x")
    redis.run("COPY", NOTE, "snapshot")
    write, lost = sink._note.write, []

    def crashing(epoch: int, identity: str, parts: Any, value: Callable[[str], Sequence[Any]]) -> None:
        def between(key: str) -> Sequence[Any]:
            if key == "t:2" and not lost:
                lost.append(redis.run("DEL", "t:0", "t:1"))
                redis.run("COPY", "snapshot", NOTE, "REPLACE")
            return value(key)

        write(epoch, identity, parts, between)

    sink._note.write = crashing  # type: ignore[method-assign]  # its second part finds the server put back
    commit(sink, 1, "b", *map(str, range(5)))
    assert lost == ["2"] and keys(redis) == ["t:0", "t:1", "t:2", "t:3", "t:4", "t:x"]
    assert redis.run("HMGET", NOTE, "epoch", "identity", "part").split() == ["1", "b"]


def test_an_epoch_of_which_nothing_is_written_leaves_its_number(redis: Redis) -> None:
    """Else the next start would miss it."""
    with Harness() as h:
        source = h.source("s", "k string, n int")
        into(h, source.group_by("k").agg(n="sum(n)").write.redis(redis.url, prefix="t:", key="k", password=hr.secret(VARIABLE), name="out"))
        h.commit({"s": [("+", ("a", 1))]})
        h.commit({"s": [("+", (None, 2))]})
        h.restart()
        h.commit({"s": [("+", ("b", 3))]})
    assert keys(redis) == ["t:a", "t:b"] and redis.run("HGET", NOTE, "epoch") == "2"


def drilled(redis: Redis, folder: Path) -> Drill:
    def contents() -> list[Row]:
        rows = [json.loads(redis.run("GET", key)) for key in keys(redis)]
        return sorted((row["k"], row["n"]) for row in rows)

    return Drill(folder, lambda s: s.write.redis(redis.url, prefix="t:", key="k", password=hr.secret(VARIABLE), name="out"), contents)


@pytest.mark.parametrize(("ahead", "starts"), [(1, 2), pytest.param(4, 10, marks=FULL), pytest.param(50, 1, marks=FULL)])
def test_a_checkpoint_that_was_put_back(redis: Redis, tmp_path: Path, ahead: int, starts: int) -> None:
    restore(drilled(redis, tmp_path), ahead=ahead, starts=starts)


def test_a_server_that_was_put_back_or_flushed(redis: Redis, tmp_path: Path) -> None:
    drill = drilled(redis, tmp_path)
    drill.add(0)
    drill.run()
    redis.run("COPY", NOTE, "snapshot")
    drill.add(1)
    drill.run()
    drill.add(2)
    redis.run("COPY", "snapshot", NOTE, "REPLACE")
    with pytest.raises(
        hr.HeadraceError, match=r"TABLE_REPLACED: out: .*, keys t:\* ends with epoch 0, but the job has written epoch 1 there"
    ):
        drill.run()
    redis.run("FLUSHALL")
    for _ in range(2):
        check_error(
            """
            TABLE_REPLACED: out: redis://127.0.0.1:PORT/0, keys t:* holds no epoch of this job, but the job has written epoch 1 there
              hint: restore it, write the following rows to another place, or start over with fresh=True, which writes all rows again. Nothing was changed.
              more: headrace error TABLE_REPLACED
            """,
            drill.run,
            hide={str(redis.port): "PORT"},
        )
    assert redis.run("DBSIZE") == "0"
    drill.run(fresh=True)
    assert drill.contents() == rows(0, 1, 2)
