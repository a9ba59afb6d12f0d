"""Expectations: conditions on the rows of a stream."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Self

from headrace.errors import PlanError, here
from headrace.expr import Column, of_text
from headrace.ops.columns import bare, checked, known, label
from headrace.ops.facts.outputs import DEAD_LETTER
from headrace.ops.facts.reading import Wanted, both, read
from headrace.ops.handle import Handle, verb
from headrace.ops.operator import Selective
from headrace.ops.output import outputs_of
from headrace.plan import Node, Role, node
from headrace.plan.step import Expect as ExpectStep
from headrace.ports.options import choice

POLICIES = (DEAD_LETTER, "drop", "fail", "keep")
_BECOMES = {DEAD_LETTER: "else a dead letter", "drop": "else dropped", "fail": "else the run fails", "keep": "kept in any case"}


@node("expect")
class Expect(Selective):
    """The rows that meet all conditions; `expectations` are their names and texts. `on_violation`: a row that violates one becomes a dead
    letter, is dropped, ends the run, or is kept.

    Law: a condition that is null or fails is violated. Every condition is evaluated for every row. The counts are those of the rows
    present: a retraction retracts the row's count and its dead letter.

    >>> import headrace as hr
    >>> charges = hr.read.memory([("a", 5), ("b", -1)], "card string, amount int", name="charges")
    >>> charges.expect(positive="amount > 0", on_violation="drop")     # (a, 5) (b, -1)   ->   (a, 5)
    <Stream charges.expect: card, amount>
    """

    expectations: tuple[tuple[str, str], ...]
    on_violation: str = field(default=DEAD_LETTER, metadata={"of": POLICIES})

    def describe(self) -> str:
        shown = [text if name == text else f"{name} ({text})" for name, text in self.expectations]
        return f"expect {', '.join(shown)}; {_BECOMES[self.on_violation]}"

    def steps(self) -> tuple[ExpectStep, ...]:
        return (ExpectStep(expect=self.expectations, otherwise=self.on_violation, place=self.place),)

    @property
    def keeps_apart(self) -> bool:
        return False  # it is not known whether its result is net

    @property
    def expected(self) -> Mapping[str, str]:
        return {name: self.on_violation for name, _ in self.expectations}

    def columns_read(self, wanted: Wanted) -> Mapping[str, Wanted]:
        # Dead letters and the error that ends a run show the whole row.
        shows = self.on_violation in (DEAD_LETTER, "fail")
        return {"input": None if shows else both(wanted, read(self.input, (text for _, text in self.expectations)))}


def conditions_of(nodes: Iterable[Node]) -> dict[str, dict[str, str]]:
    """Return the conditions of the nodes that expect something: by the node's name, texts by the condition's name."""
    return {str(node.name): dict(node.expectations) for node in nodes if isinstance(node, Expect)}


def expect(
    input: Node, predicates: Sequence[Any], on_violation: str, name: str | None, named: Mapping[str, Any], alias: str | None = None
) -> Expect:
    """Return the node of the verb. A condition is named by its keyword, by `name`, by its alias, or by its own text."""
    policy = choice("expect", "on_violation", on_violation, POLICIES)
    named_predicates: list[tuple[str | None, Column]] = [(None, of_text(checked(value))) for value in predicates]
    named_predicates += [(key, of_text(checked(value, key))) for key, value in named.items()]
    if not named_predicates:
        raise _wrong(
            "expect needs at least one condition", 'stream.expect("amount >= 0"), or with a name: stream.expect(positive="amount >= 0")'
        )
    if name is not None:
        if len(named_predicates) != 1 or named:
            raise _wrong("expect has one name for several conditions", 'name each: stream.expect(positive="amount >= 0", ...)')
        named_predicates = [(_name(name), named_predicates[0][1])]
    expectations: dict[str, str] = {}
    for key, column in named_predicates:
        expression = bare(column._expression, alias)
        known(input, [expression])
        called = key or expression.alias or " ".join(expression.text.split())
        if called in expectations:
            raise _wrong(f"expect has two conditions named `{called}`", "give each its own name")
        expectations[called] = expression.text
    if policy == DEAD_LETTER and _of_letters(input):
        raise _wrong(
            f"{label(input)} reads dead letters, and a dead letter cannot become another one",
            'drop it, keep it or fail the run: on_violation="drop"',
        )
    return Expect(input, tuple(expectations.items()), policy, site=here())


def _of_letters(node: Node) -> bool:
    while node.role is Role.STATELESS and len(node.inputs) == 1:
        node = node.inputs[0]
    return any(one.output == DEAD_LETTER for one in outputs_of([node]))


def _name(name: Any) -> str:
    if not isinstance(name, str) or not name.strip() or "\n" in name:
        raise PlanError("BAD_NAME", f"{name!r} cannot be the name of an expectation", hint="use a string of one line", site=here())
    return name


def _wrong(message: str, hint: str) -> PlanError:
    return PlanError("BAD_EXPECTATION", message, hint=hint, site=here())


class ExpectVerb(Handle):
    __slots__ = ()

    @verb("expect")
    def expect(self, *conditions: Column | str, on_violation: str = "dead_letter", name: str | None = None, **named: Column | str) -> Self:
        """Checks conditions on each row and counts the rows that pass and that violate them.

        A condition that is null, or whose evaluation fails, counts as violated. All conditions of one `expect` are evaluated for each row;
        a later `expect` checks only the rows that pass on. A retraction is checked like the row it retracts and lowers the counts.
        `Summary` and `Run.metrics` show the counts.

        Args:
            *conditions: Conditions, named by their alias or their text.
            on_violation: What happens to a row that violates a condition: `"dead_letter"`; `"drop"`; `"fail"` ends the run, and nothing of
                the epoch is written; `"keep"` passes the row on and only counts it.
            name: The name of the condition, if there is only one.
            **named: Conditions by name: `known="country IS NOT NULL"`.

        Raises:
            PlanError: `BAD_EXPECTATION` without a condition, with two of one name, or on a stream of dead letters with
                `on_violation="dead_letter"`; `BAD_NAME` if `name` is not one line of text; `UNKNOWN_COLUMN` if a column does not exist;
                `BAD_COLUMN` if an argument is no column.
            ConnectorError: `BAD_OPTION` if `on_violation` is unknown.
            RunError: `EXPECTATION_FAILED` in a run, with `on_violation="fail"`.

        Examples:
            >>> import headrace as hr
            >>> charges = hr.read.memory([("a", 5), ("b", -1)], "card string, amount int", name="charges")
            >>> charges.expect(positive="amount > 0", on_violation="drop")     # ('a', 5), ('b', -1)  ->  ('a', 5)
            <Stream charges.expect: card, amount>
        """
        return self._then(expect(self._node, conditions, on_violation, name, named, self._alias), self._alias)
