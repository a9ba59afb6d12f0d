"""The certificate: what it says, and what it takes for a promise that was not kept."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headrace.certify import Certificate, Tried, Written
from headrace.certify.contents import counted, missing
from headrace.certify.kills import Kill, Step, Trace
from headrace.certify.rounds import at_points, summed
from headrace.certify.work import Run
from headrace.ports import Elsewhere, Sink, sink_class


def certificate(*tried: Tried, promised: str = "exactly once") -> Certificate:
    return Certificate(
        job="fraud",
        date="2026-01-02",
        version="0.1.0",
        sinks=(Written("alerts", "files", promised, 1200),),
        tried=tried,
        left_out={"screen": "console cannot be written elsewhere"},
        rows=1200,
        epochs=8,
        seconds=61.4,
        seed=0,
    )


GOOD = (Tried("in a task", "alerts", 1, 6.2), Tried("at random", "", 10, 70.0))


def test_text() -> None:
    assert (
        str(certificate(*GOOD))
        == """\
fraud: killed 11 times
  alerts (files): exactly once, 1,200 rows
  screen: left out, console cannot be written elsewhere

  killed               kills  rows lost  rows doubled  seconds
  in a task of alerts      1          0             0        6
  at random               10          0             0       70

1,200 rows in 8 epochs; 0 rows lost, 0 doubled, in 61 s: every sink that was tried keeps what it promises"""
    )


def test_names_that_people_read() -> None:
    lost = Tried("in a task", "alerts", 1, 6.2, lost={"alerts": 3})
    shown = certificate(lost).displayed({"alerts": "all alerts", "screen": "the screen"}.get)  # type: ignore[arg-type]
    assert [one.name for one in shown.sinks] == ["all alerts"] and dict(shown.left_out) == {
        "the screen": "console cannot be written elsewhere"
    }
    assert (shown.tried[0].of, shown.tried[0].lost, shown.holds) == ("all alerts", {"all alerts": 3}, False)
    assert "  in a task of all alerts      1          3             0        6" in str(shown)


def test_what_was_written_to_instead() -> None:
    one = Written("alerts", "jdbc", "exactly once", 1200, "SQLite instead of PostgreSQL")
    assert str(one) == "alerts (jdbc, SQLite instead of PostgreSQL): exactly once, 1,200 rows"
    assert one.to_json()["instead"] == "SQLite instead of PostgreSQL"


@pytest.mark.parametrize(
    ("sink", "server", "systems"),
    [
        (sink_class("jdbc")("postgresql://db/shop", "t", key="k"), None, ("PostgreSQL", "SQLite")),
        (sink_class("jdbc")("mariadb://db/shop", "t", key="k"), "mariadb://other/shop", ("MariaDB", "MariaDB")),
        (sink_class("kafka")("t", servers="a:9092", value="avro", registry="http://b"), "c:9092", ("records as avro", "records as json")),
    ],
)
def test_a_copy_knows_to_what_it_writes(sink: Sink, server: str | None, systems: tuple[str, str], tmp_path: Path) -> None:
    copy = sink.elsewhere(Elsewhere("t1", tmp_path / "t1", server, "append"))
    assert copy is not None and (sink.system, copy.system) == systems


def test_markdown() -> None:
    assert certificate(*GOOD).markdown().splitlines() == [
        "# fraud: killed 11 times",
        "",
        "2026-01-02, headrace 0.1.0",
        "",
        "* alerts (files): exactly once, 1,200 rows",
        "* screen: left out, console cannot be written elsewhere",
        "",
        "| killed | kills | rows lost | rows doubled | seconds |",
        "| --- | ---: | ---: | ---: | ---: |",
        "| in a task of alerts | 1 | 0 | 0 | 6 |",
        "| at random | 10 | 0 | 0 | 70 |",
        "",
        "1,200 rows in 8 epochs; 0 rows lost, 0 doubled, in 61 s: every sink that was tried keeps what it promises",
    ]


def test_json_is_json() -> None:
    document = json.loads(json.dumps(certificate(*GOOD).to_json()))
    assert (document["format"], document["holds"], document["tried"][0]["point"]) == (1, True, "in a task")


@pytest.mark.parametrize(
    ("promised", "tried", "holds"),
    [
        ("exactly once", {"doubled": {"alerts": 1}}, False),
        ("at least once", {"doubled": {"alerts": 1}}, True),
        ("at least once", {"lost": {"alerts": 1}}, False),
        ("at most once", {"lost": {"alerts": 1}}, True),
        ("at most once", {"doubled": {"alerts": 1}}, False),
        ("no guarantee", {"doubled": {"alerts": 1}, "lost": {"alerts": 1}}, True),
        ("at least once", {"doubled": {"dead letters": 1}}, False),
        ("at most once", {"failed": "SINK_FAILED"}, False),
    ],
)
def test_what_a_promise_is(promised: str, tried: dict[str, Any], holds: bool) -> None:
    assert certificate(Tried("in a task", "alerts", 1, 1.0, **tried), promised=promised).holds is holds


def test_whose_fault_it_is() -> None:
    """A promise that a connector of ours has broken is a fault of headrace; one of another's is not."""
    broken = certificate(Tried("in a task", "alerts", 1, 1.0, lost={"alerts": 1}))
    ours = replace(broken, sinks=(Written("alerts", "files", "exactly once", 3),))
    theirs = replace(broken, sinks=(Written("alerts", "duck", "exactly once", 3),))
    assert (ours.fault, theirs.fault) == ("headrace", "user")


