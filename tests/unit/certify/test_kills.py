"""What is killed when: a kill an epoch, armed for the passing at which its epoch begins."""

from __future__ import annotations

from headrace.certify import kills
from headrace.certify.kills import Kill, Trace
from headrace.points import Armed

EPOCH = [
    "before offsets are logged@main",
    "in a task@out",
    "in a task@out",
    "after staging@out",
    "after staging@out",
    "after the commit log@main",
]
QUIET = ["before offsets are logged@main", "after staging@out", "after staging@out", "after the commit log@main"]


def trace(*epochs: list[str]) -> Trace:
    return Trace.of(line for epoch in epochs for line in epoch)


def test_points_of_a_trace() -> None:
    assert [str(kill) for kill in trace(EPOCH).points(["out", "other"])] == [
        "before offsets are logged of main",
        "in a task of out",
        "after staging of out",
        "after the commit log of main",
    ]


def test_a_point_is_armed_for_the_epoch_it_is_to_act_in() -> None:
    recorded = trace(EPOCH, QUIET, EPOCH)
    task = Kill("in a task", "out")
    # two tasks in the epoch before, none in the quiet one
    assert recorded.arm(task, 0, 1) == (Armed("in a task", "out", 3), 2)
    assert recorded.arm(task, 1, 1) == (Armed("in a task", "out", 1), 2)
    assert recorded.arm(task, 0, 3) is None
    assert recorded.arm(Kill("after staging", "out"), 0, 1) == (Armed("after staging", "out", 3), 1)


def test_each_kill_of_a_chain_has_an_epoch_of_its_own() -> None:
    recorded = trace(*[EPOCH] * 4)
    wanted = recorded.points(["out"])
    [chain, rest] = kills.chains(wanted, recorded, 1)
    # the second process begins with the epoch that the first did not end, and passes the point of the next
    assert [str(step.armed) for step in chain] == [
        "before offsets are logged@main#1:kill",
        "in a task@out#3:kill",
        "after staging@out#3:kill",
    ]
    assert [str(step.armed) for step in rest] == ["after the commit log@main#2:kill"]


def test_behind_the_commit_log_the_next_process_begins_with_the_next_epoch() -> None:
    recorded = trace(*[EPOCH] * 4)
    [chain] = kills.chains([Kill(kills.OVER, "main"), Kill("in a task", "out")], recorded, 1)
    assert [str(step.armed) for step in chain] == ["after the commit log@main#1:kill", "in a task@out#1:kill"]


def test_kills_are_dealt_out_to_as_many_runs_as_there_can_be_at_once() -> None:
    recorded = trace(*[EPOCH] * 9)
    assert [len(chain) for chain in kills.chains(recorded.points(["out"]), recorded, 2)] == [2, 2]


def test_a_job_of_one_epoch_is_killed_in_it() -> None:
    recorded = trace(EPOCH)
    assert [[str(step.armed) for step in chain] for chain in kills.chains(recorded.points(["out"]), recorded, 2)] == [
        ["before offsets are logged@main#1:kill"],
        ["in a task@out#1:kill"],
        ["after staging@out#1:kill"],
        ["after the commit log@main#1:kill"],
    ]


def test_where_something_befalls_the_server_the_process_sleeps() -> None:
    recorded = trace(*[EPOCH] * 2)
    assert str(kills.alone(Kill("after staging", "out", outage="server hung"), recorded).armed) == "after staging@out#3:pause"
    # passed nowhere: it may be there in another run
    assert str(kills.alone(Kill("in sink commit", "out", outage="server hung"), recorded).armed) == "in sink commit@out#1:pause"


def test_random_moments_are_those_of_the_seed() -> None:
    once = kills.at_random(3, 5.0, 7)
    assert once == kills.at_random(3, 5.0, 7)
    assert once != kills.at_random(3, 5.0, 8)
    assert all(0 <= float(kill.after or 0) <= 5 for kill in once)
    assert [kill.of for kill in kills.at_random(1, 5.0, 7, of="an executor")] == ["an executor"]
