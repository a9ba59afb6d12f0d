"""Column: a handle on an expression whose operators build text and never compute."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from headrace.errors import PlanError, here
from headrace.expr.expression import Expression, of
from headrace.expr.handler import equal_to, in_handler
from headrace.expr.hints import cure, loop_cure
from headrace.expr.literal import literal
from headrace.expr.pyspark_column import refuse_mixing, refuse_pyspark
from headrace.expr.text_argument import alias_text
from headrace.schema.ddl import type_text
from headrace.syntax import quote
from headrace.words import method_cure

_CONSTANT = re.compile(r"\s*(?:[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|true|false)\s*", re.IGNORECASE)
# The precedence of operators; an operand of a lower one gets parentheses.
ANY, OR, AND, NOT, COMPARE, SUM, PRODUCT, SIGN, ATOM = range(9)
AROUND = "in Python & and | bind tighter than comparisons: put comparisons in parentheses, (x == 1) & (y > 5)"


@dataclass(frozen=True)
class Call:
    """The parts of a function call, from which `.where`, `.distinct` and `.over` make a new one."""

    name: str
    arguments: tuple[str, ...]
    distinct: bool = False
    where: str | None = None

    @property
    def text(self) -> str:
        arguments = ", ".join(self.arguments)
        text = f"{self.name}({'DISTINCT ' if self.distinct else ''}{arguments})"
        return f"{text} FILTER (WHERE {self.where})" if self.where else text


class Column:
    """A column, or an expression over columns, whose operators build Spark SQL text.

    `c[0]` is an item of an array (counted from 0), `c["k"]` is the value for a key of a map, `c.name` a field of a struct. Combine
    conditions with `&`, `|` and `~`, and put comparisons in parentheses. A Python value in an operation becomes a literal (`BAD_LITERAL` if
    SQL has none for it); `hr.expr` turns a text into an expression. Python cannot compute with a column: `if`, `and`, `in` and `len` raise
    `TRACED_BOOL` or `TRACED_VALUE`, a comparison with None `NULL_COMPARISON`.

    Examples:
        >>> import headrace as hr
        >>> (hr.col("country") == "SE") & ~hr.col("closed") | (hr.col("amount") * 2 > 500)
        <Column country = 'SE' AND NOT closed OR amount * 2 > 500>
        >>> hr.col("place").city.cast("string").alias("city"), hr.col("amount").asc(), hr.col("amount").desc()
        (<Column CAST(place.city AS string) AS city>, <Column amount ASC>, <Column amount DESC>)
        >>> hr.col("n").is_null(), hr.col("n").is_not_null(), hr.col("n").is_in(1, 2), hr.col("n").between(1, 9), hr.col("n").like("4%")
        (<Column n IS NULL>, <Column n IS NOT NULL>, <Column n IN (1, 2)>, <Column n BETWEEN 1 AND 9>, <Column n LIKE '4%'>)
        >>> hr.f.count("card").distinct().where("amount > 500"), hr.f.sum("amount").over(per="card", by="ts desc")
        (<Column count(DISTINCT card) FILTER (WHERE amount > 500)>, <Column sum(amount) OVER (PARTITION BY card ORDER BY ts desc)>)
    """

    __slots__ = ("_binds", "_call", "_expression")
    _expression: Expression
    _binds: int
    _call: Call | None
    __hash__ = None  # type: ignore[assignment]  # == builds an expression, so sets cannot find a column

    def __init__(self, expression: Expression, binds: int = ANY, call: Call | None = None) -> None:
        self._expression = expression
        self._binds = binds
        self._call = call

    def __repr__(self) -> str:
        name = self._expression.alias
        return f"<Column {self._expression.text}{f' AS {quote(name)}' if name else ''}{equal_to(self)}>"

    def __add__(self, other: Any) -> Column:
        return binary(self, "+", other, SUM)

    def __radd__(self, other: Any) -> Column:
        return binary(other, "+", self, SUM)

    def __sub__(self, other: Any) -> Column:
        return binary(self, "-", other, SUM)

    def __rsub__(self, other: Any) -> Column:
        return binary(other, "-", self, SUM)

    def __mul__(self, other: Any) -> Column:
        return binary(self, "*", other, PRODUCT)

    def __rmul__(self, other: Any) -> Column:
        return binary(other, "*", self, PRODUCT)

    def __truediv__(self, other: Any) -> Column:
        return binary(self, "/", other, PRODUCT)

    def __rtruediv__(self, other: Any) -> Column:
        return binary(other, "/", self, PRODUCT)

    def __mod__(self, other: Any) -> Column:
        return binary(self, "%", other, PRODUCT)

    def __rmod__(self, other: Any) -> Column:
        return binary(other, "%", self, PRODUCT)

    def __neg__(self) -> Column:
        return composed(f"-{inside(self, ATOM)}", SIGN, self)

    def __eq__(self, other: object) -> Column:  # type: ignore[override]  # == builds an expression
        return compare(self, "=", other)

    def __ne__(self, other: object) -> Column:  # type: ignore[override]  # != builds an expression
        return compare(self, "!=", other)

    def __lt__(self, other: Any) -> Column:
        return compare(self, "<", other)

    def __le__(self, other: Any) -> Column:
        return compare(self, "<=", other)

    def __gt__(self, other: Any) -> Column:
        return compare(self, ">", other)

    def __ge__(self, other: Any) -> Column:
        return compare(self, ">=", other)

    def __and__(self, other: Any) -> Column:
        return binary(self, "AND", other, AND)

    def __rand__(self, other: Any) -> Column:
        return binary(other, "AND", self, AND)

    def __or__(self, other: Any) -> Column:
        return binary(self, "OR", other, OR)

    def __ror__(self, other: Any) -> Column:
        return binary(other, "OR", self, OR)

    def __invert__(self) -> Column:
        return composed(f"NOT {inside(self, NOT)}", NOT, self)

    def __getitem__(self, index: Any) -> Column:
        """An item of an array (counted from 0), the value of a map's key, or a field of a struct."""
        key = operand(index)
        return composed(f"{inside(self, ATOM)}[{key._expression.text}]", ATOM, self, key)

    def __getattr__(self, name: str) -> Column:
        """A field of a struct."""
        if name.startswith("_"):
            raise AttributeError(name)
        return composed(f"{inside(self, ATOM)}.{quote(name)}", ATOM, self)

    def cast(self, to: Any) -> Column:
        """Casts to another type. A value that does not fit makes the row fail. With `spark.sql.ansi.enabled=false`, a malformed value
        becomes null and an integer that is too large wraps around, as in Spark.

        Args:
            to: The type, in Spark's DDL such as `"decimal(10,2)"` or as a PySpark type.

        Raises:
            SchemaError: `BAD_TYPE` if `to` is neither.
        """
        refuse_pyspark(to)
        return composed(f"CAST({self._expression.text} AS {to if isinstance(to, str) else type_text(to)})", ATOM, self)

    def alias(self, name: str) -> Column:
        """Gives the expression a name, as `AS` does.

        Args:
            name: The name of the resulting column.
        """
        return Column(replace(self._expression, alias=alias_text(name)), self._binds, self._call)

    def asc(self) -> Column:
        """The ascending order, nulls first, for `by` of `top`, `dedupe` and `over`. For nulls last write SQL: `"n asc nulls last"`."""
        return composed(f"{self._expression.text} ASC", ANY, self)

    def desc(self) -> Column:
        """The descending order, nulls last, for `by` of `top`, `dedupe` and `over`. For nulls first write SQL: `"n desc nulls first"`."""
        return composed(f"{self._expression.text} DESC", ANY, self)

    def is_null(self) -> Column:
        """True where the value is null."""
        return composed(f"{inside(self, COMPARE + 1)} IS NULL", COMPARE, self)

    def is_not_null(self) -> Column:
        """True where the value is not null."""
        return composed(f"{inside(self, COMPARE + 1)} IS NOT NULL", COMPARE, self)

    def is_in(self, *values: Any) -> Column:
        """True where the value equals one of several; null for a null, as SQL's `IN`. Without values it is false.

        Args:
            *values: Columns or Python values, or one list, tuple or set of them.
        """
        if len(values) == 1 and isinstance(values[0], list | tuple | set | frozenset):
            values = tuple(sorted(values[0], key=repr) if isinstance(values[0], set | frozenset) else values[0])
        if not values:
            return composed("false", ATOM, self)
        items = [operand(value) for value in values]
        return composed(f"{inside(self, COMPARE + 1)} IN ({', '.join(item._expression.text for item in items)})", COMPARE, self, *items)

    def between(self, low: Any, high: Any) -> Column:
        """True where the value lies between `low` and `high`, both included.

        Args:
            low: The smallest value, a column or a Python value.
            high: The largest value.
        """
        first, last = operand(low), operand(high)
        return composed(f"{inside(self, SUM)} BETWEEN {inside(first, SUM)} AND {inside(last, SUM)}", COMPARE, self, first, last)

    def like(self, pattern: str) -> Column:
        """True where a string matches a pattern, as in SQL's `LIKE`.

        Args:
            pattern: `%` stands for any text, `_` for one character.
        """
        return composed(f"{inside(self, COMPARE + 1)} LIKE {literal(pattern)}", COMPARE, self)

    def where(self, condition: Column | str) -> Column:
        """Restricts an aggregate to the rows that meet a condition, as SQL's `FILTER (WHERE …)`.

        Args:
            condition: A SQL text or column. Conditions of several calls are combined with AND.

        Raises:
            PlanError: `NOT_AN_AGGREGATE` if it is not called on a function call, such as `hr.f.count("card")`.
        """
        condition_column = sql(condition)
        return self._again("where", where=condition_column._expression.text, others=(condition_column,))

    def distinct(self) -> Column:
        """Makes an aggregate use each distinct value once, as SQL's `DISTINCT`.

        Raises:
            PlanError: `NOT_AN_AGGREGATE` if it is not called on a function call, such as `hr.f.count("card")`.
        """
        return self._again("distinct", distinct=True)

    def over(
        self, *, per: Column | str | Iterable[Column | str] = (), by: Column | str | Iterable[Column | str] = (), frame: str | None = None
    ) -> Column:
        """Turns a function into a window function, as SQL's `OVER`.

        Args:
            per: The columns of the partition. Default: all rows are one partition.
            by: The order: columns or SQL texts such as `"ts desc"`.
            frame: The frame in SQL, such as `"ROWS BETWEEN 2 PRECEDING AND CURRENT ROW"`. Default: as in Spark, with `by` `RANGE BETWEEN
                UNBOUNDED PRECEDING AND CURRENT ROW`, else the whole partition.

        Raises:
            PlanError: `NOT_AN_AGGREGATE` if it is not called on a function call, such as `hr.f.count("card")`.
        """
        if self._call is None:
            raise self._not_a_call("over")
        partition, order = listed(per), listed(by)
        parts = []
        if partition:
            parts.append("PARTITION BY " + ", ".join(item._expression.text for item in partition))
        if order:
            parts.append("ORDER BY " + ", ".join(item._expression.text for item in order))
        if frame:
            parts.append(frame)
        return composed(f"{self._call.text} OVER ({' '.join(parts)})", ATOM, self, *partition, *order)

    def _again(self, method: str, *, where: str | None = None, distinct: bool = False, others: tuple[Column, ...] = ()) -> Column:
        call = self._call
        if call is None:
            raise self._not_a_call(method)
        if where and call.where:
            where = f"({call.where}) AND ({where})"
        call = replace(call, where=where or call.where, distinct=distinct or call.distinct)
        column = composed(call.text, ATOM, self, *others)
        return Column(replace(column._expression, alias=self._expression.alias), ATOM, call)

    def _not_a_call(self, method: str) -> PlanError:
        return PlanError(
            "NOT_AN_AGGREGATE",
            f".{method}() must follow a function call, but this is `{self._expression.text}`",
            hint=f'call it on the function: hr.f.sum("amount").{method}(...)',
            site=here(),
        )

    def __bool__(self) -> NoReturn:
        raise PlanError(
            "TRACED_BOOL",
            f"`{self._expression.text}` has a value only when the job runs, so Python cannot use it as a condition",
            hint=cure(),
            site=here(),
        )

    def __iter__(self) -> Iterator[Any]:
        refuse_mixing(self._expression.text)
        raise self._no_value("loop over it", loop_cure(in_handler.get()))

    def __len__(self) -> int:
        raise self._no_value("take its length", "use hr.f.size(...) for arrays and maps, hr.f.length(...) for strings")

    def __contains__(self, item: object) -> bool:
        raise self._no_value("search it with `in`", "use hr.f.array_contains(...) for arrays, .like(...) for strings")

    def __int__(self) -> int:
        raise self._no_value("convert it to an int", 'use .cast("int")')

    def __float__(self) -> float:
        raise self._no_value("convert it to a float", 'use .cast("double")')

    def __index__(self) -> int:
        raise self._no_value("use it as an index", "index a column instead: col(...)[col(...)]")

    def __str__(self) -> str:
        if in_handler.get():
            raise self._no_value(
                "convert it to a string",
                'use hr.f.concat(...) or hr.f.format_string(...), or .cast("string") for one value; repr(...) shows the expression',
            )
        return repr(self)

    def __call__(self, *arguments: Any, **keywords: Any) -> NoReturn:
        name = self._expression.text.rpartition(".")[2].strip("`")
        public = [method for method in vars(Column) if not method.startswith("_")]
        raise PlanError("UNKNOWN_METHOD", f"columns have no method `{name}`", hint=method_cure(name, public), site=here())

    def _no_value(self, action: str, hint: str) -> PlanError:
        message = f"`{self._expression.text}` has a value only when the job runs, so Python cannot {action}"
        return PlanError("TRACED_VALUE", message, hint=hint, site=here())


