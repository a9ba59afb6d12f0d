"""One expression as data: Spark SQL text and the columns in it."""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace.errors import Site
from headrace.syntax import references


@dataclass(frozen=True)
class Expression:
    """Spark SQL text, the names of the columns in it (without fields; empty if sqlglot cannot parse it), its place and its alias.

    >>> of("e.amount + fee")
    Expression(text='e.amount + fee', names=('e', 'fee'), alias=None)
    """

    text: str
    names: tuple[str, ...] = ()
    site: Site | None = field(default=None, compare=False, repr=False)
    alias: str | None = None


def of(text: str, *, site: Site | None = None, alias: str | None = None) -> Expression:
    """Returns the expression of a text."""
    paths = references(text) or ()
    return Expression(text, tuple(dict.fromkeys(path[0] for path in paths)), site, alias)
