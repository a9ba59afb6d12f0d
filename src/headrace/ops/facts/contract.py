"""The contract: what every operator says of itself, from what is known of its inputs. The walks of this folder ask it."""

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
    """The facts of a node that follow from those of its inputs. No class that leaves one out can be declared with `@node`.

    A base gives a fact only where it holds for each of its operators by what the base means; there is no other default.
    """

    @abstractmethod
    def kind_after(self, kinds: Mapping[Node, str]) -> str:
        """Whether rows are only ever added to it (`append`) or also taken away (`changes`)."""

    @abstractmethod
    def keys_after(self, keys: Mapping[Node, Keys]) -> Keys:
        """The sets of columns that tell its rows apart; none where nothing is known of them."""

    @abstractmethod
    def time_after(self, times: Mapping[Node, str | None]) -> str | None:
        """The column of its rows that is event time."""

    @abstractmethod
    def closing_after(self, columns: Mapping[Node, Columns]) -> Columns:
        """The columns of its rows that close."""

    @abstractmethod
    def group(self, columns: Mapping[Node, Columns]) -> Group | None:
        """How its groups close; None: it has none, or they never do."""

    @abstractmethod
    def interval(self, columns: Mapping[Node, Columns]) -> Interval | None:
        """How its rows end one by one; None: they do not."""

    @property
    @abstractmethod
    def forgets_after(self) -> int | None:
        """After how long without rows it forgets a group, in milliseconds; None: it does not."""

    @property
    @abstractmethod
    def grouped_by(self) -> tuple[str, ...]:
        """The texts of what the rows of a group have in common; of a join those of its left side."""

    @property
    @abstractmethod
    def judged(self) -> tuple[bool, ...]:
        """Of each input, whether some of its rows may be late; nothing where no group or session of it ends."""


def contract(node: Node) -> Contract:
    """A node as what every operator is."""
    return cast("Contract", node)


def contracts(ends: Iterable[Node]) -> tuple[Contract, ...]:
    """All nodes that the given ones need, each after its inputs."""
    return cast("tuple[Contract, ...]", order(ends))
