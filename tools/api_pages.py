"""Writes docs/reference/api/ from the docstrings of all public names: `make generated`.

A docstring has sections as Google's style has them (Args, Returns, Raises, Examples); griffe reads them.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import griffe

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests import installed  # noqa: E402, F401  # the connectors of this tree, whatever was installed before they were made

import headrace as hr  # noqa: E402
from headrace import testing  # noqa: E402
from headrace.ops import signatures  # noqa: E402
from tools.option_tables import pages, table  # noqa: E402
from tools.stubs import annotation, built_in  # noqa: E402

FOLDER = ROOT / "docs" / "reference" / "api"
NOTE = "<!-- Written by tools/api_pages.py from docstrings. -->\n\n"

# Page -> its title, a line about it, and the names on it in order.
PAGES = {
    "streams": (
        "Streams",
        "`hr.read`, `hr.sql` and `hr.from_dataframe` return streams; their methods build the plan of a job"
        " ([guide](../../guides/queries.md)).",
        "Stream Grouped Keyed",
    ),
    "windows": (
        "Time windows",
        "The windows that `Stream.window` takes ([guide](../../guides/windows.md)).",
        "tumble hop cumulate sessions",
    ),
    "queries": ("Queries", "Spark SQL and PySpark DataFrames over streams ([guide](../../guides/queries.md)).", "sql from_dataframe"),
    "expressions": ("Expressions", "Columns and the functions of Spark SQL.", "Column col lit expr case struct f"),
    "sources": ("Sources", "`hr.read.<connector>(…)` returns a stream ([connectors](../../connectors/index.md)).", "read"),
    "sinks": (
        "Sinks",
        "`stream.write.<connector>(…)` returns a sink for `hr.job` ([connectors](../../connectors/index.md)).",
        "Sink write",
    ),
    "lookups": (
        "Lookups",
        "`hr.lookup.<connector>(…)` returns an external table for `Stream.lookup` ([guide](../../guides/lookups.md)).",
        "lookup",
    ),
    "programs": (
        "State programs",
        "The parts of a program: cells, timers, and the statements of its handlers ([guide](../../guides/programs.md))."
        " [Cells](../cells.md) has stored types, expiry and the cost of each method.",
        "Program Value List Map Aggregate Broadcast Timer Output Local Row"
        " broadcast emit reject let when elsewhen otherwise each now watermark",
    ),
    "jobs": (
        "Jobs",
        "Build jobs from sinks, run them, and read their summaries ([guide](../../guides/running.md)).",
        "job Job load Run Summary Plan diff Diff compare RowsDiff SinkRows RowChange Deployment Verdict fork Fork Savepoint"
        " Portable export_savepoint import_savepoint Rewinding session secret",
    ),
    "results": (
        "Results and state",
        "Results of bounded input, committed files, the [state](../../guides/state.md) of a job and its"
        " [dead letters](../../guides/contracts.md#show-dead-letters).",
        "collect show Table committed_files committed_paths state State why Why WhyStep WhyRows WhyRow"
        " replay Replay ReplayCall ReplayStep letters Letters",
    ),
    "durations": (
        "Durations",
        'Each function returns a `datetime.timedelta`. Every duration may also be a string such as `"1 hour 30 minutes"`, in milliseconds,'
        " seconds, minutes, hours, days and weeks ([BAD_DURATION](../../errors/BAD_DURATION.md)).",
        "seconds minutes hours days",
    ),
    "errors": (
        "Errors",
        "Every error has a stable code with [a page](../../errors/index.md), which has the cause and the fix.",
        "HeadraceError PlanError SchemaError ProgramError ConfigError CheckpointError ConnectorError RunError",
    ),
    "testing": (
        "Tests",
        "`headrace.testing` runs streams epoch by epoch in a test ([guide](../../guides/harness.md)).",
        "Harness Collected",
    ),
}
# What one stage of headrace calls on the objects of another.
_INTERNAL = {"traced", "watch", "Run.look", "Plan.of", "Plan.changed", "Plan.learnt", "Plan.renamed", "Plan.rewritten"}
_CONNECTORS = {"read": "Source", "write": "Sink", "lookup": "Lookup"}
# The entry that describes the parameters of all connectors.
_COMMON = {"read": "read", "write": "Sink", "lookup": "lookup"}
_MODULES = re.compile(r"\b(?:collections\.abc|typing|datetime|headrace[\w.]*|pyspark[\w.]*)\.")
# Types that have no entry of their own, as they are spelled in tables.
_UNIONS = {"Show": "bool | Callable[[Progress], object] | None", "Windowing": "Window | SessionWindow"}
_CODE = re.compile(r"(?<!\[)`([A-Z][A-Z0-9_]+)`")


@dataclass(frozen=True)
class Entry:
    """A public name and the parts of its entry; `examples` is empty if its docstring has none."""

    name: str
    signature: str
    docstring: str
    parameters: tuple[inspect.Parameter, ...] = ()
    options: str = ""
    depth: int = 2

    @property
    def sections(self) -> list[Any]:
        return griffe.Docstring(self.docstring, parser_options={"warnings": False}).parse("google")

    @property
    def examples(self) -> str:
        return "\n\n".join(_example(one) for one in self.sections if one.kind is griffe.DocstringSectionKind.examples)

    @property
    def undescribed(self) -> list[str]:
        """The parameters that the docstring does not describe."""
        parts = [part.value for part in self.sections if part.kind is griffe.DocstringSectionKind.parameters]
        described = {one.name.lstrip("*") for part in parts for one in part}
        return [one.name for one in self.parameters if one.name not in described]

    def page(self) -> str:
        parts = [f"{'#' * self.depth} {self.name} {{ #{anchor(self.name)} }}"]
        if self.signature:
            parts.append(f"```py\n{self.signature}\n```")
        for section in self.sections:
            examples = section.kind is griffe.DocstringSectionKind.examples
            parts.append(_section(section, self) if examples else _with_pages(_section(section, self)))
        if self.options:
            parts.append(_with_pages(self.options))
        return "\n\n".join(part for part in parts if part)

    @property
    def meaning(self) -> str:
        """The first sentence of its docstring."""
        first = _line(self.docstring.partition("\n\n")[0])
        return re.split(r"(?<=[^.][.:]) (?=[A-Z`])", first)[0].removesuffix(":").removesuffix(".") + "."


def anchor(name: str) -> str:
    """The anchor of a name. Case counts: `hr.job` and `hr.Job` are on one page."""
    return name.replace("hr.", "")


def entries(name: str) -> Iterator[Entry]:
    """A public name with its public attributes, as they stand on its page."""
    if name in _CONNECTORS:
        yield from _connectors(name)
        return
    where = "" if name in testing.__all__ else "hr."
    value = getattr(testing if name in testing.__all__ else hr, name)
    if not inspect.isclass(value):
        yield _entry(f"{where}{name}", value)
        return
    yield Entry(f"{where}{name}", _signature(name, value.__init__) if _constructed(value) else "", _doc(value), _taken(value))
    for attribute in sorted(dir(value)):
        member, home = inspect.getattr_static(value, attribute), _home(value, attribute)
        # A public base class is described on its own: an error has all of HeadraceError, a broadcast all of a map.
        public = (base for base in value.__mro__[1:] if base.__name__ in hr.__all__)
        inherited = home is not value and any(hasattr(base, attribute) for base in public)
        if attribute.startswith("_") or {attribute, f"{name}.{attribute}"} & _INTERNAL or inherited or home is None or not _ours(member):
            continue
        yield _entry(f"{name}.{attribute}", member, depth=3)


def _home(value: type[Any], attribute: str) -> type[Any] | None:
    """The class of headrace that defines an attribute; None if a class of Python does."""
    return next((base for base in value.__mro__ if attribute in vars(base) and base.__module__.startswith("headrace")), None)


def _ours(member: Any) -> bool:
    return isinstance(member, property | classmethod | staticmethod) or inspect.isfunction(member) or hasattr(member, "attrname")


def _constructed(value: type[Any]) -> bool:
    """Whether users call the class: cells, timers, the harness."""
    return "Args" in (value.__doc__ or "")


def _taken(value: type[Any]) -> tuple[inspect.Parameter, ...]:
    return tuple(inspect.signature(value.__init__).parameters.values())[1:] if _constructed(value) else ()


def _entry(name: str, value: Any, depth: int = 2) -> Entry:
    function = getattr(value, "__func__", value)
    if not inspect.isfunction(function):
        shown = value.func if isinstance(value, cached_property) else value if isinstance(value, property) else type(value)
        return Entry(name, "", _doc(shown), depth=depth)
    own = [one for one in inspect.signature(function).parameters.values() if one.name not in ("self", "cls")]
    return Entry(name, _signature(name, function, isinstance(value, classmethod)), _doc(function), tuple(own), depth=depth)


def _connectors(verb: str) -> Iterator[Entry]:
    kind = _CONNECTORS[verb]
    if verb != "write":
        yield Entry(f"hr.{verb}", "", _doc(type(getattr(hr, verb))))
    where = "Stream.write" if verb == "write" else f"hr.{verb}"
    for name, module in built_in():
        cls = getattr(module, kind, None)
        if cls is not None:
            taken = signatures.parameters(cls, kind)
            call = _spelled(f"{where.lower()}.{name}", taken, "")
            common, page = signatures.names(cls, kind), _page_of(verb, name)
            more = _more(verb, [one.name for one in taken if one.name in common], page)
            if getattr(cls, "declared", None):
                options = _linked_from_here(table(verb, name), page or FOLDER / "index.md")
                yield Entry(f"{where}.{name}", call, _doc(cls), options=f"{options}\n{more}", depth=3)
            else:
                own = [one for one in taken if one.name not in common]
                yield Entry(f"{where}.{name}", call, _doc(cls), tuple(own), options=more, depth=3)
    if verb == "read":
        yield _entry("hr.read.hybrid", type(hr.read).hybrid, depth=3)


def _more(verb: str, common: list[str], page: Path | None) -> str:
    """The line below a connector's own parameters: where the others, and the connector itself, are described."""
    *first, last = [f"`{name}`" for name in common]
    listed = f"{', '.join(first)} and {last} are" if first else f"{last} is"
    line = f"{listed} described [above](#{_COMMON[verb]})."
    if page is None:
        return line
    title = page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
    return f"{line} See also [{title}]({Path(os.path.relpath(page, FOLDER)).as_posix()})."


