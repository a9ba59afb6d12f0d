"""Sources whose rows are changes: with the operation in a column, as Debezium's envelopes, or as rows that replace others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Self

from headrace.errors import ConnectorError, PlanError, here
from headrace.ops.change_words import DEBEZIUM, WITHOUT_CHANGE, after_items, weight
from headrace.ops.columns import column_name
from headrace.ops.generate import Generated
from headrace.ops.handle import Handle, verb
from headrace.ops.ledger import ledger
from headrace.ops.operator import operator
from headrace.ops.project import Project
from headrace.ops.signatures import CHANGES
from headrace.ops.source import Source, sources_of, watermark
from headrace.ops.upserts import Upserts, key_of
from headrace.ops.weigh import weigh
from headrace.plan import Node
from headrace.plan.naming import with_inputs
from headrace.ports.options import choice, flag, wrong
from headrace.schema import Struct, parse_schema, plain_type, schema_of
from headrace.syntax import quote

OPTIONS = tuple(one.name for one in CHANGES)
"""The options of a source of changes, beside those of its connector."""


@dataclass(frozen=True)
class Feeding:
    """How the rows of a source are changes; `verb` is the call in errors.

    `format` "debezium": envelopes; "upsert": each row takes the place of the one with the same `key`. `column` has a word that says what a
    row does. `trusted`: no ledger checks whether a retracted row was present.
    """

    verb: str
    column: str | None = None
    format: str | None = None
    key: Any = None
    trusted: bool = False

    def schema(self, schema: Any) -> Any:
        """Return the schema that the connector reads, given the user's schema of the rows."""
        if self.format != "debezium" or schema is None:
            return schema
        row = f"struct<{', '.join(f'{quote(field.name)}: {field.type}' for field in schema_of(schema).fields)}>"
        envelope = f"before: {row}, after: {row}, op: string"
        return f"before {row}, after {row}, op string, payload struct<{envelope}>"

    @property
    def keys(self) -> tuple[str, ...]:
        return (self.key,) if isinstance(self.key, str) else tuple(self.key or ())

    def rows(self, envelope: Struct) -> Struct:
        """Return the columns of the rows in envelopes whose schema was inferred.

        They are in `payload`, if Debezium sends a schema, else at the top; and in `after`, as the rows read may have no `before`.
        """
        payload = envelope.get("payload")
        for place in (payload, envelope) if isinstance(payload, Struct) else (envelope,):
            rows, op = place.get("after"), place.get("op")
            if isinstance(rows, Struct) and op is not None and plain_type(op) == "string":
                return rows
        message = f"{self.verb}: found no envelopes with `op` and the columns of rows in `after`"
        raise ConnectorError("SCHEMA_NEEDED", message, hint='give the columns of the rows: schema="id bigint, name string"', site=here())

    def stream(self, source: Source) -> Node:
        """Return the rows of the source as changes."""
        traits = source.connect().traits
        if self.format == "debezium":
            rows = _debezium(source)
        elif self.column is not None:
            rows = _weighed_by(source, self.column, keyed=self.format == "upsert")
        else:
            rows = source
        if self.format == "upsert":
            if traits.ordered == "time":
                message = f"{self.verb}: the order of file times does not determine the last row of a key"
                raise wrong(message, 'read the files in the order of their names: by="name"')
            return Upserts(rows, key_of(rows, self.key, self.verb), last=True, site=here())
        judged = traits.checked or rows is not source
        return ledger(rows) if judged and not self.trusted else rows


def taken(connector: str, takes: bool, options: dict[str, Any]) -> Feeding:
    """Take the options for changes out of a source's options and return what they mean."""
    own = {name: options.pop(name) for name in OPTIONS if name in options} if takes else {}
    return _feeding(f"read.{connector}", own)


def _feeding(verb: str, options: Mapping[str, Any]) -> Feeding:
    column, format, key = (options.get(name) for name in ("change_column", "change_format", "key"))
    if format is not None:
        choice(verb, "change_format", format, ("debezium", "upsert"))
    if format == "debezium" and column is not None:
        raise wrong(f"{verb}: change_column and change_format cannot be combined", "give one of them")
    if format == "upsert" and key is None:
        raise wrong(f'{verb}: change_format="upsert" needs a key', 'name the columns of the key: key="id"')
    if format != "upsert" and key is not None:
        raise wrong(f'{verb}: a key needs change_format="upsert"', 'add change_format="upsert", or leave key out')
    trusted = options.get("trusted")
    if trusted is not None and not flag(verb, "trusted", trusted):
        trusted = False
    # Debezium's `before` comes from the database's log.
    return Feeding(verb, column, format, key, format == "debezium" if trusted is None else trusted)


