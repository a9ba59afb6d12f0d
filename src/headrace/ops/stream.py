"""Stream: the handle that users hold. Its verbs build nodes and never run anything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from html import escape
from typing import TYPE_CHECKING, Any

from headrace.errors import PlanError, here
from headrace.expr import Column
from headrace.ops import (
    aggregate,
    asof,
    dedupe,
    expect,
    explode,
    feeding,
    filter,
    join,
    letters,
    lookup,
    program,
    project,
    sessions,
    sets,
    source,
    top,
    union,
    upserts,
    window,
)
from headrace.ops.columns import label
from headrace.ops.forgetting import late_outputs
from headrace.ops.kind import kind_of
from headrace.ops.tables import Table
from headrace.ops.time import event_time
from headrace.ops.view import view_of
from headrace.ops.write import Write
from headrace.plan import Explanation, Node, Plan, explain, facts
from headrace.plan.drawing import drawn
from headrace.plan.meaning import asked
from headrace.schema import Struct, parse_schema
from headrace.words import Verbs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Stream(Verbs):
    """Rows that keep coming. Immutable: each verb gives another stream.

    >>> import headrace as hr
    >>> charges = hr.read.memory([("a", 900)], "card string, amount int", name="charges")
    >>> charges.filter("amount > 500").select("card", cents=hr.col("amount") * 100)
    <Stream charges.filter.select: card, cents>
    """

    __slots__ = ("__weakref__", "_alias", "_node", "_plan")

    def __init__(self, node: Node, alias: str | None = None) -> None:
        self._node = node
        self._alias = alias
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
        """The plan that ends in this stream, with what is learnt of it; another one where a script has other settings."""
        if self._plan is None or self._plan.settings != asked():
            self._plan = Plan.of("", [self._node], asked())
        return self._plan

    def filter(self, *conditions: Column | str) -> Stream:
        """The rows for which every condition is true: `charges.filter("amount > 500", hr.col("country") == "SE")`."""
        return Stream(filter.filter(self._node, conditions, self._alias), self._alias)

    def expect(
        self, *conditions: Column | str, on_violation: str = "dead_letter", name: str | None = None, **named: Column | str
    ) -> Stream:
        """The rows that are as expected: `charges.expect("amount >= 0", known="country IS NOT NULL", on_violation="drop")`.

        Each condition is counted by its name, its alias or its text; one that is null is not met. A row that does not meet all of them
        goes to the dead letters, or is dropped, ends the run ("fail"), or is kept and only counted ("keep").
        """
        return Stream(expect.expect(self._node, conditions, on_violation, name, named, self._alias), self._alias)

    def select(self, *columns: Column | str, **named: Column | str) -> Stream:
        """These columns and no others: `charges.select("card", cents="amount * 100")`; `"*"` stands for all."""
        return Stream(project.select(self._node, columns, named, self._alias))

    def with_columns(self, *columns: Column | str, **named: Column | str) -> Stream:
        """More columns, or others in the place of those of the same name: `charges.with_columns(large="amount > 500")`."""
        return Stream(project.with_columns(self._node, columns, named, self._alias), self._alias)

    def drop(self, *names: str) -> Stream:
        """Without these columns: `charges.drop("country")`."""
        return Stream(project.drop(self._node, names), self._alias)

    def rename(self, names: Mapping[str, str]) -> Stream:
        """Other names for columns: `charges.rename({"amt": "amount"})`."""
        return Stream(project.rename(self._node, names), self._alias)

    def explode(self, column: Column | str, as_: str | tuple[str, ...] | None = None, outer: bool = False) -> Stream:
        """A row for each item of an array or map: `baskets.explode("goods", as_="good")`."""
        return Stream(explode.explode(self._node, column, as_, outer, self._alias), self._alias)

    def union(self, *streams: Stream) -> Stream:
        """The rows of this stream and of others with the same columns: `north.union(south)`."""
        return Stream(union.union([self._node, *(_stream(stream, "union", "first.union(second, third)")._node for stream in streams)]))

    def join(
        self,
        other: Stream,
        *,
        on: Column | str | Iterable[str],
        how: str = "inner",
        expires: str | timedelta | None = None,
        emit: str = "changes",
    ) -> Stream:
        """Rows of this stream with those of another that they meet: `charges.join(cards, on="card")`.

        `on` names columns that both have, or is a condition over columns of different names. `how` is inner, left, right, full, semi (the
        rows that meet some) or anti (the rows that meet none). `expires` is how long the rows of a key are kept after the last one came, in
        event time: `orders.join(payments, on="order", expires="7 days")`.

        Where the condition bounds how far the event times of both sides are apart, `ts BETWEEN opened AND opened + INTERVAL 1 HOUR`, and
        there is no `expires`, a row is forgotten when it can meet no other. With `emit="close"` only then is it said that a row meets
        none, once; else at once, to be taken back when it does.
        """
        stream = _stream(other, "join", 'charges.join(cards, on="card")')
        return Stream(join.join(self._node, stream._node, on, how, expires, emit, (self._alias, stream._alias)))

    def join_asof(
        self,
        versions: Stream,
        *,
        on: Column | str | Iterable[str],
        time: tuple[Column | str, Column | str],
        how: str = "left",
        direction: str = "backward",
        within: str | timedelta | None = None,
        emit: str = "changes",
    ) -> Stream:
        """Each row with the version of its time: `orders.join_asof(rates, on="pair", time=("ts", "at"))`.

        `time` is that of a row and of a version; `direction` is backward (the last version at or before the row), forward or nearest, at
        the most `within` away. `how` is left (nulls where there is none) or inner. With `emit="close"` a row waits until the watermark has
        passed it, and is sent once; else a version that comes later revises the answer.
        """
        stream = _stream(versions, "join_asof", 'orders.join_asof(rates, on="pair", time=("ts", "at"))')
        aliases, times = (self._alias, stream._alias), (event_time(self._node), event_time(stream._node))
        return Stream(asof.join_asof(self._node, stream._node, on, time, how, direction, within, emit, aliases, times))

    def lookup(
        self,
        table: Table,
        *,
        on: str | Iterable[str] | Mapping[str, str],
        how: str = "left",
        cache: str | timedelta | None = None,
        cache_keys: int | None = None,
        batch: int | None = None,
        in_flight: int | None = None,
        retry: str | timedelta | None = None,
    ) -> Stream:
        """Each row with those of its key in a table outside, as they are when the row arrives: `orders.lookup(customers, on="customer")`.

        `on` names columns of both, or texts over the row and columns of the table, `{"upper(name)": "id"}`; `how` is left or inner. An
        answer is kept for `cache`, of `cache_keys` keys; others are sought `batch` at a time, `in_flight` at once, or as the table says.
        """
        said = (cache, cache_keys, batch, in_flight, retry)
        return Stream(lookup.lookup(self._node, table, on, how, said, kind_of(self._node), self._alias), self._alias)

    def group_by(self, *columns: Column | str, expires: str | timedelta | None = None) -> Grouped:
        """Grouped by columns, for aggregates kept up to date: `charges.group_by("card").agg(spent="sum(amount)")`.

        `expires="7 days"` forgets a group to which no row has come for that long, in event time. What was said of it stays; a row that
        comes later begins it anew.
        """
        return Grouped(aggregate.group_by(self._node, columns, expires, self._alias))

    def distinct(self, *, expires: str | timedelta | None = None) -> Stream:
        """Each row once; with `expires="7 days"` once more if it comes again after it has not come for that long, in event time."""
        return Stream(aggregate.distinct(self._node, expires))

    def top(
        self,
        n: int,
        *,
        by: Column | str | Iterable[Column | str],
        per: Column | str | Iterable[Column | str] = (),
        ties: str = "row_number",
        expires: str | timedelta | None = None,
    ) -> Stream:
        """The first `n` rows of each group in an order: `sales.top(3, by="amount desc", per="shop")`.

        `ties="rank"` adds those that are equal to the last one in that order; `ties="dense_rank"` takes all rows of the first `n` values.
        `expires` is after how long without rows a group is forgotten, in event time.
        """
        return Stream(top.top(self._node, n, by, per, ties, expires, self._alias))

    def dedupe(
        self,
        *,
        on: Column | str | Iterable[Column | str],
        keep: str = "first",
        by: Column | str | Iterable[Column | str] | None = None,
        within: str | timedelta | None = None,
        expires: str | timedelta | None = None,
    ) -> Stream:
        """One row for each key: `orders.dedupe(on="id")`, the first by event time; or the last, or in an order `by` columns.

        All keys are kept, as an earlier row may come. With `within="1 hour"` a key is forgotten an hour after its row: the first goes on
        when the watermark has passed it, is never taken back, and those of the hour behind it are dropped. With `expires="1 hour"` it is
        forgotten when no row of it has come for an hour, in event time; the next one is then one row more.
        """
        if within is None:
            return Stream(dedupe.dedupe(self._node, on, keep, by, expires, self._alias), self._alias)
        program_, time = dedupe.for_a_while(self._node, keep, by, within, expires)
        return self.key_by(*dedupe.keys(on)).process(program_, order="time", time=time)

    def window(
        self,
        window_: window.Window | sessions.SessionWindow,
        *,
        emit: str = "changes",
        early: str | timedelta | None = None,
        lateness: str | timedelta = "0 seconds",
    ) -> Stream:
        """Each row with the windows that it falls into, to be grouped, joined or ranked by: `charges.window(hr.tumble("ts", "1 hour"))`.

        It gets the columns `window_start`, `window_end` and `window_time`. What is computed for each window is sent as it changes, or with
        `emit="close"` once, when the watermark has reached its end and `lateness` more; rows that come after that are late. With
        `early="1 minute"` besides, what has changed is sent each time the watermark passes a full minute, when it passes the window's end,
        and from then on in each epoch.

        Of sessions, `hr.sessions("ts", "10 minutes", per="card")`, a row is sent anew when the bounds of its session change, or with
        `emit="close"` once, when its session closes.
        """
        if isinstance(window_, sessions.SessionWindow):
            return Stream(sessions.in_sessions(self._node, window_, emit, early, lateness, self._alias), self._alias)
        return Stream(window.window(self._node, window_, emit, early, lateness, self._alias), self._alias)

    def intersect(self, other: Stream, *, all: bool = False) -> Stream:
        """The rows that both streams have, each once; with `all` as often as both have it."""
        return Stream(sets.intersect(self._node, _stream(other, "intersect", "first.intersect(second)")._node, all))

    def subtract(self, other: Stream, *, all: bool = False) -> Stream:
        """The rows that the other stream has not, each once; with `all` as many times more often as this one has it."""
        return Stream(sets.subtract(self._node, _stream(other, "subtract", "first.subtract(second)")._node, all))

    def changes(self) -> Stream:
        """Each change as a row of its own, with the word `insert` or `delete` in the column `_change`.

        Behind `upserts` a row that takes the place of another is an update: two rows, with `update_before` and `update_after`.
        """
        return Stream(upserts.shown(self._node, kind_of(self._node)))

    def upserts(self, key: str | Iterable[str]) -> Stream:
        """One row for each key, `prices.upserts("product")`: each row that comes takes the place of the one with the same key.

        Of a stream from which rows are also taken away the key has to tell the rows apart: two of them at the end of an epoch stop the job
        with KEY_NOT_UNIQUE. What is known to do so, as the groups of an aggregate are, needs no state for it.
        """
        return Stream(upserts.upserts(self._node, key, kind_of(self._node)))

    def as_dataframe(self) -> DataFrame:
        """A DataFrame with its columns, to build a query with PySpark's own calls; `hr.from_dataframe` makes a stream of that again.

        Starts the session. The DataFrame has no rows: whatever would run it is refused.
        """
        return view_of(self)

    def watermark(self, column: str, delay: str | timedelta, *, idle: str | timedelta | None = None) -> Stream:
        """Event time: which column it is, and how much later than the newest one a row may come.

        `idle` is how long a silent source may hold back the others: `charges.watermark("ts", "5 minutes", idle="1 hour")`.
        """
        fed = feeding.fed(self._node)
        if fed is not None:
            return Stream(feeding.with_source(self._node, source.watermark(fed, column, delay, idle)), self._alias)
        return Stream(source.watermark(self._node, column, delay, idle), self._alias)

    def named(self, name: str) -> Stream:
        """The same under a name of your own, which state, metrics and errors then carry: `....process(P).named("alerts")`."""
        return Stream(replace(self._node, name=source.valid_name(name)), self._alias)

    def alias(self, name: str) -> Stream:
        """The same with a qualifier for its columns: in `charges.alias("c").filter("c.amount > 500")`, `c.amount` is `amount`."""
        return Stream(self._node, source.valid_name(name))

    def output(self, output_: Any) -> Stream:
        """Another output: "late", "dead_letter", or an hr.Output of the program, by the object or its name.

        A query has late rows where its groups close: of `.window(...).group_by("window_end").agg(...)` those that came after that. Where
        they expire, they are those that take away what is forgotten.
        """
        return Stream(letters.of_stream(self._node, output_, late_outputs(self._node)))

    def key_by(self, *columns: Column | str) -> Keyed:
        """Keyed by columns, for a program with state for each key: `charges.key_by("card").process(SmallThenLarge)`."""
        return Keyed(program.key_by(self._node, columns, self._alias))

    def process(self, program_: Any, *, order: str | None = None, time: str | None = None, **inputs: Any) -> Stream:
        """A program with one state for the whole stream; with a state for each key, write `.key_by(...).process(...)`."""
        return _process(program.Keys(self._node, ()), program_, order, time, inputs)


class Grouped(Verbs):
    """A stream with groups, to be followed by `agg`.

    >>> import headrace as hr
    >>> charges = hr.read.memory([("a", 900)], "card string, amount int", name="charges")
    >>> charges.group_by("card")
    <Grouped charges by card>
    """

    __slots__ = ("_groups",)

    def __init__(self, groups: aggregate.Groups) -> None:
        self._groups = groups

    def __repr__(self) -> str:
        return f"<Grouped {label(self._groups.node)} by {', '.join(self._groups.names) or 'nothing'}>"

    def agg(self, *columns: Column | str, **named: Column | str) -> Stream:
        """A row for each group, its aggregates kept up to date as rows come and go: `.agg(spent="sum(amount)", n=hr.f.count())`."""
        return Stream(aggregate.agg(self._groups, columns, named))


class Keyed(Verbs):
    """A stream with keys, to be followed by `process`.

    >>> import headrace as hr
    >>> charges = hr.read.memory([("a", 900)], "card string, amount int", name="charges")
    >>> charges.key_by("card")
    <Keyed charges by card>
    """

    __slots__ = ("_keys",)

    def __init__(self, keys: program.Keys) -> None:
        self._keys = keys

    def __repr__(self) -> str:
        return f"<Keyed {label(self._keys.node)} by {', '.join(self._keys.names)}>"

    def process(self, program_: Any, *, order: str | None = None, time: str | None = None, **inputs: Any) -> Stream:
        """What a program emits, with a state for each key.

        Other inputs are keyed streams by name: `flights.key_by("origin").process(AddWeather, weather=weather.key_by("origin"))`.
        `order="time"`, the default where all inputs have event time, handles the rows of a key in the order of their time, each when the
        watermark has passed it; `order="arrival"` handles them as they come. `time=` names the emitted column that is event time after it.
        """
        return _process(self._keys, program_, order, time, inputs)


def _stream(given: Any, verb: str, cure: str) -> Stream:
    if not isinstance(given, Stream):
        raise PlanError("BAD_INPUT", f"{verb} was given {given!r}, which is no stream", hint=cure, site=here())
    return given


def _process(keys: program.Keys, program_: Any, order: str | None, time: str | None, inputs: Mapping[str, Any]) -> Stream:
    nodes = [keys.node, *(keyed._keys.node for keyed in inputs.values() if isinstance(keyed, Keyed | program.Broadcasted))]
    for node in nodes:
        if kind_of(node) != "append":
            message = f"{program.title(program_)} takes rows that are added, and from {label(node)} rows are also taken away"
            hint = "let it handle each change: .changes() gives them as rows, with the word insert or delete in the column _change"
            raise PlanError("CHANGES_NOT_YET", message, hint=hint, site=here())
    return Stream(program.process(keys, program_, order=order, time=time, inputs=inputs, times={one: event_time(one) for one in nodes}))
