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
from headrace.ops.join_verb import JoinVerb
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
from headrace.plan.meaning import script_settings
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
    """A description of rows that arrive over time. Its methods that return a stream are called verbs.

    A stream is immutable: each verb returns a new stream and runs nothing. `hr.collect`, `hr.show` and `hr.job` run it. Verbs take columns
    as names, SQL texts or `Column` objects, and check names at once. Column names are case-insensitive. With
    `spark.sql.caseSensitive=true`, expressions must spell them as declared; even then no two columns may differ in case only. Spark checks
    syntax, functions and types in `schema`, `explain` and `hr.job` (`BAD_SYNTAX`, `UNKNOWN_FUNCTION`, `WRONG_TYPE`).

    A stream has no rows to index, count or loop over: Python's `[…]`, `len` and `for` raise `NOT_A_TABLE`.

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", 900), ("b", 20)], "card string, amount int", name="charges")
        >>> large = charges.filter("amount > 500").select("card", cents=hr.col("amount") * 100)
        >>> large
        <Stream charges.filter.select: card, cents>
        >>> large.columns
        ('card', 'cents')
        >>> print(large.schema)
        struct<card: string, cents: int>
        >>> hr.collect(large).rows()
        [('a', 90000)]
        >>> hr.job("large", large.write.memory())
        <Job large: charges.memory>
    """

    __slots__ = ("__weakref__", "_plan")

    def __init__(self, node: Node, alias: str | None = None) -> None:
        super().__init__(node, alias)
        self._plan: Plan | None = None

    def __repr__(self) -> str:
        return f"<Stream {label(self._node)}: {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        """The columns with their types and a drawing of the plan, for notebooks. Starts the session."""
        rows = "".join(f"<tr><td>{escape(field.name)}</td><td>{escape(field.type.text)}</td></tr>" for field in self.schema.fields)
        return f"<div><table><thead><tr><th>column</th><th>type</th></tr></thead><tbody>{rows}</tbody></table>{drawn(self._alone())}</div>"

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return self._node.columns

    @property
    def schema(self) -> Struct:
        """The columns with their types. Starts the session, because Spark resolves the types.

        Raises:
            PlanError: `BAD_SYNTAX`, `UNKNOWN_FUNCTION` or `WRONG_TYPE` if Spark rejects a SQL text of the stream.
        """
        plan = self._alone()
        return parse_schema(str(facts(plan, "schema")[plan.sinks[0]].value))

    @property
    def write(self) -> Write:
        """The sinks, by connector: `stream.write.files("out", format="parquet")`. `dir(stream.write)` lists them."""
        return Write(self._node)

    def explain(self, *, verbose: bool = False) -> Explanation:
        """Returns the plan of the stream: its operators and the known facts about each. Starts the session.

        Args:
            verbose: Shows every operator with its columns, the rows that it emits and the state that it keeps, instead of a summary.

        Returns:
            An object that prints as text; `to_json()` returns the same as data, with `nodes`, `sinks` and `notes`.

        Raises:
            PlanError: `BAD_SYNTAX`, `UNKNOWN_FUNCTION` or `WRONG_TYPE` if Spark rejects a SQL text of the stream.

        Examples:
            >>> import headrace as hr
            >>> charges = hr.read.memory([("a", 900), ("b", 20)], "card string, amount int", name="charges")
            >>> charges.group_by("card").agg(rows="count(*)").explain()
            plan  (fingerprint ...)
              source  charges: memory (2 rows), bounded, append only
              state   without bound: aggregate(charges) grows with groups
            ...
        """
        return explain(self._alone(), verbose=verbose)

    def _alone(self) -> Plan:
        """Return the plan that ends in this stream, kept with what analyses learn of it; a new one if a script has changed the settings."""
        if self._plan is None or self._plan.settings != script_settings():
            self._plan = Plan.of("", [self._node], script_settings())
        return self._plan

    def group_by(self, *columns: Column | str, expires: str | timedelta | None = None) -> Grouped:
        """Groups the rows by columns, for aggregates that are kept up to date.

        Args:
            *columns: The keys of the groups: names, SQL texts with a name such as `"upper(card) AS card"`, or columns. Without keys all
                rows are one group. A null is a key like any other.
            expires: A duration such as `"7 days"` in event time: a group without new rows for that long is forgotten. Its result stays in
                the output; a later row starts a new, empty group. Default: never.

        Returns:
            Groups, on which `agg` is called.

        Raises:
            PlanError: `UNKNOWN_COLUMN` if a column does not exist; `BAD_COLUMN` if an argument is no column; `UNNAMED_COLUMN` if a key has
                no name; `DUPLICATE_COLUMN` if two keys have one name; `BAD_EXPIRY` if `expires` is zero. When the job is built,
                `BAD_EXPIRY` if there are no keys or a window among them already releases the state, and `NO_WATERMARK` if no source has
                event time.
            SchemaError: `BAD_DURATION` if `expires` is not a duration.

        Examples:
            >>> import headrace as hr
            >>> charges = hr.read.memory([("a", 7), ("a", 2), ("b", 5)], "card string, amount int", name="charges")
            >>> charges.group_by("card").agg(spent="sum(amount)")              # ('a', 9), ('b', 5)
            <Stream aggregate(charges): card, spent>
        """
        return Grouped(aggregate.group_by(self._node, columns, expires, self._alias))

    @verb("group_by")
    def _group_by(
        self, *, keys: Iterable[Column | str] = (), agg: Iterable[Column | str], expires: str | timedelta | None = None
    ) -> Stream:
        """The form of files: `group_by: {keys: card, agg: {spent: sum(amount)}}`."""
        return self.group_by(*keys, expires=expires).agg(*agg)

    def as_dataframe(self) -> DataFrame:
        """Returns a PySpark DataFrame with the columns of the stream, to build a query with PySpark's methods. Starts the session.

        `hr.from_dataframe` makes a stream of the finished query. The DataFrame has no rows: Spark refuses every action on it, such as
        `count` or `collect`.

        Raises:
            PlanError: `BAD_SYNTAX`, `UNKNOWN_FUNCTION` or `WRONG_TYPE` if Spark rejects a SQL text of the stream.

        Examples:
            >>> import headrace as hr
            >>> charges = hr.read.memory([("a", 7)], "card string, amount int", name="charges")
            >>> charges.as_dataframe().groupBy("card").count()
            DataFrame[card: string, count: bigint]
        """
        return view_of(self)

    @verb("named")
    def named(self, name: str) -> Stream:
        """Names the last operator of the stream. State, metrics and errors use the name.

        Args:
            name: A letter or digit, then letters, digits, spaces, `_`, `-` and `.`; at most 200 bytes. Unique in the job.

        Raises:
            PlanError: `BAD_NAME` if the name is invalid. When the job is built, `NAME_CLASH` if another operator, source or sink of the job
                has the same name.

        Examples:
            >>> import headrace as hr
            >>> charges = hr.read.memory([("a", 7)], "card string, amount int", name="charges")
            >>> charges.filter("amount > 500").named("large")
            <Stream large: card, amount>
        """
        return Stream(replace(self._node, name=valid_name(name)), self._alias)

    @verb("alias")
    def alias(self, name: str) -> Stream:
        """Gives the columns a qualifier, for SQL texts and conditions of joins.

        `filter`, `with_columns`, `drop`, `rename`, `expect`, `explode` and `sample` keep the qualifier; most other verbs drop it.

        Args:
            name: The qualifier.

        Raises:
            PlanError: `BAD_NAME` if the name is invalid.

        Examples:
            >>> import headrace as hr
            >>> charges = hr.read.memory([("a", 7)], "card string, amount int", name="charges")
            >>> charges.alias("c").filter("c.amount > 500")
            <Stream charges.filter: card, amount>
        """
        return Stream(self._node, valid_name(name))

    def key_by(self, *columns: Column | str) -> Keyed:
        """Keys the stream by columns, for a state program with a state for each key.

        Args:
            *columns: The keys: names, named SQL texts or columns. A row with a null in its key becomes a dead letter.

        Returns:
            A keyed stream, on which `process` is called.

        Raises:
            PlanError: `BAD_KEY` without a column; `UNKNOWN_COLUMN` if a column does not exist; `BAD_COLUMN` if an argument is no column;
                `UNNAMED_COLUMN` if a key has no name; `DUPLICATE_COLUMN` if two keys have one name.

        Examples:
            >>> import headrace as hr
            >>> charges = hr.read.memory([("a", 7)], "card string, amount int", name="charges")
            >>> charges.key_by("card", "amount % 10 AS digit")
            <Keyed charges by card, digit>
        """
        return Keyed(key_by(self._node, columns, self._alias))

    def process(self, program_: Any, *, order: str | None = None, time: str | None = None, **inputs: Any) -> Stream:
        """Runs a state program with one state for the whole stream, in one task. Use `key_by` first to give each key its own state.

        Args:
            program_: A subclass of `hr.Program`, or an instance of one.
            order: `"time"` handles rows in event-time order, as soon as the watermark reaches them; `"arrival"` handles them as they
                arrive. Default: `"time"` if the stream has event time and no timer or expiring cell uses processing time.
            time: The emitted column that is event time downstream. Default: the output has none.
            **inputs: Not allowed: a program with several inputs needs `key_by` (`BAD_INPUT`, `BAD_KEY`).

        Returns:
            The rows that the program emits.

        Raises:
            PlanError: `CHANGES_NOT_YET` if rows of the stream are retracted; `BAD_ORDER` if `order` is unknown; `ORDER_CLOCK` if
                `order="time"` and timers or expiring cells use processing time; `NO_WATERMARK` if event time is needed and missing;
                `UNKNOWN_COLUMN` if the program does not emit `time`.
            ProgramError: `NOT_A_PROGRAM` for another object; `HANDLER_MISSING` without a handler for an input or timer; other codes for
                [refused Python](../../guides/programs.md#refused-python).

        Examples:
            >>> import headrace as hr
            >>> class Count(hr.Program):
            ...     def __init__(self):
            ...         self.rows = hr.Value("bigint", default=0)
            ...     def on_event(self, e):
            ...         self.rows.set(self.rows.get() + 1)
            ...         hr.emit(number=self.rows.get(), card=e.card)
            >>> charges = hr.read.memory([("a", 7)], "card string, amount int", name="charges")
            >>> charges.process(Count)
            <Stream charges.Count: number, card>
        """
        return self._then(processed(Keys(self._node, ()), program_, order, time, inputs))


class Grouped(NoTable):
    """A grouped stream, returned by `group_by`. `agg` computes one row for each group.

    Examples:
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
        """Returns one row for each group, its aggregates kept up to date as rows are added and retracted.

        A group's row changes when its aggregates do, and is retracted when the last row of the group is retracted. Without keys there is
        always one row. Without aggregates the result is the distinct keys.

        Args:
            *columns: Aggregates with a name: `"sum(amount) AS spent"` or `hr.f.sum("amount").alias("spent")`.
            **named: Aggregates by the name of their column: `spent="sum(amount)"`, `n=hr.f.count()`.

        Returns:
            The keys and the aggregates, in this order. The keys are a unique key of the result.

        Raises:
            PlanError: `NOT_AN_AGGREGATE` if a value is a plain column; `NO_COLUMNS` if there are neither keys nor aggregates;
                `UNKNOWN_COLUMN` if a column does not exist; `BAD_COLUMN` if an argument is no column; `UNNAMED_COLUMN` if an aggregate has
                no name; `DUPLICATE_COLUMN` if two columns have one name.

        Examples:
            >>> import headrace as hr
            >>> charges = hr.read.memory([("a", 900), ("a", 20)], "card string, amount int", name="charges")
            >>> spent = charges.group_by("card").agg(spent="sum(amount)", large=hr.f.count().where("amount > 500"))
            >>> hr.collect(spent).rows()
            [('a', 920, 1)]
        """
        return Stream(aggregate.agg(self._groups, columns, named))


class Keyed(NoTable):
    """A keyed stream, returned by `key_by`. `process` runs a state program over it.

    Examples:
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
        """Runs a state program with a state for each key, and returns the rows that it emits.

        Args:
            program_: A subclass of `hr.Program`, or an instance of one.
            order: `"time"` handles the rows of a key in event-time order, as soon as the watermark reaches them; `"arrival"` handles them
                as they arrive. Default: `"time"` if all inputs have event time and no timer or expiring cell uses processing time.
            time: The emitted column that is event time downstream. Default: the output has none.
            **inputs: Further inputs by name: keyed streams with the same number and types of keys, matched by position, or
                `hr.broadcast(stream)`.

        Raises:
            PlanError: `CHANGES_NOT_YET` if rows of an input are retracted; `BAD_ORDER` if `order` is unknown; `ORDER_CLOCK` if
                `order="time"` and timers or expiring cells use processing time; `NO_WATERMARK` if event time is needed and missing;
                `UNKNOWN_COLUMN` if the program does not emit `time`; `BAD_INPUT` if an input has no keys; `BAD_KEY`, or `KEYS_DIFFER` from
                `hr.job`, if the keys' number or types differ.
            ProgramError: `NOT_A_PROGRAM` for another object; `HANDLER_MISSING` without a handler for an input or timer; other codes for
                [refused Python](../../guides/programs.md#refused-python).

        Examples:
            >>> import headrace as hr
            >>> class Count(hr.Program):
            ...     def __init__(self):
            ...         self.rows = hr.Value("bigint", default=0)
            ...     def on_event(self, e):
            ...         self.rows.set(self.rows.get() + 1)
            ...         hr.emit(card=e.card, number=self.rows.get())
            >>> charges = hr.read.memory([("a", 7), ("b", 5), ("a", 2)], "card string, amount int", name="charges")
            >>> sorted(hr.collect(charges.key_by("card").process(Count)).rows())
            [('a', 1), ('a', 2), ('b', 1)]
        """
        return Stream(processed(self._keys, program_, order, time, inputs))
