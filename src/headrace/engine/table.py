"""Table: rows of a result, in this process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from headrace.errors import HeadraceError
from headrace.schema import Struct, parse_schema, plain

if TYPE_CHECKING:
    import pandas
    import pyarrow


class Table:
    """The rows of a result with their schema, returned by `hr.collect`, `State.table`, `State.query` and `Letters.table`.

    It prints as a table, also in a notebook.

    * `schema`: the columns and their types.
    * `more`: whether rows were left out because of a `limit`.

    `len(table)` is the number of rows. They are in the memory of the driver, so write large results with a sink.

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", 7), ("b", None)], "card string, amount int", name="charges")
        >>> table = hr.collect(charges)
        >>> table.rows()
        [('a', 7), ('b', None)]
        >>> print(table.shown(1))
        card  amount
        ----  ------
        a     7
        ... 1 more
        >>> table.to_json()
        [{'card': 'a', 'amount': 7}, {'card': 'b', 'amount': None}]
        >>> table.to_arrow().column_names, list(table.to_pandas().columns)
        (['card', 'amount'], ['card', 'amount'])
        >>> len(table.dead_letters)
        0
    """

    letters: ClassVar[Struct] = parse_schema(
        "epoch bigint, time timestamp, source string, node string, reason string, file string, position bigint, raw string"
    )
    """The columns of dead letters."""

    def __init__(self, rows: Sequence[tuple[Any, ...]], schema: Struct, *, more: bool = False, dead_letters: Table | None = None) -> None:
        self._rows = tuple(rows)
        self._dead_letters = dead_letters
        self.schema = schema
        self.more = more
        """Whether rows were left out because only so many were asked for."""

    def rows(self) -> list[tuple[Any, ...]]:
        """Returns the rows as tuples. Timestamps are timezone-aware datetimes, in the session's time zone; structs are tuples."""
        return list(self._rows)

    @property
    def dead_letters(self) -> Table:
        """The rows that failed in `hr.collect`, with the columns of `Letters.table`. Empty for other tables."""
        return Table((), Table.letters) if self._dead_letters is None else self._dead_letters

    def __len__(self) -> int:
        return len(self._rows)

    def to_arrow(self) -> pyarrow.Table:
        """Returns the rows as a `pyarrow.Table` in the types of the schema.

        Raises:
            ConfigError: `PACKAGE_MISSING` without pyarrow.
        """
        arrow = _installed("pyarrow", "to_arrow")
        from pyspark.sql.pandas.types import to_arrow_schema
        from pyspark.sql.types import StructType

        types = StructType.fromDDL(self.schema.ddl)
        assert isinstance(types, StructType)  # a list of columns is one
        schema = to_arrow_schema(types, timezone="UTC")
        columns = list(zip(*self._rows, strict=True)) or [()] * len(self.schema.fields)
        return arrow.Table.from_arrays(
            [arrow.array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
        )

    def to_pandas(self) -> pandas.DataFrame:
        """Returns the rows as a `pandas.DataFrame`.

        Raises:
            ConfigError: `PACKAGE_MISSING` without pyarrow and pandas.
        """
        _installed("pandas", "to_pandas")
        return self.to_arrow().to_pandas()

    def to_json(self) -> list[dict[str, Any]]:
        """Returns the rows as dicts that `json.dumps` takes: structs as dicts, times as ISO text, decimals as text, bytes as Base64."""
        return [plain(row, self.schema) for row in self._rows]

    def shown(self, n: int = 20) -> str:
        """Returns the first rows as text in aligned columns.

        Args:
            n: The number of rows.
        """
        head = list(self.schema.names)
        lines = [head, *([_text(value) for value in row] for row in self._rows[:n])]
        widths = [max((len(line[i]) for line in lines), default=0) for i in range(len(head))]
        drawn = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
        drawn.insert(1, "  ".join("-" * width for width in widths))
        rest = len(self._rows) - n
        last = "... more" if self.more else f"... {rest:,} more" if rest > 0 else f"({self._count})"
        return "\n".join([*drawn, last])

    def __str__(self) -> str:
        return self.shown()

    @property
    def _count(self) -> str:
        return f"{len(self._rows):,} row{'' if len(self._rows) == 1 else 's'}"

    def __repr__(self) -> str:
        return f"<Table {', '.join(self.schema.names)}: {self._count}>"

    def _repr_html_(self) -> str:
        from html import escape

        head = "".join(f"<th>{escape(name)}</th>" for name in self.schema.names)
        body = "".join(
            "<tr>" + "".join(f"<td>{'' if value is None else escape(_text(value))}</td>" for value in row) + "</tr>"
            for row in self._rows[:20]
        )
        rest = len(self._rows) - 20
        more = "<p>more rows</p>" if self.more else f"<p>{rest:,} more rows</p>" if rest > 0 else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _text(value: Any) -> str:
    """Return the text of a value in a printed table; a struct as Spark prints it."""
    match value:
        case None:
            return "NULL"
        case tuple():
            return "{" + ", ".join(_text(part) for part in value) + "}"
        case list():
            return "[" + ", ".join(_inner(part) for part in value) + "]"
        case dict():
            return "{" + ", ".join(f"{_inner(name)}: {_inner(part)}" for name, part in value.items()) + "}"
    return str(value)


def _inner(value: Any) -> str:
    """Return the text of a value inside an array or a map, where quotes show the end of a text."""
    return repr(value) if isinstance(value, str) else _text(value)


def _installed(module: str, method: str) -> Any:
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError:
        hint = "install pyarrow and pandas: pip install 'headrace[arrow]'; or use .rows(), which needs neither"
        raise HeadraceError("PACKAGE_MISSING", f".{method}() needs the package {module}, which is not installed", hint=hint) from None