def composed(text: str, binds: int, *of_columns: Column) -> Column:
    """Returns a column with a text built from other columns, and with all names in these."""
    names = dict.fromkeys(name for column in of_columns for name in column._expression.names)
    return Column(Expression(text, tuple(names), here()), binds)


def operand(value: Any) -> Column:
    """Returns a column unchanged, and any other value as a literal."""
    if isinstance(value, Column):
        return value
    text = literal(value)
    return Column(Expression(text, (), here()), SIGN if text.startswith("-") else ATOM)


def sql(value: Any) -> Column:
    """Returns a column unchanged, and a text as Spark SQL."""
    if isinstance(value, Column):
        return value
    if isinstance(value, str):
        expression = of(value, site=here())
        return Column(expression, ATOM if expression.names and re.fullmatch(r"[\w.`]+", value) else ANY)
    return operand(value)  # other values are literals, whatever the annotation promised


def argument(value: Any, called: str) -> Column:
    """Returns an argument of a function as a column: a text is SQL. Warns of one that looks like a constant, as the text may be meant."""
    if isinstance(value, str) and _CONSTANT.fullmatch(value):
        kind = "true or false" if value.strip().isalpha() else "a number"
        message = f"{called}: a string is SQL, so {value!r} is {kind}; write hr.lit({value!r}) for the string, or the Python value"
        site = here()
        warnings.warn_explicit(message, UserWarning, site.file if site else "headrace", site.line if site else 0)
    return sql(value)


