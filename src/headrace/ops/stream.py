"""Stream: the handle that users hold. Its verbs build nodes and never run anything."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from html import escape
from typing import TYPE_CHECKING, Any

from headrace.expr import Column
from headrace.ops import aggregate
from headrace.ops.aggregate import DistinctVerb
from headrace.ops.asof import AsOfVerb
from headrace.ops.columns import label
from headrace.ops.dedupe import DedupeVerb
from headrace.ops.expect import ExpectVerb
from headrace.ops.explode import ExplodeVerb
from headrace.ops.feeding import WatermarkVerb
from headrace.ops.filter import FilterVerb
from headrace.ops.handle import verb
from headrace.ops.heavy_hitters import HeavyHittersVerb
from headrace.ops.join import JoinVerb
from headrace.ops.letters import OutputVerb
from headrace.ops.lookup import LookupVerb
from headrace.ops.no_table import NoTable
from headrace.ops.process import Keys, key_by, processed
from headrace.ops.project import ProjectVerbs
from headrace.ops.sample import SampleVerb
from headrace.ops.sets import SetVerbs
from headrace.ops.source import valid_name
from headrace.ops.top import TopVerb
from headrace.ops.union import UnionVerb
from headrace.ops.upserts import UpsertsVerbs
from headrace.ops.view import view_of
from headrace.ops.window import WindowVerb
from headrace.ops.write import Write
from headrace.plan import Explanation, Node, Plan, explain, facts
from headrace.plan.drawing import drawn
from headrace.plan.meaning import asked
from headrace.schema import Struct, parse_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Stream(
    AsOfVerb,
    DedupeVerb,
    DistinctVerb,
    ExpectVerb,
    ExplodeVerb,
    FilterVerb,
    HeavyHittersVerb,
    JoinVerb,
    LookupVerb,
    OutputVerb,
    ProjectVerbs,
    SampleVerb,
    SetVerbs,
    TopVerb,
    UnionVerb,
    UpsertsVerbs,
    WatermarkVerb,
    WindowVerb,
):
    """Rows that keep coming. Immutable: each verb gives another stream.

    >>> import headrace as hr
    >>> charges = hr.read.memory([("a", 900)], "card string, amount int", name="charges")
    >>> charges.filter("amount > 500").select("card", cents=hr.col("amount") * 100)
    <Stream charges.filter.select: card, cents>
    """

    __slots__ = ("__weakref__", "_plan")

    def __init__(self, node: Node, alias: str | None = None) -> None:
        super().__init__(node, alias)
        self._plan: Plan | None = None

    def __repr__(self) -> str:
        return f"<Stream {label(self._node)}: {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        """Its columns with their types and the drawing of its plan, for notebooks. Starts the session."""
        rows = "".join(f"<tr><td>{escape(field.name)}</td><td>{escape(field.type.text)}</td></tr>" for field in self.schema.fields)
        return f"<div><table><thead><tr><th>column</th><th>type</th></tr></thead><tbody>{rows}</tbody></table>{drawn(self._alone())}</div>"

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        return self._node.columns

    @property
    def schema(self) -> Struct:
        """Its columns with their types. Starts the session, as types are Spark's to find."""
        plan = self._alone()
        return parse_schema(str(facts(plan, "schema")[plan.sinks[0]].value))

    @property
    def write(self) -> Write:
        """The sinks: `stream.write.files("out", format="parquet")`; `dir(stream.write)` lists them."""
        return Write(self._node)

    def explain(self, *, verbose: bool = False) -> Explanation:
        """What it is made of and what is known about it. Starts the session."""
        return explain(self._alone(), verbose=verbose)

    def _alone(self) -> Plan:
        """Return the plan that ends in this stream, kept with what analyses learn of it; a new one if a script has changed the settings."""
        if self._plan is None or self._plan.settings != asked():
            self._plan = Plan.of("", [self._node], asked())
        return self._plan

    def group_by(self, *columns: Column | str, expires: str | timedelta | None = None) -> Grouped:
        """Grouped by columns, for aggregates kept up to date: `charges.group_by("card").agg(spent="sum(amount)")`.

        `expires="7 days"` forgets a group to which no row has come for that long, in event time. What was said of it stays; a row that
        comes later begins it anew.
        """
        return Grouped(aggregate.group_by(self._node, columns, expires, self._alias))

    @verb("group_by")
    def _group_by(
        self, *, keys: Iterable[Column | str] = (), agg: Iterable[Column | str], expires: str | timedelta | None = None
    ) -> Stream:
        """As files have it: `group_by: {keys: card, agg: {spent: sum(amount)}}`."""
        return self.group_by(*keys, expires=expires).agg(*agg)

    def as_dataframe(self) -> DataFrame:
        """A DataFrame with its columns, to build a query with PySpark's own calls; `hr.from_dataframe` makes a stream of that again.

        Starts the session. The DataFrame has no rows: whatever would run it is refused.
        """
        return view_of(self)

    @verb("named")
    def named(self, name: str) -> Stream:
        """The same under a name of your own, which state, metrics and errors then carry: `....process(P).named("alerts")`."""
        return Stream(replace(self._node, name=valid_name(name)), self._alias)

    @verb("alias")
    def alias(self, name: str) -> Stream:
        """The same with a qualifier for its columns: in `charges.alias("c").filter("c.amount > 500")`, `c.amount` is `amount`."""
        return Stream(self._node, valid_name(name))

    def key_by(self, *columns: Column | str) -> Keyed:
        """Keyed by columns, for a program with state for each key: `charges.key_by("card").process(SmallThenLarge)`."""
        return Keyed(key_by(self._node, columns, self._alias))

    def process(self, program_: Any, *, order: str | None = None, time: str | None = None, **inputs: Any) -> Stream:
        """A program with one state for the whole stream; with a state for each key, write `.key_by(...).process(...)`."""
        return self._then(processed(Keys(self._node, ()), program_, order, time, inputs))


