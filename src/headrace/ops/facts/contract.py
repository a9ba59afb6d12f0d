"""The contract: facts that every operator derives from those of its inputs, for the walks of this folder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, cast

from headrace.plan import Node, order

if TYPE_CHECKING:
    from headrace.ops.facts.carried import Columns
    from headrace.ops.facts.closing import Group
    from headrace.ops.facts.interval import Interval
    from headrace.ops.facts.keys import Keys


class Contract(Node, ABC):
    """The facts of a node that follow from those of its inputs. A class that lacks one cannot be declared with `@node`.

    A base implements a fact only if it holds for each of its operators by what the base means; there is no other default.
    """

    @abstractmethod
    def kind_after(self, kinds: Mapping[Node, str]) -> str:
        """Return the kind of its rows: `append` if they are only inserted, `changes` if they are also retracted."""

    @abstractmethod
    def keys_after(self, keys: Mapping[Node, Keys]) -> Keys:
        """Return its unique keys, as sets of columns; empty if none is known."""

    @abstractmethod
    def time_after(self, times: Mapping[Node, str | None]) -> str | None:
        """Return the column of its rows that is event time, or None."""

    @abstractmethod
    def closing_after(self, columns: Mapping[Node, Columns]) -> Columns:
        """Return the columns of its rows that close."""

    @abstractmethod
    def group(self, columns: Mapping[Node, Columns]) -> Group | None:
        """Return how its groups close; None: it has none, or they never do."""

    @abstractmethod
    def interval(self, columns: Mapping[Node, Columns]) -> Interval | None:
        """Return how its rows end one by one; None: they do not."""

    @property
    @abstractmethod
    def forgets_after(self) -> int | None:
        """The time without rows after which it forgets a group, in milliseconds; None: it does not."""

    @property
    @abstractmethod
    def grouped_by(self) -> tuple[str, ...]:
        """The expressions that are equal for the rows of a group; for a join, those of its left side."""

    @property
    @abstractmethod
    def judged(self) -> tuple[bool, ...]:
        """For each input, whether some of its rows may be late; empty if no group or session of it ends."""


def contract(node: Node) -> Contract:
    """Return a node as an operator, which every node is."""
    return cast("Contract", node)


def contracts(ends: Iterable[Node]) -> tuple[Contract, ...]:
    """Return all nodes that the given ones need, each after its inputs."""
    return cast("tuple[Contract, ...]", order(ends))
