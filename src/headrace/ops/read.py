"""hr.read: sources by the names of their connectors."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, NoReturn

from headrace.errors import HeadraceError, here
from headrace.masking import leaving
from headrace.ops.feeding import taken
from headrace.ops.handle import other_stream
from headrace.ops.hybrid import hybrid
from headrace.ops.signatures import described, names
from headrace.ops.source import source
from headrace.ops.stream import Stream
from headrace.ports import Source, source_class
from headrace.ports.options import build, by_name
from headrace.ports.registry import names_with, unnamed


class Read:
    """The sources, by connector: `hr.read.<connector>(…)` returns a stream. `dir(hr.read)` lists the connectors.

    `name` names the source in plans, metrics and checkpoints. By default the name comes from the path, table or topic. Without a `schema`,
    `files` infers it from the files, `jdbc` takes the columns of the table or query, and `kafka` those of the registry or schema file. That
    starts Spark, as `delta` and `iceberg` always do, which take the columns of the table.

    `files`, `jdbc`, `kafka` and `memory` can read [changes](../../guides/queries.md#sources-of-changes):

    * `change_column`: the column with the [word](../../guides/queries.md#words-of-a-change-column), such as `insert` or `delete`, that says
      what a row does.
    * `change_format`: with `"debezium"`, each row is an envelope, and `schema` has the columns of the rows in it. With `"upsert"`, a row
      replaces the row with the same `key`; with a `change_column` too, a word for deletion deletes that row.
    * `key`: the key columns for `"upsert"`.
    * `trusted`: by default headrace counts the current rows (a ledger), and a retraction of an absent row becomes a dead letter
      (`NEVER_ADDED`). `True`, the default for Debezium, turns this off. Upserts need no ledger.

    Examples:
        >>> import headrace as hr
        >>> hr.read.memory([("a", 1)], "card string, amount int", name="charges")
        <Stream charges: card, amount>
    """

    __slots__ = ()

    def __dir__(self) -> list[str]:
        return list(names_with("Source"))

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        raise unnamed("Source")

    def hybrid(self, history: Stream, *, then: Stream, at: str | datetime | None = None) -> Stream:
        """Reads history to its end, and then live rows, as one source with one watermark. A restart goes on where the job was.

        The sources of `then` are not read before those of `history` have ended. Where the live rows begin is fixed in the first epoch, so
        that none is missed that comes while history is read. Give both sources the same watermark; verbs without state may follow them.

        If both have some rows, cut them at a time, or remove the rows that come twice: `.dedupe(on="id", expires="3 days")`.

        Args:
            history: A stream of sources that end: files, a table, a topic with an end.
            then: A stream of the same columns.
            at: A time: rows of history since then and live rows before it are left out, by event time. Rows without a time stay. A text is
                in the job's time zone.

        Raises:
            PlanError: `BAD_HYBRID` if history does not end, if the watermarks differ, if an operator of the streams keeps state, or if a
                source would have to end before it is read; `NO_WATERMARK` for `at` without event time; `UNION_COLUMNS` if the columns
                differ; `BAD_INPUT` if an argument is no stream.

        Examples:
            >>> import headrace as hr
            >>> a, b, c = ("a", "2026-01-01 09:00:00"), ("b", "2026-01-02 09:00:00"), ("c", "2026-01-03 09:00:00")
            >>> archive = hr.read.memory([a, b], "card string, ts timestamp", name="archive").watermark("ts", "5 minutes")
            >>> live = hr.read.memory([b, c], "card string, ts timestamp", name="live").watermark("ts", "5 minutes")
            >>> rows = hr.read.hybrid(archive, then=live, at="2026-01-02 00:00:00")
            >>> [card for card, _ in hr.collect(rows).rows()]
            ['a', 'b', 'c']
        """
        nodes = [other_stream(stream, "read.hybrid", "hr.read.hybrid(history, then=live)")._node for stream in (history, then)]
        return Stream(hybrid(nodes[0], nodes[1], at))

    def __getattr__(self, connector: str) -> Callable[..., Stream]:
        if connector.startswith("_"):
            raise AttributeError(connector)
        cls = source_class(connector)

        def read(*arguments: Any, name: str | None = None, **options: Any) -> Stream:
            feeding = taken(connector, cls.feeds, options)
            arguments, options = by_name("schema", cls, arguments, options)

            def source_of(rows: Any) -> Source:
                if rows is not None:
                    options["schema"] = feeding.schema(rows)
                connected = build(cls, f"read.{connector}", arguments, options, names(cls, "Source"))
                if feeding.format is not None:
                    connected.feed(feeding.format, feeding.keys)
                return connected

            rows = options.get("schema")
            connected = source_of(rows)
            if connected.schema is not None:
                return Stream(feeding.stream(source(connected, connected.schema.ddl, name)))
            from headrace.jvm.session import session

            site = here()
            try:
                with leaving():
                    inferred = connected.infer(session())
            except HeadraceError as error:
                error.site = error.site or site
                raise
            if feeding.format == "debezium":
                # From here on as if the user had given these columns; other fields of envelopes are not read.
                connected = source_of(feeding.rows(inferred))
                inferred = connected.schema or inferred
            return Stream(feeding.stream(source(connected, inferred.ddl, name, inferred=True)))

        described(read, connector, cls, "Source", Stream)
        return read


read = Read()
