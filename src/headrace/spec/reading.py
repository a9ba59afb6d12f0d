"""Reads a YAML file with the place of each value. The only importer of the YAML library."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from headrace.errors import PlanError, Site
from headrace.spec.value import Items, Scalar, Table, Value
from headrace.spec.variables import SIGN, replaced

# The tags that the base loader gives to scalars, lists and mappings without tags of their own.
_PLAIN = {f"tag:yaml.org,2002:{kind}" for kind in ("str", "seq", "map")}


def read(file: Path, environment: Mapping[str, str]) -> Value:
    """Return the contents of a file. Variables are replaced after parsing, so a variable's value cannot change the file's structure."""
    import yaml

    path = str(file.absolute())
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as problem:
        why = problem.reason if isinstance(problem, UnicodeDecodeError) else problem.strerror
        raise PlanError("YAML_SYNTAX", f"{file} cannot be read: {why}", hint="save it as UTF-8 text", site=Site(path, 1)) from None
    reader = _Reader(path, text, environment)
    try:
        # The base loader reads every scalar as text; others read words and numbers by the rules of YAML 1.1.
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
    """Converts the nodes of one file to values."""

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
        """Return the place of a line and column, counted from 0."""
        return Site(self.path, line + 1, self.lines[line].strip() if line < len(self.lines) else "", column + 1)

    def tab(self, mark: Any) -> bool:
        """Return whether there is a tab at a place or in the indentation of its line."""
        line = self.lines[mark.line] if mark.line < len(self.lines) else ""
        return line[mark.column : mark.column + 1] == "\t" or "\t" in line[: len(line) - len(line.lstrip())]

    def value(self, node: Any) -> Value:
        """Return the value of a node; all aliases of a node share its value."""
        if id(node) in self.open:
            raise _syntax("a value contains itself", self.place(node.start_mark))
        if id(node) not in self.known:
            self.open.add(id(node))
            self.known[id(node)] = self._value(node)
            self.open.remove(id(node))
        return self.known[id(node)]

    def _value(self, node: Any) -> Value:
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
        """Return a function that makes errors of variables, each at its place in the file."""

        def error(sign: str, message: str, hint: str) -> Exception:
            start = node.start_mark.index
            place = next((one.start() for one in SIGN.finditer(self.text[start : node.end_mark.index]) if one[0] == sign), 0) + start
            line = self.text.count("\n", 0, place)
            site = self.at(line, place - (self.text.rfind("\n", 0, place) + 1))
            return PlanError("YAML_VARIABLE", message, hint=hint, site=site)

        return error

    def _inside(self, node: Any) -> Callable[[int, int], Site]:
        """Return a function from a line and column of a text, counted from 1, to the place in the file, by default the text's start."""
        start = node.start_mark

        def place(line: int, column: int) -> Site:
            written = node.value.split("\n")
            if not SIGN.search(node.value) and 0 < line <= len(written):
                # The lines of a block (|) begin in the line after the sign. Other texts are located only if they are one line.
                at = start.line + (line if node.style == "|" else line - 1)
                source_line = self.lines[at] if at < len(self.lines) else ""
                begin = source_line.find(written[line - 1], 0 if node.style == "|" else start.column)
                if begin >= 0 and (node.style == "|" or len(written) == 1):
                    return self.at(at, begin + column - 1)
            return self.place(start)

        return place


_QUOTES = "text that contains `: `, ` #` or, inside {...}, `${` needs quotes, or `|` and lines of its own"


_TABS = "YAML allows no tabs before keys, values and list markers: replace the tab with spaces"


def _syntax(what: str, site: Site, hint: str = "`headrace docs yaml` describes the format of a job") -> PlanError:
    return PlanError("YAML_SYNTAX", f"this cannot be read: {what}", hint=hint, site=site)
