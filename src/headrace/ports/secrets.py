"""Secrets: a plan stores where a password is, never the password."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from headrace.errors import ConnectorError, here
from headrace.masking import hide
from headrace.ports.options import wrong

LINE = r"[^\x00-\x1f\x7f]*"
"""The values that most protocols accept: one line, without control characters."""

HEADER = r"[\x20-\x7e]*"
"""The values that an HTTP header can have: one line of ASCII."""

LINES = r"[^\x00]*"
"""Values that usually come from a file, such as the key of a service account."""

_UNFIT = {LINE: "a line break or another control character", HEADER: "a line break or a non-ASCII character", LINES: "the character NUL"}


@dataclass(frozen=True)
class Secret:
    """The place of a secret: an environment variable or a file. `read` gives its value when a run starts.

    `takes` is the pattern of values that can be sent.
    """

    env: str = ""
    file: str = ""
    takes: str = field(default=LINE, compare=False)

    def __repr__(self) -> str:
        return f"hr.secret({self.env!r})" if self.env else f"hr.secret(file={self.file!r})"

    def read(self) -> str:
        """The secret itself, for opening a connection. From here on it is masked in all text that leaves the process."""
        return self._hidden(self._value())

    def check(self) -> None:
        """Refuse a value that cannot be sent, if the variable is set already."""
        if self.env in os.environ:
            self._hidden(os.environ[self.env])

    def _value(self) -> str:
        if self.env:
            if self.env not in os.environ:
                raise _missing(
                    f"the variable {self.env} is not set", f"set it where the job is started: {self.env}=... headrace run job.py"
                )
            return os.environ[self.env]
        try:
            return Path(self.file).expanduser().read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as cause:
            reason = cause.strerror if isinstance(cause, OSError) else "it is not UTF-8 text"
            raise _missing(f"the file {self.file} cannot be read: {reason}", "the file must contain only the secret, on one line") from None

    def _hidden(self, value: str) -> str:
        hide(value)
        if re.fullmatch(self.takes, value) is None:
            place = f"the variable {self.env}" if self.env else f"the file {self.file}"
            hint = "`echo` adds a line break at the end; `printf '%s'` does not"
            raise ConnectorError("SECRET_UNFIT", f"{place} contains {_UNFIT[self.takes]}, which cannot be sent", hint=hint, site=here())
        return value

    def to_json(self) -> dict[str, str]:
        """The form in a plan."""
        return {"env": self.env} if self.env else {"file": self.file}


def secret(env: str | None = None, *, file: str | os.PathLike[str] | None = None) -> Secret:
    """Refers to a secret in an environment variable or a file, which is read when the job runs.

    A plan stores the name only. The value is read when a run starts; from then on it is masked in every text that leaves the process.

    Args:
        env: The name of an environment variable.
        file: The path of a file, instead of `env`. Line breaks at its end are removed.

    Raises:
        ConnectorError: `BAD_OPTION` without, or with both, `env` and `file`. The start of a run raises `SECRET_MISSING` if the variable or
            file does not exist, and `SECRET_UNFIT` for characters that cannot be sent.

    Examples:
        >>> import headrace as hr
        >>> hr.secret("DB_PASSWORD"), hr.secret(file="/run/secrets/db")
        (hr.secret('DB_PASSWORD'), hr.secret(file='/run/secrets/db'))
    """
    if (env is None) == (file is None) or not (env or file):
        raise wrong("secret: it needs the name of a variable, or a file", 'hr.secret("DB_PASSWORD") or hr.secret(file="/run/secrets/db")')
    return Secret(env=env) if env else Secret(file=os.fspath(file or ""))


def secret_of(verb: str, option: str, argument: Any, takes: str = LINE) -> Secret | None:
    """The secret that a user gave as an option, or that a plan stored; None for None. Its current value, if any, has to be valid."""
    if argument is None:
        return None
    if isinstance(argument, Secret) or _is_stored(argument):
        secret = replace(argument if isinstance(argument, Secret) else Secret(**argument), takes=takes)
        secret.check()
        return secret
    named = f'{option}=hr.secret("DB_PASSWORD"), in YAML {option}: {{env: DB_PASSWORD}}'
    hint = f"plans are stored and shown, so pass a secret by its name: {named}"
    raise wrong(f"{verb}: {option} must be a secret, given by its name", hint)


def with_secrets(argument: Any) -> Any:
    """A dict in which secrets may also be spelled as in SQL scripts, where a dot separates nested names.

    >>> with_secrets({"user": "me", "password.env": "DB_PASSWORD"})
    {'user': 'me', 'password': {'env': 'DB_PASSWORD'}}
    """
    if not isinstance(argument, Mapping):
        return argument
    nested = dict(argument)
    for name in argument:
        before, _, kind = str(name).rpartition(".")
        if before and kind in ("env", "file"):
            nested[before] = {kind: nested.pop(name)}
    return nested


def _is_stored(argument: Any) -> bool:
    one_of_two = isinstance(argument, Mapping) and len(argument) == 1 and set(argument) <= {"env", "file"}
    return one_of_two and all(isinstance(one, str) and one for one in argument.values())


def _missing(message: str, hint: str) -> ConnectorError:
    return ConnectorError("SECRET_MISSING", message, hint=hint, site=here())
