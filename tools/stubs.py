"""Writes the stubs in which editors and type checkers find what `hr.read`, `hr.lookup` and `.write` take for headrace's own connectors.

python tools/stubs.py           writes read.pyi, tables.pyi and write.pyi in src/headrace/ops
"""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests import installed  # noqa: E402, F401  # the connectors of this tree, whatever was installed before they were made

from headrace.ops.signatures import parameters  # noqa: E402
from headrace.ports.registry import connectors  # noqa: E402

FOLDER = ROOT / "src" / "headrace" / "ops"
_MODULES = re.compile(r"\b(?:collections\.abc|typing|datetime|headrace[\w.]*)\.")
NOTE = "# Written by tools/stubs.py from the connectors that come with headrace; a test compares."


def built_in() -> list[tuple[str, ModuleType]]:
    return [(name, entry.load()) for name, entry in connectors().items() if entry.value.startswith("headrace.connectors.")]


def methods(kind: str, returns: str) -> str:
    """Return a method for each connector that has a class of this kind."""
    parts = []
    for name, module in built_in():
        cls = getattr(module, kind, None)
        if cls is None:
            continue
        listed = parameters(cls, kind)
        shown = ["self", *(spelled(one) for one in listed if one.kind is not one.KEYWORD_ONLY), "*"]
        shown += [spelled(one) for one in listed if one.kind is one.KEYWORD_ONLY]
        first = inspect.cleandoc(cls.__doc__ or name).split("\n\n")[0]
        text = f"def {name}(\n" + "".join(f"    {part},\n" for part in shown) + f") -> {returns}:\n"
        parts.append(text + textwrap.indent(f'"""{first}"""\n', "    "))
    return textwrap.indent("\n".join(parts), "    ")


def spelled(parameter: inspect.Parameter) -> str:
    default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
    return f"{parameter.name}: {annotation(parameter.annotation)}{default}"


def annotation(kind: Any) -> str:
    """Return the name of a type in a stub: as in the connector's source, or without its modules if an option was declared."""
    return kind if isinstance(kind, str) else re.sub(_MODULES, "", inspect.formatannotation(kind))


def formatted(text: str) -> str:
    """Format a text with ruff, so that the format check of the tree passes."""
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(FOLDER / "stub.pyi"), "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=ROOT).stdout


def read() -> str:
    return f'''{NOTE}
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from headrace.ops.stream import Stream
from headrace.ports import Secret

class Read:
    """The sources, by connector: `hr.read.<connector>(…)` returns a stream. `dir(hr.read)` lists the connectors."""

{methods("Source", "Stream")}
    def hybrid(self, history: Stream, *, then: Stream, at: str | datetime | None = None) -> Stream:
        """Reads history to its end, and then live rows, as one source with one watermark. A restart goes on where the job was."""

    # A connector of another package.
    def __getattr__(self, connector: str) -> Callable[..., Stream]: ...

read: Read
'''


def write() -> str:
    return f'''{NOTE}
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from pyspark.sql import DataFrame

from headrace.plan import Node
from headrace.ports import Secret

class Sink:
    """The end of a stream, to pass to `hr.job(name, *sinks)`. A sink that no job takes warns."""

    _node: Node
    _connected: Any
    def __init__(self, node: Node, connected: Any) -> None: ...
    def _use(self) -> Node: ...
    # Methods of a connector's own: the rows of a memory sink.
    def __getattr__(self, name: str) -> Any: ...

class Write:
    """The sinks, by connector: `stream.write.<connector>(…)` returns a sink. `dir(stream.write)` lists the connectors."""

    def __init__(self, node: Node) -> None: ...
{methods("Sink", "Sink")}
    # A connector of another package.
    def __getattr__(self, connector: str) -> Callable[..., Sink]: ...
'''.replace("Function", "Callable[[DataFrame, int], object]")


def tables() -> str:
    return f'''{NOTE}
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from headrace.ops.asking import Asking
from headrace.ports import Lookup
from headrace.ports.secrets import Secret

class Table:
    """An external table, to look rows up in: `stream.lookup(table, on="customer")`."""

    connected: Lookup
    name: str
    constant: bool
    asking: Asking
    def __init__(
        self,
        connected: Lookup,
        name: str,
        constant: bool = ...,
        asking: Asking = ...,
    ) -> None: ...
    @property
    def columns(self) -> tuple[str, ...]: ...

class Tables:
    """The external tables, by connector: `hr.lookup.<connector>(…)` returns a table. `dir(hr.lookup)` lists the connectors."""

{methods("Lookup", "Table")}
    # A connector of another package.
    def __getattr__(self, connector: str) -> Callable[..., Table]: ...

lookup: Tables

def table_of(given: Any) -> Table: ...
'''


STUBS = {"read.pyi": read, "write.pyi": write, "tables.pyi": tables}

if __name__ == "__main__":
    for name, stub in STUBS.items():
        (FOLDER / name).write_text(formatted(stub()), encoding="utf-8")
