"""The classes of errors, and their text: code and message, place, hint, and the command that explains the code."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from headrace.codes import CODES as CODES
from headrace.codes import EXIT_CODES as EXIT_CODES
from headrace.codes import REASONS as REASONS
from headrace.codes import Code as Code
from headrace.codes import page_of
from headrace.codes import register as register
from headrace.masking import masked, masked_problem
from headrace.places import Site as Site
from headrace.places import here as here
from headrace.places import ours as ours
from headrace.places import shown_path as shown_path
from headrace.places import standing as standing


class HeadraceError(Exception):
    """The base of all errors. Its text has the message, the line of your code, a hint, and the command that explains the code.

    * `code`: a stable name such as `UNKNOWN_COLUMN`, with a page in the documentation.
    * `message`, `hint`: the texts.
    * `site`: the line of your code that the error is about, or None; it has `file`, `line`, `text` and `column`.
    * `also`: further errors found with it.

    The code determines the class: `HeadraceError("UNKNOWN_COLUMN", ...)` is a `PlanError`. A connector adds codes of its own with
    `headrace.errors.register`.

    Args:
        code: A registered code.
        message: What is wrong, with the object's name.
        hint: What to do.
        site: The line of the user's code, from `headrace.errors.here()`.
        cause: The exception that caused it.
        also: Further errors found with it.

    Examples:
        >>> import headrace as hr
        >>> print(hr.HeadraceError("UNKNOWN_COLUMN", "no column `amout` in charges", hint="did you mean `amount`?"))
        UNKNOWN_COLUMN: no column `amout` in charges
          hint: did you mean `amount`?
          more: headrace error UNKNOWN_COLUMN
    """

    total: ClassVar[int] = 0
    """The number of errors made in this process."""

    def __new__(cls, code: str, *args: Any, **keywords: Any) -> HeadraceError:
        if code not in CODES:
            raise TypeError(f"no error has the code {code}; a connector adds its own with headrace.errors.register")
        kind = KINDS[CODES[code].kind]
        if not issubclass(kind, cls):
            raise TypeError(f"{code} is a {kind.__name__}, not a {cls.__name__}")
        return super().__new__(kind)

    def __init__(
        self,
        code: str,
        message: str,
        *,
        hint: str | None = None,
        site: Site | None = None,
        cause: BaseException | None = None,
        also: Iterable[HeadraceError] = (),
    ) -> None:
        HeadraceError.total += 1
        self.code = code
        self.message = masked(message)
        self.hint = hint and masked(hint)
        self.site = site
        self.also = tuple(also)
        super().__init__(code, self.message)
        if cause is not None:
            self.__cause__ = masked_problem(cause)

    @property
    def fault(self) -> str:
        """The side at fault: `"user"`, `"input"`, `"environment"` or `"headrace"`.

        Examples:
            >>> import headrace as hr
            >>> hr.HeadraceError("MALFORMED_ROW", "field amount: cannot read 'x' as INT").fault
            'input'
        """
        return CODES[self.code].fault

    @property
    def page(self) -> str:
        """The path of the code's page in the documentation.

        Examples:
            >>> import headrace as hr
            >>> hr.HeadraceError("NO_SINKS", "the job fraud has no sinks").page
            'docs/errors/NO_SINKS.md'
        """
        return page_of(self.code)

    @property
    def exit_code(self) -> int:
        """The [exit code](../cli.md#exit-codes) of the command line: 1 for an error in the job or its options, 3 for invalid input data,
        4 for an error of the environment, 5 for a bug in headrace.

        Examples:
            >>> import headrace as hr
            >>> hr.HeadraceError("MALFORMED_ROW", "field amount: cannot read 'x' as INT").exit_code
            3
        """
        return EXIT_CODES[self.fault]

    def __str__(self) -> str:
        lines = [f"{self.code}: {self.message}"]
        if self.site is not None:
            lines.append(masked(f"  at {self.site}: {self.site.text}" if self.site.text else f"  at {self.site}"))
        if self.hint:
            first, *rest = self.hint.split("\n")
            lines.append(f"  hint: {first}")
            lines.extend(f"        {line}" for line in rest)
        lines.append(f"  more: headrace error {self.code}")
        lines.extend("\n" + str(other) for other in self.also)
        return "\n".join(lines)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.code, self.message, self.hint, self.site, self.also)

    def to_json(self) -> dict[str, Any]:
        """Returns the error as data that `json.dumps` takes.

        Examples:
            >>> import headrace as hr
            >>> hr.HeadraceError("NO_SINKS", "the job fraud has no sinks").to_json()["code"]
            'NO_SINKS'
        """
        return {
            "code": self.code,
            "fault": self.fault,
            "message": self.message,
            "hint": self.hint,
            "site": None if self.site is None else {"place": str(self.site), "text": masked(self.site.text)},
            "page": self.page,
            "also": [other.to_json() for other in self.also],
        }


def _rebuild(code: str, message: str, hint: str | None, site: Site | None, also: tuple[HeadraceError, ...]) -> HeadraceError:
    return HeadraceError(code, message, hint=hint, site=site, also=also)


class PlanError(HeadraceError):
    """Raised for a stream or job that cannot be built.

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([], "card string, amount int", name="charges")
        >>> try:
        ...     charges.select("amout")
        ... except hr.PlanError as error:
        ...     print(error.code, error.hint)
        UNKNOWN_COLUMN did you mean `amount`? It has: card, amount
    """


class SchemaError(HeadraceError):
    """Raised for an invalid type, schema, duration or value.

    Examples:
        >>> import headrace as hr
        >>> try:
        ...     hr.read.memory([], "card strin")
        ... except hr.SchemaError as error:
        ...     print(error.code)
        BAD_TYPE
    """


class ProgramError(HeadraceError):
    """Raised for a state program that cannot be traced, or whose timers loop.

    Examples:
        >>> import headrace as hr
        >>> try:
        ...     hr.emit(card="a")
        ... except hr.ProgramError as error:
        ...     print(error.code)
        OUTSIDE_HANDLER
    """


class ConfigError(HeadraceError):
    """Raised for a missing or invalid setting, file or installation.

    Examples:
        >>> import headrace as hr
        >>> try:
        ...     hr.load("job.py")
        ... except hr.ConfigError as error:
        ...     print(error.code)
        FILE_MISSING
    """


class CheckpointError(HeadraceError):
    """Raised if the checkpoint or existing output does not permit the operation.

    Examples:
        >>> import headrace as hr
        >>> try:
        ...     hr.state("nowhere")
        ... except hr.CheckpointError as error:
        ...     print(error.code)
        NOT_A_CHECKPOINT
    """


class ConnectorError(HeadraceError):
    """Raised for a source, sink or lookup that cannot be used, or for an invalid option of one.

    Examples:
        >>> import headrace as hr
        >>> try:
        ...     hr.read.files("in", fromat="json")
        ... except hr.ConnectorError as error:
        ...     print(error.message)
        read.files has no option `fromat`
    """


class RunError(HeadraceError):
    """Raised for a run that failed.

    Examples:
        >>> import headrace as hr
        >>> from pathlib import Path
        >>> _ = Path("in.json").write_text('{"amount": "x"}')
        >>> amounts = hr.read.files("in.json", format="json", schema="amount int", malformed="fail")
        >>> try:
        ...     hr.collect(amounts)
        ... except hr.RunError as error:
        ...     print(error.code)
        MALFORMED_ROW
    """


KINDS: dict[str, type[HeadraceError]] = {
    kind.__name__: kind for kind in (PlanError, SchemaError, ProgramError, ConfigError, CheckpointError, ConnectorError, RunError)
}