def _page_of(verb: str, connector: str) -> Path | None:
    """The page of a connector: the one that has the table of its options."""
    mark = f"<!-- options of {verb}.{connector} -->"
    return next((page for page in pages() if mark in page.read_text(encoding="utf-8")), None)


def _with_pages(text: str) -> str:
    """A text in which the code of each error is a link to its page."""

    def link(code: re.Match[str]) -> str:
        page = ROOT / "docs" / "errors" / f"{code[1]}.md"
        return f"[{code[0]}](../../errors/{page.name})" if page.exists() else code[0]

    return _CODE.sub(link, text)


def _linked_from_here(options: str, home: Path) -> str:
    """A table of options whose links are relative to the connector's page, with links relative to the reference."""

    def link(target: re.Match[str]) -> str:
        page, _, place = target[1].partition("#")
        path = Path(os.path.relpath(home.parent / page if page else home, FOLDER)).as_posix()
        return f"]({path}#{place})" if place else f"]({path})"

    return re.sub(r"\]\((?!https?:)([^)]+)\)", link, options)


def _doc(value: Any) -> str:
    return inspect.cleandoc(value.__doc__ or "")


def _signature(name: str, function: Any, of_class: bool = False) -> str:
    taken = [one for one in inspect.signature(function).parameters.values() if one.name not in ("self", "cls")]
    returns = inspect.signature(function).return_annotation
    result = "" if returns in (inspect.Signature.empty, None, "None") or function.__name__ == "__init__" else f" -> {_type(returns)}"
    result = result.replace("Self", name.rpartition(".")[0])
    return _spelled(_called(name, of_class), taken, result)


