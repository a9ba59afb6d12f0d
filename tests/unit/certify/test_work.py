"""Runs of a copy: how kills at random are dealt out to them, and that nothing of theirs is left behind."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from headrace.certify import kills, rounds, work
from headrace.certify.kills import Step
from headrace.certify.process import Ended
from headrace.errors import HeadraceError
from headrace.plan import Plan


class Fake:
    """A copy of a job whose sinks note that they were thrown away."""

    def __init__(self) -> None:
        self.discarded = 0

    def at(self, folder: Path) -> tuple[Plan, dict[str, Any]]:
        return Plan.of("fake", []), {"out": self}

    def read(self, sinks: Any) -> Any:
        return {}

    def discard(self) -> None:
        self.discarded += 1


def test_what_a_run_without_an_end_wrote_is_thrown_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(place: Any, *arguments: Any) -> Ended:
        place.log.write_text("it fails\n")
        return Ended(1, False, 1.0, 1.0)

    monkeypatch.setattr(work, "run", fails)
    fake = Fake()
    runs = work.Work(fake, tmp_path, 1, "local[1]", print)
    with pytest.raises(HeadraceError, match="its copy does not run:\nit fails"):
        runs.alone()
    assert runs.killed([Step(kills.Kill("in a task", "out"), None)]).failed == "it fails"
    assert fake.discarded == 0
    runs.close()
    assert fake.discarded == 2


@pytest.mark.parametrize(("of", "together"), [("", [4, 1]), ("an executor", [1, 1, 1, 1, 1])])
def test_an_executor_is_killed_once_a_run(of: str, together: list[int]) -> None:
    """A run goes on without it, and would be over before the next kill."""
    dealt: list[int] = []

    class Runs:
        def killed(self, steps: list[Step]) -> work.Run:
            dealt.append(len(steps))
            return work.Run(tuple((step.kill, 1.0) for step in steps), (), {})

    with ThreadPoolExecutor(1) as pool:
        rounds.at_random(Runs(), pool, kills.at_random(5, 9.0, 1, of=of))  # type: ignore[arg-type]
    assert dealt == together