class Grouped(NoTable):
    """A stream with groups, to be followed by `agg`.

    >>> import headrace as hr
    >>> charges = hr.read.memory([("a", 900)], "card string, amount int", name="charges")
    >>> charges.group_by("card")
    <Grouped charges by card>
    """

    __slots__ = ("_groups",)
    _called = "stream.group_by(...).agg(...)"

    def __init__(self, groups: aggregate.Groups) -> None:
        self._groups = groups

    def __repr__(self) -> str:
        return f"<Grouped {label(self._groups.node)} by {', '.join(self._groups.names) or 'nothing'}>"

    def agg(self, *columns: Column | str, **named: Column | str) -> Stream:
        """A row for each group, its aggregates kept up to date as rows come and go: `.agg(spent="sum(amount)", n=hr.f.count())`."""
        return Stream(aggregate.agg(self._groups, columns, named))


class Keyed(NoTable):
    """A stream with keys, to be followed by `process`.

    >>> import headrace as hr
    >>> charges = hr.read.memory([("a", 900)], "card string, amount int", name="charges")
    >>> charges.key_by("card")
    <Keyed charges by card>
    """

    __slots__ = ("_keys",)
    _called = "stream.key_by(...).process(...)"

    def __init__(self, keys: Keys) -> None:
        self._keys = keys

    def __repr__(self) -> str:
        return f"<Keyed {label(self._keys.node)} by {', '.join(self._keys.names)}>"

    def process(self, program_: Any, *, order: str | None = None, time: str | None = None, **inputs: Any) -> Stream:
        """What a program emits, with a state for each key.

        Other inputs are keyed streams by name: `flights.key_by("origin").process(AddWeather, weather=weather.key_by("origin"))`.
        `order="time"`, the default where all inputs have event time, handles the rows of a key in the order of their time, each when the
        watermark has passed it; `order="arrival"` handles them as they come. `time=` names the emitted column that is event time after it.
        """
        return Stream(processed(self._keys, program_, order, time, inputs))
