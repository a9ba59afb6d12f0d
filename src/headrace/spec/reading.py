"""A YAML file, read with the place of everything in it. The only importer of the YAML library."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from headrace.errors import PlanError, Site
from headrace.spec.value import Items, Scalar, Table, Value
from headrace.spec.variables import SIGN, replaced

# What the base loader calls scalars, lists and mappings without a tag of their own.
_PLAIN = {f"tag:yaml.org,2002:{kind}" for kind in ("str", "seq", "map")}


def read(file: Path, environment: Mapping[str, str]) -> Value:
    """What a file holds, the variables in its texts replaced after they were read: a value never changes the form of the file."""
    import yaml

    path = str(file.absolute())
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as problem:
        why = problem.reason if isinstance(problem, UnicodeDecodeError) else problem.strerror
        raise PlanError("YAML_SYNTAX", f"{file} cannot be read: {why}", hint="save it as UTF-8 text", site=Site(path, 1)) from None
    reader = _Reader(path, text, environment)
    try:
        # The base loader takes every scalar for a text, where others know words and numbers of YAML 1.1.
        root = yaml.compose(text, Loader=yaml.BaseLoader)
    except yaml.MarkedYAMLError as problem:
        what = ", ".join(part for part in (problem.context, problem.problem) if part)
        mark = problem.problem_mark or problem.context_mark
        raise _syntax(what, reader.place(mark), _TABS if reader.tab(mark) else _QUOTES) from None
    except yaml.YAMLError as problem:
        raise _syntax(str(problem).partition("\n")[0], Site(path, 1), _QUOTES) from None
    if root is None:
        raise PlanError("YAML_SYNTAX", f"{file} is empty", hint="a job begins with its name: `job: fraud`", site=Site(path, 1))
    return reader.value(root)


class _Reader:
    """The nodes of one file as values."""

    def __init__(self, path: str, text: str, environment: Mapping[str, str]) -> None:
        self.path = path
        self.text = text
        self.lines = text.splitlines()
        self.environment = environment
        self.known: dict[int, Value] = {}
        self.open: set[int] = set()

    def place(self, mark: Any) -> Site:
        return self.at(mark.line, mark.column)

    def at(self, line: int, column: int) -> Site:
        """A place by its line and column, counted from 0."""
        return Site(self.path, line + 1, self.lines[line].strip() if line < len(self.lines) else "", column + 1)

    def tab(self, mark: Any) -> bool:
        """Whether a tab stands at a place, or indents its line."""
        line = self.lines[mark.line] if mark.line < len(self.lines) else ""
        return line[mark.column : mark.column + 1] == "\t" or "\t" in line[: len(line) - len(line.lstrip())]

    def value(self, node: Any) -> Value:
        """The value of a node; one that an alias names again is the same value."""
        if id(node) in self.open:
            raise _syntax("a value contains itself", self.place(node.start_mark))
        if id(node) not in self.known:
            self.open.add(id(node))
            self.known[id(node)] = self._made(node)
            self.open.remove(id(node))
        return self.known[id(node)]

    def _made(self, node: Any) -> Value:
        site = self.place(node.start_mark)
        if node.tag not in _PLAIN:
            raise _syntax(f"the tag {node.tag} is not supported", site)
        if node.id == "scalar":
            text = replaced(node.value, self.environment, self._complain(node))
            return Scalar(text, node.style is not None, site, self._inside(node))
        if node.id == "sequence":
            return Items(tuple(self.value(item) for item in node.value), site)
        values: dict[str, Value] = {}
        keys: dict[str, Site] = {}
        for key, item in node.value:
            where = self.place(key.start_mark)
            if key.id != "scalar":
                raise _syntax("a key must be text", where)
            if key.value in keys:
                raise _syntax(f"`{key.value}` appears twice, first in line {keys[key.value].line}", where)
            values[key.value], keys[key.value] = self.value(item), where
        return Table(values, keys, site)

    def _complain(self, node: Any) -> Callable[[str, str, str], Exception]:
        """Errors of variables, each at its sign in the file."""

        def error(sign: str, message: str, hint: str) -> Exception:
            start = node.start_mark.index
            found = next((one.start() for one in SIGN.finditer(self.text[start : node.end_mark.index]) if one[0] == sign), 0) + start
            line = self.text.count("\n", 0, found)
            site = self.at(line, found - (self.text.rfind("\n", 0, found) + 1))
            return PlanError("YAML_VARIABLE", message, hint=hint, site=site)

        return error

    def _inside(self, node: Any) -> Callable[[int, int], Site]:
        """Where a line and column of a text, counted from 1, stand in the file; its beginning where that cannot be told."""
        start = node.start_mark

        def place(line: int, column: int) -> Site:
            written = node.value.split("\n")
            if not SIGN.search(node.value) and 0 < line <= len(written):
                # Of a block (|) the lines stand below its sign; else a text of one line stands where it begins.
                at = start.line + (line if node.style == "|" else line - 1)
                said = self.lines[at] if at < len(self.lines) else ""
                begin = said.find(written[line - 1], 0 if node.style == "|" else start.column)
                if begin >= 0 and (node.style == "|" or len(written) == 1):
                    return self.at(at, begin + column - 1)
            return self.place(start)

        return place


_QUOTES = "text that contains `: `, ` #` or, inside {...}, `${` needs quotes, or `|` and lines of its own"


_TABS = "YAML allows no tabs before keys, values and list markers: replace the tab with spaces"


def _syntax(what: str, site: Site, hint: str = "`headrace docs yaml` describes the format of a job") -> PlanError:
    return PlanError("YAML_SYNTAX", f"this cannot be read: {what}", hint=hint, site=site)
