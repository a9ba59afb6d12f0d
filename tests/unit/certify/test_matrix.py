"""The fault matrix: what is left is tried, what was tried stays, and the page shows it."""

from __future__ import annotations

import sys
import types
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from tools import certify_all

import headrace.certify
from headrace.certify import Certificate, Tried, Written
from headrace.points import POINTS
from tests.faults.jobs.served import Servers


def module(name: str) -> types.SimpleNamespace:
    """The module of a job, with a server where it is told so by its name."""
    servers = {"servers": lambda: nullcontext(Servers({"kafka": "there"}, restart, hang))} if name.endswith("kafka") else {}
    return types.SimpleNamespace(job=name, **servers)


def restart() -> None:
    """Nothing to restart."""


def hang() -> None:
    """Nothing to stop for a while."""


class Stopped(Exception):
    """Somebody has no more patience."""


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What is asked to be certified; nothing is run."""
    page = tmp_path / "faults.md"
    page.write_text(f"before\n{certify_all.BEGIN}\nold\n{certify_all.END}\nbehind\n")
    monkeypatch.setattr(certify_all, "RESULTS", tmp_path / "results" / "faults.json")
    monkeypatch.setattr(certify_all, "PAGE", page)
    monkeypatch.setattr(certify_all, "commit", lambda: "1f3a")
    monkeypatch.setattr(certify_all.importlib, "import_module", module)
    calls: list[dict[str, Any]] = []

    def certify(job: Any, **more: Any) -> Certificate:
        calls.append(more)
        if len(calls) == 2:
            raise Stopped
        named = [f"{what}{point}" for what in ([f"{one}, " for one in more.get("outages", ())] or [""]) for point in more["points"]]
        named += [f"made to fail, {point}" for point in more.get("fails", ())]
        tried = [Tried(point, "out", 1, 1.0) for point in named if point != "in sink commit"]
        tried += [Tried("at random", "", more.get("random", 0), 9.0, {"out": 2})] if more.get("random") else []
        for epochs in more.get("restored", ()):
            outcomes = {"CHECKPOINT_BEHIND": 2, "exact": epochs % 3, "not noticed": epochs % 2}
            tried += [Tried(f"put back after {epochs} epochs", way, 5, 1.0, outcomes=outcomes) for way in ("the newest", "an early copy")]
        tried += [Tried("at random", "an executor", more["executors"], 9.0)] if more.get("executors") else []
        return Certificate("job", "2026-01-02", "0.1.0", (Written("out", "files", "exactly once", 9),), tuple(tried), {}, 9, 3, 1.0, 0)

    monkeypatch.setattr(headrace.certify, "certify", certify)
    return calls


def test_stopped_it_goes_on_with_what_is_left(calls: list[dict[str, Any]]) -> None:
    with pytest.raises(Stopped):
        certify_all.run("files", certify_all.kept())
    assert [one["points"] for one in calls] == [list(POINTS), []]
    assert "| in a task | 1 |" in certify_all.PAGE.read_text()

    assert not certify_all.run("files", certify_all.kept())  # two rows are lost
    assert [(one["points"], one.get("fails"), one.get("random"), one.get("executors")) for one in calls[2:]] == [
        ([], list(POINTS), None, None),
        ([], None, certify_all.DRIVER, None),
        ([], None, None, certify_all.EXECUTOR),
        (certify_all.ON_EXECUTORS, None, None, None),
        *[([], None, None, None)] * len(certify_all.AHEAD),
    ]
    assert [one["restored"] for one in calls[-len(certify_all.AHEAD) :]] == [(epochs,) for epochs in certify_all.AHEAD]
    page = certify_all.PAGE.read_text()
    assert page.startswith("before\n") and page.endswith("\nbehind\n") and "\nold\n" not in page
    assert f"| made to fail | {len(POINTS)} |" in page
    assert "| at random | 20 **lost 2** |" in page
    assert "| at random, an executor | 4 |" in page
    assert "| in a task, an executor | 1 |" in page
    assert (
        "30 starts on restored checkpoints, 2026-01-02: 0 rows lost, 0 rows duplicated. "
        "Outcomes: CHECKPOINT_BEHIND 12, exact 8, not noticed 2. Rows of the starts" in page
    )
    assert "| restored after 1 epochs | 4 refused, 2 exact, 2 not noticed |" in page
    assert "| restored after 4 epochs | 4 refused, 2 exact |" in page
    assert "| restored after 50 epochs | 4 refused, 4 exact |" in page
    kept = certify_all.kept()
    assert {cell["commit"] for cell in kept["files"].values()} == {"1f3a"}
    assert not certify_all.run("files", kept)  # they still are
    assert len(calls) == 6 + len(certify_all.AHEAD)  # nothing is left


def test_lost_rows_are_reported_until_the_next_try(calls: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    def exit_code(*arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["certify_all.py", "files", *arguments])
        return certify_all.main()

    calls.extend([{}] * 2)  # nobody stops it
    assert [exit_code(), exit_code()] == [1, 1]
    assert len(calls) == 7 + len(certify_all.AHEAD)
    # two rows are lost at random only
    assert [exit_code("--again", "--only", "points"), exit_code("--only", "points")] == [0, 0]
    assert len(calls) == 8 + len(certify_all.AHEAD)
    assert exit_code() == 1


def test_a_round_in_which_nothing_was_read_is_no_result(calls: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    def certify(job: Any, **more: Any) -> Certificate:
        calls.append(more)
        return Certificate("job", "2026-01-02", "0.1.0", (Written("out", "files", "exactly once", 0),), (), {}, 9, 3, 1.0, 0)

    monkeypatch.setattr(headrace.certify, "certify", certify)
    for tries in (1, 2):
        assert not certify_all.run("files", certify_all.kept(), only="points")
        assert len(calls) == tries


def test_servers_are_restarted_where_there_are_some(calls: list[dict[str, Any]]) -> None:
    cells = certify_all.kept()
    calls.extend([{}] * 2)  # nobody stops it
    certify_all.run("kafka", cells)
    last = calls[-1]
    assert (last["points"], last["outages"], last["servers"]) == (certify_all.OUT_AT, {"server hung": hang}, {"kafka": "there"})
    assert calls[-2]["outages"] == {"server restarted": restart}
    assert {"delta", "files", "http", "iceberg", "jdbc", "kafka", "redis"} == set(last["readers"])
    page = certify_all.PAGE.read_text()
    assert "| server restarted | 3 |" in page
    assert "| server hung | 3 |" in page
    assert f"{len(POINTS) - 1 + len(POINTS) + 20 + 4 + 4 + 6} faults, 6 of them of a server, 2026-01-02: 2 rows lost" in page
    before = len(calls)
    certify_all.run("kafka", certify_all.kept())
    assert len(calls) == before
    certify_all.run("other kafka", cells, only="server")
    assert [one["points"] for one in calls[before:]] == [certify_all.OUT_AT] * 2


def test_the_page_is_current_when_it_is_written_again(calls: list[dict[str, Any]]) -> None:
    certify_all.keep(cells := certify_all.kept())
    page = certify_all.PAGE.read_text()
    assert certify_all.with_table(page, cells) == page
    assert "No results yet." in page


def test_every_job_is_found() -> None:
    assert {"delta", "demo", "files", "http", "iceberg", "kafka", "three"} <= set(certify_all.jobs())
    assert not {"rows", "served"} & set(certify_all.jobs())


def test_backups_of_one_kind_are_one_cell() -> None:
    ways = ["the newest", "an early copy without queries/", "an early copy without record/", "an early copy without sources/"]
    tried = [Tried("put back after 4 epochs", way, 2, 1.0, outcomes={"CHECKPOINT_INCOMPLETE": 2}) for way in ways]
    tried[3] = Tried("put back after 4 epochs", ways[3], 1, 1.0, lost={"out": 3}, outcomes={"exact": 1})
    certificate = Certificate("job", "2026-01-02", "0.1.0", (), tuple(tried), {}, 9, 3, 1.0, 0)
    cells = certify_all.cells_of(certificate, "put back after 4")
    point = "put back after 4 epochs@"
    assert {place: (cell["kills"], cell["outcomes"], cell["lost"]) for place, cell in cells.items()} == {
        f"{point}{ways[3]}": (1, {"exact": 1}, {"out": 3}),
        f"{point}the newest": (2, {"CHECKPOINT_INCOMPLETE": 2}, {}),
        f"{point}an early copy without a part": (4, {"CHECKPOINT_INCOMPLETE": 4}, {}),
    }