def listed(values: Column | str | Iterable[Column | str]) -> tuple[Column, ...]:
    """Returns one column or several as a tuple."""
    if isinstance(values, Column | str):
        return (sql(values),)
    refuse_pyspark(values)
    return tuple(sql(value) for value in values)


def inside(column: Column, binds: int) -> str:
    """Returns a column's text as an operand of an operator with precedence `binds`, in parentheses if its own is lower."""
    text = column._expression.text
    return text if column._binds >= binds else f"({text})"


def binary(left: Any, sign: str, right: Any, binds: int) -> Column:
    first, second = operand(left), operand(right)
    if sign in ("AND", "OR"):
        for side in (left, right):
            if not isinstance(side, Column | bool | None):
                raise PlanError("WRONG_TYPE", f"{side!r} is not a boolean, as both sides of {sign} must be", hint=AROUND, site=here())
    # AND and OR are associative. The right operand of others keeps its parentheses: a - (b + c).
    right_binds = binds if sign in ("AND", "OR") else binds + 1
    return composed(f"{inside(first, binds)} {sign} {inside(second, right_binds)}", binds, first, second)


def compare(left: Column, sign: str, right: Any) -> Column:
    if right is None:
        hint = "use .is_not_null()" if sign == "!=" else "use .is_null()"
        raise PlanError("NULL_COMPARISON", f"`{left._expression.text} {sign} NULL` is never true in SQL", hint=hint, site=here())
    other = operand(right)
    return composed(f"{inside(left, COMPARE + 1)} {sign} {inside(other, COMPARE + 1)}", COMPARE, left, other)
