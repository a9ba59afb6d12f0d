"""hr.read: sources by the names of their connectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from headrace.errors import HeadraceError, here
from headrace.masking import leaving
from headrace.ops.feeding import taken
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
