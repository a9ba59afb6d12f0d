"""Settings of a run, by precedence: argument > HEADRACE_* > headrace.toml [job.NAME] > [job] > SET in the job's script > default."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from numbers import Integral
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from headrace.errors import HeadraceError, here
from headrace.schema import milliseconds
from headrace.spelling import suggestion

FILE = "headrace.toml"
_NUMBER = re.compile(r"\s*[+-]?\d+(\.\d+)?\s*", re.ASCII)
_HOST = re.compile(r"[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*|[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
ARGUMENT = "an argument"
"""The place, in errors, of a setting given as an argument."""
ENVIRONMENT = "the environment"
JOBS = Path(".headrace")
"""The default folder of checkpoints, each in a folder with the job's name."""


@dataclass(frozen=True)
class Settings:
    """The settings of a run; `every` and `lease` are in milliseconds. `partitions` and `metrics_port` are None if they are not set.

    >>> settings("fraud", checkpoint="/tmp/fraud", every="2 seconds").every
    2000
    """

    checkpoint: Path
    every: int
    partitions: int | None
    progress: bool | None
    lease: int
    metrics_port: int | None
    metrics_host: str
    places: Mapping[str, str] = field(default_factory=dict)
    """Where each setting comes from, unless it is the default."""

    def unusable(self, name: str, why: str) -> HeadraceError:
        """Return the error for a valid value that cannot be used on this machine."""
        return _bad(name, self.places.get(name, ARGUMENT), f"cannot be {getattr(self, name)!r}: {why}")


_LONGEST = 365 * 86_400_000
"""The longest duration of a setting in milliseconds."""
_MOST = 100_000
"""The most tasks per level: each has a state store for every operator."""

_CURES = {
    "checkpoint": "name a folder on a local disk or mounted volume",
    "every": 'write "10 seconds", or a number of seconds, at most 365 days; 0 starts an epoch as soon as the last one ends',
    "partitions": f"write a whole number from 1 to {_MOST:,}",
    "progress": "write true or false",
    "metrics_port": 'write a free port from 1 to 65535, 0 for any free port, or "off"',
    "metrics_host": "write an address or a host name of this machine: 127.0.0.1 (the default), or 0.0.0.0 for all addresses",
    "lease": 'write a duration from 1 second to 365 days, such as "20 seconds"',
}


def _folder(value: Any) -> Path:
    text = os.fspath(value)
    if not text or "\0" in text:
        raise ValueError("it is not a path")
    parts = urlsplit(text)
    if parts.scheme == "file":
        return Path(url2pathname(parts.path))
    if "://" in text:
        raise ValueError("a checkpoint must be a local path, not a URI")
    return Path(text).expanduser()


def _every(value: Any) -> int:
    number = float(value) if isinstance(value, str) and _NUMBER.fullmatch(value) else value
    if isinstance(number, int | float) and not isinstance(number, bool):
        if not 0 <= number * 1000 <= _LONGEST:
            raise ValueError("it is negative" if number < 0 else "it is longer than 365 days" if number > 0 else "it is not a number")
        number = timedelta(seconds=number)
    millis = milliseconds(number, "it")
    if millis > _LONGEST:
        raise ValueError("it is longer than 365 days")
    return millis


def _lease(value: Any) -> int:
    millis = _every(value)
    if millis < 1000:
        raise ValueError("it is shorter than 1 second")
    return millis


def _count(value: Any) -> int:
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    number = value if whole else int(value) if isinstance(value, str) and value.isascii() and value.strip().isdigit() else 0
    if not 1 <= number <= _MOST:
        raise ValueError(f"expected a whole number from 1 to {_MOST:,}")
    return int(number)


def _port(value: Any) -> int | None:
    if value == "off":
        return None
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    number = value if whole else int(value) if isinstance(value, str) and value.isascii() and value.strip().isdigit() else -1
    if not 0 <= number <= 65535:
        raise ValueError("expected a whole number from 0 to 65535")
    return int(number)


def _host(value: Any) -> str:
    if not isinstance(value, str) or not _HOST.fullmatch(value.strip()):
        raise ValueError("it is not an address or a host name")
    return value.strip()


def _flag(value: Any) -> bool:
    known = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    try:
        return known[str(value).lower()]
    except KeyError:
        raise ValueError("expected true or false") from None


READ: Mapping[str, Callable[[Any], Any]] = {
    "checkpoint": _folder,
    "every": _every,
    "partitions": _count,
    "progress": _flag,
    "lease": _lease,
    "metrics_port": _port,
    "metrics_host": _host,
}


def settings(job: str, script_settings: Mapping[str, Any] | None = None, **arguments: Any) -> Settings:
    """Return the settings of a run of `job`. `script` has those of its script; arguments that are None count as not given."""
    chosen: dict[str, Any] = {"checkpoint": JOBS / job, "every": 0, "partitions": None, "progress": None, "lease": 20_000}
    chosen |= {"metrics_port": None, "metrics_host": "127.0.0.1"}
    places: dict[str, str] = {}
    for place, values in (("the script", script_settings or {}), *_lasting(job), (ARGUMENT, arguments)):
        for name, value in values.items():
            if value is None:
                continue
            if name not in READ:
                hint = suggestion(name, READ, f"settings: {', '.join(sorted(READ))}")
                raise HeadraceError("BAD_SETTING", f"{place} has an unknown setting {name}", hint=hint)
            chosen[name] = _read(name, value, place)
            places[name] = place
    return Settings(**chosen, places=places)


def checkpoint_of(job: str) -> Path:
    """Return the folder of a job's state by the environment, headrace.toml and the default.

    >>> checkpoint_of("fraud")
    PosixPath('.headrace/fraud')
    """
    folder = JOBS / job
    for place, values in _lasting(job):
        if values.get("checkpoint") is not None:
            folder = _read("checkpoint", values["checkpoint"], place)
    return folder


def _lasting(job: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the places of settings outside a call, with their values, the weakest first."""
    return [*_file(job), (ENVIRONMENT, _environment())]


def _read(name: str, value: Any, place: str) -> Any:
    try:
        return READ[name](value)
    except (ValueError, TypeError) as problem:
        raise _bad(name, place, f"cannot be {value!r}: {problem}") from None
    except HeadraceError as problem:
        raise _bad(name, place, problem.message.removeprefix("it ")) from None


def _environment() -> dict[str, Any]:
    values = ((name, os.environ.get(f"HEADRACE_{name.upper()}")) for name in READ)
    return {name: value for name, value in values if value}


def _file(job: str) -> list[tuple[str, dict[str, Any]]]:
    path = Path(FILE)
    if not path.is_file():
        return []
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("job", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise HeadraceError("BAD_SETTING", f"{FILE} cannot be read: {problem}", hint="write TOML with a table [job]") from None
    general = {name: value for name, value in table.items() if not isinstance(value, dict)}
    own = table.get(job, {})
    return [(f"[job] of {FILE}", general), (f"[job.{job}] of {FILE}", own if isinstance(own, dict) else {})]


def _bad(name: str, place: str, why: str) -> HeadraceError:
    hint = f"{_CURES[name]}. All settings: headrace docs settings"
    if place == ARGUMENT:
        return HeadraceError("BAD_SETTING", f"`{name}` {why}", hint=hint, site=here())
    what = f"the environment variable HEADRACE_{name.upper()}" if place == ENVIRONMENT else f"the setting {name} in {place}"
    return HeadraceError("BAD_SETTING", f"{what} {why}", hint=hint)
