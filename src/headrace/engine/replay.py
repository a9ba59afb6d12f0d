"""hr.replay: what a program does for a key, step by step."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from headrace.engine.asking import answerable
from headrace.engine.job import Job
from headrace.spark.replay.replay import replay as replayed
from headrace.spark.replay.report import Replay
from headrace.spark.replay.variants import Question


def replay(
    job: Job | str | os.PathLike[str],
    key: Mapping[str, Any] | None = None,
    program: str | None = None,
    *,
    without: int | None = None,
    rows: int = 100,
    debug: Callable[..., object] | None = None,
    progress: Callable[[str], object] | None = None,
) -> Replay:
    """Runs a program again for one key, as `headrace replay` does, and returns each step of its handlers. Changes nothing.

    A step is what a handler reads, a branch that it takes, a change of a cell with the value before and after, a row that it emits.
    [Replay](../../guides/replay.md) has more.

    All rows that the job has read are read again, up to a moment between two epochs. A running job goes on.

    Args:
        job: A job that has run, or the folder of its checkpoint.
        key: The values of the key, by column. Default: none, for a program without key.
        program: The name of the program. Default: the only program of the job; a `dedupe` with `within` is one, but does not count.
        without: The number of a row of the key, from 1, that is left out: what would have happened without it?
        rows: The most calls of handlers in the answer, the last ones, 1 to 100,000.
        debug: A function that is called with each handler and its arguments, to run it once more in Python, such as `pdb.runcall`: the
            debugger stops at the lines of the program, and columns show the values that they had. This process must have built the job.
        progress: A function that is called with a line about each step.

    Raises:
        CheckpointError: `NO_SUCH_ROW` if no row has the key, or there is no row of that number; `UNKNOWN_VIEW` if the job has no such
            program, or several and none is named; `NO_STATE` before the first epoch; `HISTORY_GONE` if rows cannot be read again;
            `CHECKPOINT_IN_USE` during a deploy; `CHECKPOINT_OTHER_VERSION` if the job has changed since; `NOT_A_CHECKPOINT`,
            `EPOCH_UNFINISHED`.
        ProgramError: With `debug`: `NO_SOURCE` if the handlers cannot be run in Python, `HANDLER_FAILED` if one takes another way.
        BdbQuit: If the debugger is left (of Python's module `bdb`).
        PlanError: `UNKNOWN_COLUMN` if the key has no such column; `BAD_INPUT` for another argument.

    Examples:
        >>> import headrace as hr
        >>> class Streak(hr.Program):
        ...     wins = hr.Value("int")
        ...
        ...     def on_event(self, e):
        ...         wins = hr.f.coalesce(self.wins.get(), 0)
        ...         with hr.when(e.won):
        ...             self.wins.set(wins + 1)
        ...         with hr.elsewhen(wins > 0):
        ...             hr.emit(player=self.key.player, wins=wins)
        ...             self.wins.clear()
        >>> rows = [("ada", 1, True), ("bob", 2, False), ("ada", 3, False)]
        >>> games = hr.read.memory(rows, "player string, game int, won boolean", name="games")
        >>> job = hr.job("streaks", games.key_by("player").process(Streak).write.memory(name="out"))
        >>> _ = job.run(progress=False)
        >>> replay = hr.replay(job, {"player": "ada"})
        >>> print(replay)
        streaks: games.Streak for player="ada", 2 rows, after epoch 0
          row 1, on_event: player="ada", game=1, won=true
            ...: wins is null
            ...: when e.won: yes
            ...: wins: null -> 1
          row 2, on_event: player="ada", game=3, won=false
            ...: wins is 1
            ...: when e.won: no
            ...: when coalesce(self.wins.get(), 0) > 0: yes
            ...: emit player="ada", wins=1
            ...: wins: 1 -> null
        nothing was changed; done in ... s
        >>> hr.replay(job, {"player": "ada"}, without=1).lost["main"]
        ({'player': 'ada', 'wins': 1},)
    """
    with answerable(job, "hr.replay", rows) as (home, compiled):
        question = Question(program, dict(key or {}), without, rows)
        return replayed(question, home, compiled, progress or (lambda line: None), debug)