def _weighed_by(source: Source, column: str, *, keyed: bool) -> Node:
    name = column_name(source, column)
    weighed = weigh(source, weight(name, keyed=keyed))
    items = tuple((one, quote(one)) for one in source.columns if one != name)
    if not items:
        raise PlanError(
            "NO_COLUMNS", "there are no columns besides the change column", hint="add the other columns to the schema", site=here()
        )
    return Project(weighed, WITHOUT_CHANGE, items, site=here())


def _debezium(source: Source) -> Node:
    """Return each envelope as a retraction and an insertion. An update without `before` fails, as the row it replaces is unknown."""
    op, before, after = (f"if(payload IS NULL, {name}, payload.{name})" for name in ("op", "before", "after"))
    states = f"array(named_struct('w', -1L, 'row', {before}), named_struct('w', 1L, 'row', {after}))"
    missing = f"concat('NO_CHANGE: the operation is ', coalesce({op}, 'missing'))"
    refused = {
        f"{op} IS NULL OR {op} NOT IN ('c', 'r', 'u', 'd')": missing,
        f"{op} IN ('u', 'd') AND {before} IS NULL": "'NO_BEFORE: it is not said which row is replaced or deleted'",
        f"{op} IN ('c', 'r', 'u') AND {after} IS NULL": "'NO_AFTER: it is not said which row is added'",
        f"{op} IN ('c', 'r') AND {before} IS NOT NULL": "'ODD_BEFORE: a row that is added has none before it'",
        f"{op} = 'd' AND {after} IS NOT NULL": "'ODD_AFTER: a row that is deleted has none after it'",
    }
    cases = " ".join(f"WHEN {condition} THEN raise_error({reason})" for condition, reason in refused.items())
    both = f"CASE {cases} ELSE filter({states}, s -> s.row IS NOT NULL) END"
    changes = Generated(source, f"explode({both})", ("change",), False, site=here())
    return Project(weigh(changes, "change.w"), DEBEZIUM, after_items(parse_schema(source.schema)), site=here())


def fed(node: Node) -> Source | None:
    """Return the source whose changes a node has; None if it has others."""
    while operator(node).reads_changes:
        node = node.inputs[0]
    return next(iter(sources_of([node])), None)


def over(node: Node, schemas: Mapping[str, str]) -> Node:
    """Return the node over sources with these schemas, by their names: the projection of changes gets all their columns."""
    source = fed(node)
    if source is None or str(source.name) not in schemas:
        return node
    return operator(node).over_schema(parse_schema(schemas[str(source.name)]), source.columns)


def with_source(node: Node, source: Source) -> Node:
    """Return the same changes of another source."""
    return with_inputs(node, {before: with_source(before, source) for before in node.inputs}) if node.inputs else source


class WatermarkVerb(Handle):
    __slots__ = ()

    @verb("watermark")
    def watermark(self, column: str, delay: str | timedelta, *, idle: str | timedelta | None = None) -> Self:
        """Declares the event time of a source and how late its rows may come.

        The watermark is the newest event time so far, minus the delay; with several sources, the watermark of a [streaming
        query](../../concepts/epochs.md#streaming-queries) is the minimum over its sources. It moves at the end of an epoch. A window closes
        when the watermark reaches its end; a program with `order="time"` handles a row when the watermark reaches its time. Rows that
        arrive after that are [late](../../concepts/time.md#late-rows).

        Args:
            column: The name of a column of type timestamp.
            delay: How much older than the newest row a row may be and still be in time: a duration such as `"5 minutes"`.
            idle: A duration: after this time without new rows, by the machine's clock, this source no longer holds back the watermark.
                Default: it holds it back without limit.

        Raises:
            PlanError: `WATERMARK_PLACE` if the stream is not a source or has a watermark already; `WATERMARK_TYPE` if the column is not a
                timestamp; `UNKNOWN_COLUMN` if it does not exist.
            SchemaError: `BAD_DURATION` if `delay` or `idle` is not a duration.

        Examples:
            >>> import headrace as hr
            >>> charges = hr.read.memory([("a", "2026-01-01 12:00:00")], "card string, ts timestamp", name="charges")
            >>> charges.watermark("ts", "5 minutes", idle="1 hour")
            <Stream charges: card, ts>
        """
        source = fed(self._node)
        if source is not None:
            return self._then(with_source(self._node, watermark(source, column, delay, idle)), self._alias)
        return self._then(watermark(self._node, column, delay, idle), self._alias)
