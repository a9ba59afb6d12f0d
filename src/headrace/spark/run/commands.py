"""Commands to a running job, carried out between two of its epochs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.errors import HeadraceError
from headrace.plan.naming import valid_name
from headrace.spark.checkpoint import candidate, channel, savepoints
from headrace.spark.checkpoint.channel import Command
from headrace.spark.checkpoint.folder import Checkpoint, is_checkpoint, query_folder, unusable
from headrace.spark.checkpoint.history import logged
from headrace.spark.checkpoint.lease import Holder, heartbeat
from headrace.spark.checkpoint.savepoints import Savepoint
from headrace.spark.run.query import RunningQuery

CUT, DEPLOY, HELD = "cut", "deploy", "held"
SAVEPOINT, EARLIER = "savepoint", "savepoint of an epoch"
"""Two commands: a process with a version that knows only the first must not make a savepoint of another moment."""

_RESTART = "the job was started with another version: restart it with the installed one"


@dataclass(frozen=True)
class Work:
    """How a command is carried out. `accept` is called first, while the queries go on; `between`: the work is done between two epochs."""

    work: Callable[[Command], Mapping[str, Any]]
    between: bool = False
    accept: Callable[[Command], None] | None = None
    is_noted: bool = True
    """Whether it goes into the history of the job."""


class Commands:
    """The commands of a run. `step` is called repeatedly; it never waits for an epoch.

    `stop` requests the end of the run; `status` describes it. `others`: how commands of higher packages are carried out, by their names.
    """

    def __init__(
        self,
        folder: Path,
        queries: Sequence[RunningQuery],
        stop: Callable[[], None],
        status: Callable[[], Mapping[str, Any]],
        others: Mapping[str, Work],
    ) -> None:
        self._folder, self._queries, self._stop, self._status = folder, queries, stop, status
        self._skipped: set[str] = set()
        self._waiting: Command | None = None
        """A command that has to be carried out between two epochs, while the queries are brought there."""
        self._work: Mapping[str, Work] = {
            SAVEPOINT: Work(self._savepoint, between=True),
            EARLIER: Work(self._savepoint, between=True),
            "stop": Work(self._stopped),
            "status": Work(lambda command: self._status()),
            CUT: Work(self._cut, between=True, is_noted=False),
            **others,
        }

    def step(self) -> None:
        """Take up the next command, or go on with one that waits for the end of an epoch."""
        if self._waiting is None:
            try:
                command = channel.pending(self._folder, self._skipped)
            except OSError:
                return  # another user may have made the folder; the job goes on
            if command is None:
                return
            work = self._work.get(command.what)
            if work is None or not work.between:
                self._carry_out(command)
                return
            if work.accept is not None and not self._accepted(command, work.accept):
                return
            self._waiting = command
            for query in self._queries:
                query.handle.hold()
        if all(query.handle.isHeld() and self._has_finished(query) for query in self._queries):
            command, self._waiting = self._waiting, None
            try:
                self._carry_out(command)
            finally:
                self._release()

    def _has_finished(self, query: RunningQuery) -> bool:
        """Return whether a query has finished the epochs that it has begun: a hold does not keep it from the replay of one."""
        folder = query_folder(self._folder, query.identity.name)
        return logged(folder, "offsets") <= logged(folder, "commits")

    def end(self) -> None:
        """Give up waiting, because the run ends."""
        if self._waiting is not None:
            self._waiting = None
            self._release()

    def _release(self) -> None:
        for query in self._queries:
            query.handle.release()

    def _accepted(self, command: Command, accept: Callable[[Command], None]) -> bool:
        """Accept a command that is carried out later; or answer it, if that fails."""

        def work() -> Mapping[str, Any]:
            accept(command)
            return {}

        result, error = self._outcome(command, work)
        if error is not None:
            self._answer(command, result, error)
        return error is None

    def _carry_out(self, command: Command) -> None:
        """Carry a command out and answer it."""

        def work() -> Mapping[str, Any]:
            if not command.what or not isinstance(command.arguments.get("name", ""), str):
                raise HeadraceError("UNKNOWN_COMMAND", "the file of a command cannot be read", hint="give the command again")
            known = self._work.get(command.what)
            if known is None:
                raise HeadraceError("UNKNOWN_COMMAND", f"this version of headrace does not know the command {command.what}", hint=_RESTART)
            return known.work(command)

        self._answer(command, *self._outcome(command, work))

    def _outcome(self, command: Command, work: Callable[[], Mapping[str, Any]]) -> tuple[Mapping[str, Any] | None, HeadraceError | None]:
        """Return the result of some work, or its error. Whatever fails, the job goes on."""
        try:
            return work(), None
        except HeadraceError as problem:
            return None, problem
        except OSError as problem:
            return None, unusable(self._folder, problem.strerror or str(problem))
        except Exception as problem:  # the job goes on
            return None, HeadraceError("RUN_FAILED", f"the command {command.what} failed: {type(problem).__name__}: {problem}")

    def _answer(self, command: Command, result: Mapping[str, Any] | None, error: HeadraceError | None) -> None:
        work = self._work.get(command.what)
        try:
            channel.answer(self._folder, command, result, error, noted=work is None or work.is_noted)
        except OSError:
            # without room for an answer it would be carried out again and again
            self._skipped.add(command.id)

    def _savepoint(self, command: Command) -> Mapping[str, Any]:
        began = time.monotonic()
        taken = _taken(self._folder, command)
        return {**taken.to_json(), "pause_ms": round((time.monotonic() - began) * 1000)}

    def _cut(self, command: Command) -> Mapping[str, Any]:
        candidate.cut(self._folder)
        return {}

    def _stopped(self, command: Command) -> Mapping[str, Any]:
        self._stop()
        return {}


def take_savepoint(folder: Path, name: str, *, at: int | None = None, pinned: bool = False) -> Savepoint:
    """Make a savepoint, by the process that works on the checkpoint if there is one. `at`: the epoch with which it ends."""
    earlier = {} if at is None else {"at": at}
    command = Command.make(EARLIER if earlier else SAVEPOINT, name=valid_name(name), pinned=pinned, **earlier)
    ask(folder, command, lambda checkpoint: _taken(checkpoint.folder, command).to_json())
    return savepoints.savepoint(folder, name)


def _taken(folder: Path, command: Command) -> Savepoint:
    arguments = command.arguments
    at = None if command.what == SAVEPOINT else int(arguments["at"])
    return savepoints.take(folder, arguments["name"], at=at, pinned=bool(arguments.get("pinned")), command=command.id)


def ask(folder: Path, command: Command, offline: Callable[[Checkpoint], Mapping[str, Any]] | None) -> Mapping[str, Any]:
    """Have a command carried out: by the process that works on the checkpoint, else by this one. Returns its result."""
    folder = folder.absolute()
    if not is_checkpoint(folder):
        raise HeadraceError("NOT_A_CHECKPOINT", f"{folder} has no checkpoint", hint="name the checkpoint of a job that was started")
    works = heartbeat(folder)
    holder = works()
    if holder is not None and holder.answers:
        result = give(folder, command, works)
        if result is not None:
            return result
    if offline is None:
        raise HeadraceError("NOT_RUNNING", f"no process works on the checkpoint {folder}", hint="start the job, or name another checkpoint")
    with closing(Checkpoint(folder)) as checkpoint:
        result = offline(checkpoint)
        channel.note(folder, command, result)
        return result


def give(folder: Path, command: Command, works: Callable[[], Holder | None]) -> Mapping[str, Any] | None:
    """Have the process that `works` on a checkpoint carry out a command. Returns its result; None if that process has ended."""
    try:
        channel.send(folder, command)
        return channel.answered(folder, command, lambda: works() is not None)
    finally:
        channel.withdraw(folder, command)