def _called(name: str, of_class: bool) -> str:
    """How a call is written: `hr.tumble`, `stream.top`, `hr.Plan.from_json`, `error.to_json`."""
    owner, _, method = name.rpartition(".")
    if owner in ("", "hr") or not owner[0].isupper():
        return name
    return f"hr.{name}" if of_class else f"{'error' if owner.endswith('Error') else owner.lower()}.{method}"


def _shown(parameter: inspect.Parameter) -> str:
    """A parameter as a caller knows it: one whose name ends with an underscore to be free for others is given by its place."""
    star = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**" if parameter.kind is parameter.VAR_KEYWORD else ""
    return star + (parameter.name.rstrip("_") if _by_place(parameter) else parameter.name)


def _by_place(parameter: inspect.Parameter) -> bool:
    return parameter.kind is parameter.POSITIONAL_OR_KEYWORD and parameter.name.endswith("_") and not _optional(parameter)


def _optional(parameter: inspect.Parameter) -> bool:
    return parameter.default is not parameter.empty and repr(parameter.default) != "<required>"


def _spelled(name: str, taken: Any, returns: str) -> str:
    """A call in one line, or with a parameter a line where that is too long."""
    parts: list[str] = []
    for one in taken:
        if one.kind is one.KEYWORD_ONLY and "*" not in parts and not any(part.startswith("*") and part != "**" for part in parts):
            parts.append("*")
        parts.append(_shown(one) + (f"={one.default!r}" if _optional(one) else ""))
        if _by_place(one):
            parts.append("/")
    short = f"{name}({', '.join(parts)}){returns}"
    return short if len(short) <= 100 else f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){returns}"