def test_rows_are_counted_as_often_as_they_are_there() -> None:
    once, twice = {"out": counted([(1,), (2,)])}, {"out": counted([(1,), (1,)])}
    assert (missing(once, twice), missing(twice, once)) == ({"out": 1}, {"out": 1})
    # rows where none should be are doubled too
    assert missing(once, {"out": once["out"], "dead letters": Counter(["x"])}) == {}


def run(*places: str, rows: list[int], failed: str = "") -> Run:
    return Run(tuple((Kill(place, "out"), 2.0) for place in places), (), {"out": counted((n,) for n in rows)}, failed)


def test_kills_are_summed_by_their_points() -> None:
    expected = {"out": counted([(1,), (2,)])}
    runs = [
        run("after staging", rows=[1]),
        run("in a task", "after the commit log", rows=[2, 1]),
        run("in a task", rows=[1, 2, 2]),
    ]
    assert [(str(one.point), one.kills, dict(one.lost), dict(one.doubled)) for one in summed(runs, expected)] == [
        ("in a task", 2, {}, {"out": 1}),
        ("after staging", 1, {"out": 1}, {}),
        ("after the commit log", 1, {}, {}),
    ]


def test_a_loss_by_a_chain_of_kills_is_reported() -> None:
    tried = summed([run("in a task", "after staging", rows=[1])], {"out": counted([(1,), (2,)])})
    assert [(one.point, one.kills, dict(one.lost)) for one in tried][-1] == (
        "one after the other: in a task of out, after staging of out",
        0,
        {"out": 1},
    )
    assert not certificate(*tried, promised="exactly once").holds or tried[-1].lost


def test_a_run_that_differs_without_a_kill_is_not_passed_over() -> None:
    [tried] = summed([run(rows=[1])], {"out": counted([(1,), (2,)])})
    assert (tried.point, tried.kills, dict(tried.lost)) == ("not at all", 0, {"out": 1})


class Runs:
    """Runs whose results are known beforehand: by what they were killed at."""

    def __init__(self, *wrong: tuple[str, ...]) -> None:
        self._wrong = wrong

    def killed(self, steps: Sequence[Step]) -> Run:
        places = tuple(step.kill.point for step in steps)
        return run(*places, rows=[1] if places in self._wrong else [1, 2])

    def wrong(self, run: Run) -> bool:
        return run.differs({"out": counted([(1,), (2,)])})


def test_what_broke_in_a_row_is_tried_alone() -> None:
    names = ("in a task", "after staging", "before sink commit", "after sink commit")
    trace = Trace.of([*(f"{name}@out" for name in names), "after the commit log@main"] * 3)
    planned = [Kill(name, "out") for name in names]
    expected = {"out": counted([(1,), (2,)])}
    # of two runs that broke one is explained by a kill of its own, and one by none
    work: Any = Runs(names[:2], names[2:], names[:1])
    with ThreadPoolExecutor(1) as pool:
        tried = summed(at_points(work, pool, planned, trace, 2), expected)
    assert [(one.point, bool(one.lost)) for one in tried if one.lost] == [
        ("in a task", True),
        ("one after the other: before sink commit of out, after sink commit of out", True),
    ]
