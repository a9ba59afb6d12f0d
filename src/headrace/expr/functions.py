"""hr.f: every function of Spark by its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.expr.column import ATOM, Call, Column, argument, composed


class Functions:
    """Calls any function of Spark SQL by its name: `hr.f.sum("amount")`, `hr.f.round(hr.col("amount"), 1)`.

    A text argument is a SQL expression, such as a column's name, and not a string: write `hr.lit("x")` for a string. Other Python values
    are literals. headrace warns about a text that looks like a number, such as `"1"`.

    * `hr.f.count()` is `count(*)`.
    * A name that is a Python keyword has an underscore at its end: `hr.f.if_`.
    * JVM functions that are registered on the session can be called too; [Python functions
      cannot](../../guides/queries.md#user-defined-functions).
    * `.over(…)`, `.where(…)` and `.distinct()` make it a window function, a filtered or a distinct aggregate ([Column](#Column)).

    Spark reports unknown functions and wrong arguments when the plan is checked (`UNKNOWN_FUNCTION`, `WRONG_TYPE`).

    Examples:
        >>> import headrace as hr
        >>> charges = hr.read.memory([("a", 7), ("a", 2), ("b", 5)], "card string, amount int", name="charges")
        >>> sums = charges.group_by("card").agg(spent=hr.f.sum("amount"), most=hr.f.max(hr.col("amount") * 100))
        >>> sorted(hr.collect(sums).rows())
        [('a', 9, 700), ('b', 5, 500)]
        >>> hr.f.round(hr.col("amount") * 2, 1)
        <Column round(amount * 2, 1)>
        >>> hr.f.if_("amount > 500", hr.lit("large"), hr.lit("small"))
        <Column if(amount > 500, 'large', 'small')>
        >>> hr.f.count().where("amount > 500")
        <Column count(*) FILTER (WHERE amount > 500)>
        >>> hr.f.sum("amount").over(per="card", by="ts")
        <Column sum(amount) OVER (PARTITION BY card ORDER BY ts)>
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Callable[..., Column]:
        if name.startswith("__"):
            raise AttributeError(name)
        # Python's keywords are written with a final underscore.
        spark = name[:-1] if name.endswith("_") else name

        def function(*arguments: Column | str | Any) -> Column:
            columns = [argument(one, f"hr.f.{name}({one!r})") for one in arguments]
            texts = tuple(column._expression.text for column in columns)
            if spark.lower() == "count" and not texts:
                texts = ("*",)
            call = Call(spark, texts)
            return Column(composed(call.text, ATOM, *columns)._expression, ATOM, call)

        function.__name__ = function.__qualname__ = name
        function.__doc__ = f"Calls Spark SQL's `{spark}`. A text argument is a SQL expression; a string is `hr.lit(...)`."
        return function


f = Functions()