def _type(value: Any) -> str:
    return re.sub(_MODULES, "", value if isinstance(value, str) else annotation(value))


def _section(section: Any, entry: Entry) -> str:
    kinds = griffe.DocstringSectionKind
    if section.kind is kinds.text:
        return str(section.value)
    if section.kind is kinds.parameters:
        rows = "".join(_row(one, entry) for one in section.value)
        return f"| parameter | type | default | |\n|---|---|---|---|\n{rows}".rstrip()
    if section.kind is kinds.returns:
        return "**Returns** " + " ".join(_line(one.description) for one in section.value)
    if section.kind is kinds.raises:
        return "**Raises**\n\n" + "\n".join(f"* `{one.annotation}`: {_line(one.description)}" for one in section.value)
    if section.kind is kinds.examples:
        return _example(section)
    raise SystemExit(f"{entry.name}: no place on the page for {section.kind}")


def _row(one: Any, entry: Entry) -> str:
    own = {parameter.name: parameter for parameter in entry.parameters}
    parameter = own.get(one.name.lstrip("*"))
    if parameter is None:
        raise SystemExit(f"{entry.name} has no parameter {one.name}")
    shown = f"`{parameter.default!r}`" if _optional(parameter) else ""
    kind = "" if parameter.annotation is parameter.empty else _type(parameter.annotation)
    kind = _UNIONS.get(kind, kind).replace("|", "\\|").replace("Self", "Stream")
    # A parameter takes the external table of a lookup, never the rows of a result (`hr.Table`).
    kind = re.sub(r"\bTable\b", "lookup.Table", f"`{kind}`" if kind else "")
    return f"| `{_shown(parameter)}` | {kind} | {shown} | {_line(one.description)} |\n"


def _line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _example(section: Any) -> str:
    parts = [f"```pycon\n{text}\n```" if kind is griffe.DocstringSectionKind.examples else text for kind, text in section.value]
    return "\n\n".join(parts)


def page(name: str) -> str:
    title, line, names = PAGES[name]
    return f"# {title}\n\n{NOTE}{line}\n\n" + "\n\n".join(entry.page() for one in names.split() for entry in entries(one)) + "\n"


def index() -> str:
    rows = []
    for name, (title, line, names) in PAGES.items():
        shown = [entry for one in names.split() for entry in entries(one)]
        listed = [f"| [`{entry.name}`]({name}.md#{anchor(entry.name)}) | {entry.meaning} |" for entry in shown]
        rows.append(f"## [{title}]({name}.md)\n\n{line}\n\n| name | |\n|---|---|\n" + "\n".join(listed))
    intro = (
        "Every public name, by page. The [guides](../../guides/index.md) show how to use them. A type without an entry, such as `Branch`,"
        " is described where a call returns it."
    )
    head = f"# Python API\n\n{NOTE}`import headrace as hr`; tests use `headrace.testing`. {intro}\n\n"
    return head + "\n\n".join(rows) + "\n"


def texts() -> dict[Path, str]:
    return {FOLDER / "index.md": index(), **{FOLDER / f"{name}.md": page(name) for name in PAGES}}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for place, text in texts().items():
        place.write_text(text, encoding="utf-8")
