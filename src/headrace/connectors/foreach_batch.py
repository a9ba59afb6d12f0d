"""A Python function that is called with the rows of each epoch."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import headrace.ports as ports
from headrace.codes import Code, register
from headrace.errors import ConnectorError, RunError
from headrace.masking import masked_problem
from headrace.ports import paths
from headrace.ports.options import wrong
from headrace.schema import Struct

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PORTS = 1

register(
    {
        "FUNCTION_FAILED": Code("RunError", "user", "a `foreach_batch` function that raised an exception"),
        "FUNCTION_GONE": Code("ConnectorError", "user", "a `foreach_batch` function that cannot be imported"),
    }
)

Function = Callable[["DataFrame", int], object]


class Sink(ports.Sink):
    """Calls a Python function with the rows of each non-empty epoch, as a Spark DataFrame.

    The sink is at least once: after a crash an epoch may come again, with the same number and the same rows. After a restore of the
    checkpoint from a backup, the same epoch number may come with other rows; this is not detected. An exception ends the run
    (`FUNCTION_FAILED`), and the next start calls the function with that epoch again.

    Args:
        function: Called on the driver as `function(frame, epoch)`: the rows as a DataFrame and the number of the epoch.

    Examples:
        >>> import headrace as hr
        >>> def send(frame, epoch):
        ...     frame.write.mode("overwrite").parquet(f"out/epoch={epoch}")
        >>> charges = hr.read.memory([("a", 1)], "card string, amount int", name="charges")
        >>> hr.job("copy", charges.write.foreach_batch(send))
        <Job copy: charges.foreach_batch>
    """

    connector: ClassVar[str] = "foreach_batch"
    on_refused: str | None = None

    def __init__(self, function: Function) -> None:
        if not callable(function):
            raise wrong(
                f"write.foreach_batch: {function!r} cannot be called", "pass a function that takes a DataFrame and the number of the epoch"
            )
        self.function: Function | None = function
        module = getattr(function, "__module__", None) or "__main__"
        self.place = f"{module}:{getattr(function, '__qualname__', type(function).__name__)}"
        self._context: ports.SinkContext | None = None

    @property
    def traits(self) -> ports.SinkTraits:
        return ports.SinkTraits(
            "plain",
            "the function is called again for an epoch that was interrupted",
            cleans="the rows of an epoch are stored next to the checkpoint until the function returns; a start deletes older ones",
        )

    def options(self) -> dict[str, Any]:
        return {"function": self.place}

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Sink:
        sink = cls.__new__(cls)
        sink.function = None
        sink.place = options["function"]
        sink._context = None
        return sink

    def written_as(self, mode: str, schema: Struct) -> dict[str, Any]:
        # The function decides that.
        return {}

    def describe(self) -> str:
        return f"foreach_batch {self.place.partition(':')[2].rpartition('.')[2]}"

    def may_open(self, context: ports.SinkContext) -> None:
        if self.function is None:
            _imported(self.place)

    def open(self, context: ports.SinkContext) -> None:
        self._context = context
        if self.function is None:
            self.function = _imported(self.place)
        self._folder(context).mkdir(parents=True, exist_ok=True)

    def stage(self) -> dict[str, Any]:
        context = self._opened()
        folder = paths.literal(self._folder(context))
        return {"kind": "files", "format": "parquet", "options": {}, "partition_by": [], "folder": folder}

    def recover(self) -> None:
        # Staged rows of an epoch that was not committed are written again; those of a committed one are done with.
        # A folder with a larger term belongs to a process that has taken over.
        context = self._opened()
        for other in self._folder(context).parent.iterdir():
            if not other.name.isdigit() or int(other.name) < context.term:
                _remove(other)

    def unswappable(self) -> str:
        return "only the function of foreach_batch knows where its rows are"

    def commit(self, epoch: int, staged: ports.Staged) -> None:
        context = self._opened()
        folder = self._folder(context)
        if staged.count:
            # Spark's listing hides names that begin with _, but not files that are named one by one.
            files = [paths.escaped(folder / file["path"]) for file in staged.files]
            frame = context.session.read.schema(context.schema.ddl).parquet(*files)
            try:
                if self.function is not None:
                    self.function(frame, epoch)
            except Exception as cause:
                function = self.place.partition(":")[2]
                raise RunError(
                    "FUNCTION_FAILED",
                    f"{function} failed in epoch {epoch} of the sink `{context.name}`: {type(cause).__name__}: {cause}",
                    hint="correct the function and start again: the epoch is not committed, and the function is called again with the same "
                    "rows",
                    cause=cause,
                ) from masked_problem(cause)
        _remove(folder / "_headrace" / "staging")

    def close(self) -> None:
        if self._context is not None:
            _remove(self._folder(self._context))

    def _opened(self) -> ports.SinkContext:
        if self._context is None:
            raise RuntimeError("the sink is not open")
        return self._context

    @staticmethod
    def _folder(context: ports.SinkContext) -> Path:
        # One folder per start: a replaced process that wakes up late then removes nothing of its successor's.
        return context.checkpoint / "foreach_batch" / context.name / str(context.term)


def _imported(place: str) -> Function:
    """A function, by the module and name that a plan stored."""
    module, _, name = place.partition(":")
    try:
        resolved: Any = importlib.import_module(module)
        for part in name.split("."):
            resolved = getattr(resolved, part)
    except (ImportError, AttributeError) as cause:
        raise ConnectorError(
            "FUNCTION_GONE",
            f"the foreach_batch function {name} cannot be imported from {module}",
            hint="run the Python file that defines it, or move it to a module that can be imported",
            cause=cause,
        ) from masked_problem(cause)
    return resolved  # type: ignore[no-any-return]  # its type is known only at run time


def _remove(folder: Path) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)
