"""A fresh start of the Redis sink: what goes, and whose it may be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace import ports
from headrace.connectors.redis import Sink
from headrace.errors import HeadraceError
from tests.servers.redis import VARIABLE, Redis
from tests.unit.connectors.delta.tasks import context
from tests.unit.errors import check_error


def sink(redis: Redis, **options: Any) -> Sink:
    target = Sink(redis.url, prefix="t:", key="k", password=hr.secret(VARIABLE))
    target.open(context(Path(), "k string", mode="upsert", **options))
    return target


def write(target: Sink, epoch: int, *keys: str) -> None:
    target.commit(epoch, ports.Staged(len(keys), (), lambda: [(key, 1) for key in keys]))


def keys(redis: Redis) -> set[str]:
    return set(redis.run("KEYS", "t:*").split())


def test_a_fresh_start_claims_first_and_then_removes_the_keys_of_another(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    write(sink(redis), 0, *map(str, range(5000)))
    before = Sink._clear
    owners: list[str] = []

    def clearing(self: Sink) -> None:
        owners.append(redis.run("HGET", "_headrace:t:", "checkpoint"))
        before(self)

    monkeypatch.setattr(Sink, "_clear", clearing)
    fresh = sink(redis, checkpoint_id="c2", fresh=True)
    assert owners == ["c2"] and keys(redis) == set() and redis.run("HGET", "_headrace:t:", "clearing") == ""
    write(fresh, 0, "a")
    sink(redis, checkpoint_id="c2", fresh=True, term=2)
    assert owners == ["c2"] and keys(redis) == {"t:a"}


def test_a_fresh_start_leaves_the_keys_of_another_job(redis: Redis) -> None:
    write(sink(redis), 0, "a")
    for fresh in (False, True):
        check_error(
            """
            TABLE_OWNED: redis://127.0.0.1:PORT/0, keys t:* was written by the sink sink of the job job, from another checkpoint or query
              hint: write to another prefix, continue from the checkpoint that wrote it, or delete the keys and _headrace:t: by hand: fresh=True does not, because another job wrote them
              more: headrace error TABLE_OWNED
            """,
            lambda fresh=fresh: sink(redis, job="other", checkpoint_id="c2", fresh=fresh),  # type: ignore[misc]  # of a loop
            hide={str(redis.port): "PORT"},
        )
    assert keys(redis) == {"t:a"}
    write(sink(redis, term=2), 1, "b")
    assert keys(redis) == {"t:a", "t:b"}


def test_a_fresh_start_checks_the_keys_before_it_takes_them(redis: Redis) -> None:
    write(sink(redis), 0, "a")
    before = redis.run("HGETALL", "_headrace:t:")
    mine = Sink(redis.url, prefix="t:", key="k", password=hr.secret(VARIABLE))
    with pytest.raises(HeadraceError, match="TABLE_OWNED"):
        mine.may_open(context(Path(), "k string", mode="upsert", job="other", checkpoint_id="c2", fresh=True))
    mine.may_open(context(Path(), "k string", mode="upsert", checkpoint_id="c2", fresh=True))
    assert (keys(redis), redis.run("HGETALL", "_headrace:t:")) == ({"t:a"}, before)


@pytest.mark.parametrize("query", ["main", "other"])
@pytest.mark.parametrize("fresh", [False, True])
def test_two_sinks_of_one_start_at_the_same_keys(redis: Redis, query: str, fresh: bool) -> None:
    """By two addresses that are one: each would take the other's epochs for its own."""
    first = sink(redis, fresh=fresh)
    check_error(
        """
        FOLDER_OWNED: the sinks sink and twin both write to redis://127.0.0.1:PORT/0, keys t:*
          hint: give each sink its own prefix; combine streams that have the same columns with union
          more: headrace error FOLDER_OWNED
        """,
        lambda: sink(redis, name="twin", query=query, fresh=fresh),
        hide={str(redis.port): "PORT"},
    )
    write(first, 0, "a")
    write(sink(redis, fresh=fresh), 1, "b")
    write(sink(redis, name="renamed", term=2), 2, "c")
    assert keys(redis) == {"t:a", "t:b", "t:c"}


def test_a_clearing_that_was_cut_off_is_finished_by_the_next_start(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    write(sink(redis), 0, "a", "b")
    with monkeypatch.context() as killed:
        killed.setattr(Sink, "_clear", lambda self: None)
        sink(redis, checkpoint_id="c2", fresh=True)
    assert keys(redis) == {"t:a", "t:b"}
    sink(redis, checkpoint_id="c2", term=2)
    assert keys(redis) == set()


def test_one_that_falls_asleep_while_it_clears_removes_nothing_of_its_successor(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    write(sink(redis), 0, "a", "b")
    before = Sink._clear

    def asleep(self: Sink) -> None:
        monkeypatch.setattr(Sink, "_clear", before)
        write(sink(redis, checkpoint_id="c2", fresh=True, term=2), 0, "c")
        before(self)

    monkeypatch.setattr(Sink, "_clear", asleep)
    with pytest.raises(HeadraceError, match="SINK_FENCED"):
        sink(redis, checkpoint_id="c2", fresh=True)
    assert keys(redis) == {"t:c"}
