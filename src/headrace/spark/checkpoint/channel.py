"""The channel to a job: commands to the process that works on a checkpoint, as files in it, and the history of what was done.

commands/ID.json         a command, whole: what, its arguments, who gave it and when
commands/ID.answer.json  its end: the result, or the error
history.jsonl            a line for each command that has ended

A command has an id and is carried out once. Its sender takes it back if no process is there to answer. If the sender is gone too, the next
process that works on the checkpoint carries it out.
"""

from __future__ import annotations

import getpass
import json
import os
import socket
import time
import uuid
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from headrace.durable import atomic, private
from headrace.durable.sums import read, text_in, text_of
from headrace.errors import HeadraceError
from headrace.plan.codec import typed

COMMANDS = "commands"
HISTORY = "history.jsonl"
FORMAT = 1
_ANSWER = ".answer.json"
_PAUSE = 0.05


@dataclass(frozen=True)
class Command:
    """A command: `what` to do, with its `arguments`, given `by` somebody `at` a time."""

    id: str
    what: str
    arguments: Mapping[str, Any]
    by: str
    at: str

    @classmethod
    def make(cls, what: str, **arguments: Any) -> Command:
        return cls(uuid.uuid4().hex, what, arguments, _who(), _now())


def send(folder: Path, command: Command) -> None:
    """Hand a command to whoever works on the checkpoint."""
    private.folder(folder / COMMANDS)
    content = {"format": FORMAT, "what": command.what, "arguments": dict(command.arguments), "by": command.by, "at": command.at}
    atomic.create(_file(folder, command.id), text_of(content))


def pending(folder: Path, skipped: Collection[str] = ()) -> Command | None:
    """Return the command that has waited longest for an answer, except `skipped`."""
    place = folder / COMMANDS
    names = {path.name for path in place.iterdir()} if place.is_dir() else set()
    waiting = [name.removesuffix(".json") for name in names if name.endswith(".json") and not name.endswith(_ANSWER) and name[0] != "."]
    open = [id for id in waiting if f"{id}{_ANSWER}" not in names and id not in skipped]
    commands = [command for id in open if (command := _read(folder, id)) is not None]
    return min(commands, key=lambda one: (one.at, one.id), default=None)


def answer(
    folder: Path, command: Command, result: Mapping[str, Any] | None, error: HeadraceError | None = None, *, noted: bool = True
) -> None:
    """Store the end of a command, and add it to the history, unless it is not to be `noted`."""
    ended = {"format": FORMAT, "result": dict(result or {}), "error": None if error is None else _of(error)}
    if noted:
        note(folder, command, result, error)
    atomic.replace(folder / COMMANDS / f"{command.id}{_ANSWER}", text_of(ended))


def note(folder: Path, command: Command, result: Mapping[str, Any] | None, error: HeadraceError | None = None) -> None:
    """Add a line to the history of a job."""
    line = {
        "id": command.id,
        "what": command.what,
        # plans are large, and stored elsewhere
        "arguments": {name: value for name, value in command.arguments.items() if name not in ("plan", "identity")},
        "by": command.by,
        "at": command.at,
        "ended": _now(),
        **({"result": dict(result or {})} if error is None else {"error": error.code, "message": error.message}),
    }
    descriptor = os.open(folder / HISTORY, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, (json.dumps(line) + "\n").encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def forget(folder: Path, since: int) -> None:
    """Remove the commands that ended since a time, in milliseconds, from the history of a job."""
    file = folder / HISTORY
    if file.exists():
        moment = _text(datetime.fromtimestamp(since / 1000, UTC))
        # a process that was killed may have left a part of a line
        lines = [line for line in text_in(file).splitlines(keepends=True) if line.endswith("}\n")]
        atomic.replace(file, "".join(line for line in lines if json.loads(line)["ended"] < moment))


def answered(folder: Path, command: Command, alive: Callable[[], bool]) -> Mapping[str, Any] | None:
    """Wait for the end of a command and return its result, or raise its error. Returns None if no process works on the checkpoint."""
    file = folder / COMMANDS / f"{command.id}{_ANSWER}"
    while True:
        working = alive()
        ended = read(file)
        if ended is not None:
            withdraw(folder, command)
            if ended["error"] is not None:
                raise HeadraceError(ended["error"]["code"], ended["error"]["message"], hint=ended["error"]["hint"])
            result: Mapping[str, Any] = typed(ended["result"], Mapping)
            return result
        if not working:
            return None
        time.sleep(_PAUSE)


def withdraw(folder: Path, command: Command) -> None:
    """Remove a command, and its answer."""
    for file in (_file(folder, command.id), folder / COMMANDS / f"{command.id}{_ANSWER}"):
        with suppress(FileNotFoundError):
            file.unlink()


def _read(folder: Path, id: str) -> Command | None:
    try:
        value = read(_file(folder, id))
        if value is None:
            return None
        what, by, at = (typed(value[field], str) for field in ("what", "by", "at"))
        return Command(id, what, typed(value["arguments"], Mapping), by, at)
    except (HeadraceError, KeyError, OSError, TypeError, ValueError):
        # A damaged command must not end the job.
        return Command(id, "", {}, "", "")


def _file(folder: Path, id: str) -> Path:
    return folder / COMMANDS / f"{id}.json"


def _of(error: HeadraceError) -> dict[str, Any]:
    return {"code": error.code, "message": error.message, "hint": error.hint}


def _who() -> str:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"


def _now() -> str:
    return _text(datetime.now(UTC))


def _text(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds")
