"""A row for each item of an array or map."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Self

from headrace.errors import PlanError, here
from headrace.expr import Column, of_text
from headrace.ops.columns import bare, checked, known, once
from headrace.ops.facts.carried import Columns
from headrace.ops.facts.reading import Wanted, both, read
from headrace.ops.handle import Handle, verb
from headrace.ops.operator import Repeating
from headrace.plan import Generate, Node, Project, Step, node
from headrace.ports.options import flag
from headrace.syntax import plain_name, quote


@node("explode")
class Explode(Repeating):
    """A row for each item of an array (or key and value of a map), the other columns repeated.

    Without `as_` the item replaces the array. With `as_` it is a new column after the others; a map needs two names.
    With `outer` a row without items is kept, with a null as its item.

    >>> import headrace as hr
    >>> baskets = hr.read.memory([("a", ["tea", "jam"])], "card string, goods array<string>", name="baskets")
    >>> baskets.explode("goods")                               # (a, [tea, jam])   ->   (a, tea) (a, jam)
    <Stream baskets.explode: card, goods>
    >>> baskets.explode("goods", as_="good")                   # (a, [tea, jam])   ->   (a, [tea, jam], tea) (a, [tea, jam], jam)
    <Stream baskets.explode: card, goods, good>
    """

    text: str
    names: tuple[str, ...]
    replaces: str | None
    outer: bool

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return self.input.columns if self.replaces is not None else (*self.input.columns, *self.names)

    @property
    def fits(self) -> bool:
        return len(self.names) == 1 and self.replaces in self.columns if self.replaces is not None else len(self.names) in (1, 2)

    def describe(self) -> str:
        return f"explode {self.text}" + (f" AS {', '.join(self.names)}" if self.replaces is None else "") + (" outer" if self.outer else "")

    def steps(self) -> tuple[Step, ...]:
        function = "explode_outer" if self.outer else "explode"
        generate = Generate(generate=f"{function}({self.text})", names=self.names, outer=self.outer, place=self.place)
        if self.replaces is None:
            return (generate,)
        items = tuple((name, quote(self.names[0] if name == self.replaces else name)) for name in self.input.columns)
        return generate, Project(project=items, place=self.place)

    def time_after(self, times: Mapping[Node, str | None]) -> str | None:
        time = times[self.input]
        return None if self.replaces is not None and self.replaces == time else time

    def closing_after(self, columns: Mapping[Node, Columns]) -> Columns:
        gone = (self.replaces or "").lower()
        return {name: closes for name, closes in columns[self.input].items() if name != gone}

    def columns_read(self, wanted: Wanted) -> Mapping[str, Wanted]:
        return {"input": both(wanted, read(self.input, [self.text]))}


def explode(input: Node, column: Any, as_: Any = None, outer: bool = False, alias: str | None = None) -> Explode:
    flag("explode", "outer", outer)
    expression = bare(of_text(checked(column))._expression, alias)
    known(input, [expression])
    if as_ is not None:
        names = (as_,) if isinstance(as_, str) else tuple(as_) if isinstance(as_, list | tuple) else ()
        if len(names) not in (1, 2) or not all(isinstance(name, str) for name in names):
            raise PlanError(
                "BAD_COLUMN", f"explode(as_={as_!r}) is not a name", hint='as_="item", or as_=("key", "value") for a map', site=here()
            )
        once((*input.columns, *names), "explode")
        return Explode(input, expression.text, names, None, outer, site=here())
    named = plain_name(expression.text)
    if named is None:
        hint = 'name its items: as_="item", or as_=("key", "value") for a map'
        raise PlanError("UNNAMED_COLUMN", f"`{expression.text}` is not a column that its items could replace", hint=hint, site=here())
    replaced = next(name for name in input.columns if name.lower() == str(named).lower())
    # A name that no column has, as between the two steps a row has both the item and the array.
    item = "item"
    while item.lower() in {name.lower() for name in input.columns}:
        item += "_"
    return Explode(input, expression.text, (item,), replaced, outer, site=here())


class ExplodeVerb(Handle):
    __slots__ = ()

    @verb("explode")
    def explode(self, column: Column | str, as_: str | tuple[str, ...] | None = None, outer: bool = False) -> Self:
        """Returns one row for each item of an array or entry of a map; the other columns are repeated.

        Args:
            column: The array or map.
            as_: The name of a new column for the items; a map needs two names, of key and value. Default: items replace the array column.
            outer: Keeps a row without items, with a null as its item.

        Raises:
            PlanError: `BAD_COLUMN` if `as_` is no name; `UNNAMED_COLUMN` if `as_` is missing and `column` is an expression;
                `UNKNOWN_COLUMN` if the column does not exist; `DUPLICATE_COLUMN` if a name of `as_` is taken. When the job is built,
                `BAD_EXPRESSION` if a map does not get two names.
            ConnectorError: `BAD_OPTION` if `outer` is not a boolean.

        Examples:
            >>> import headrace as hr
            >>> baskets = hr.read.memory([("a", ["tea", "jam"])], "card string, goods array<string>", name="baskets")
            >>> baskets.explode("goods")           # ('a', ['tea', 'jam'])  ->  ('a', 'tea'), ('a', 'jam')
            <Stream baskets.explode: card, goods>
            >>> baskets.explode("goods", as_="good")
            <Stream baskets.explode: card, goods, good>
        """
        return self._then(explode(self._node, column, as_, outer, self._alias), self._alias)
