"""hr.f: every function of Spark by its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.expr.column import ATOM, Call, Column, argument, made


class Functions:
    """Calls any function of Spark SQL by its name: `hr.f.NAME(…)`.

    A text argument is Spark SQL and `hr.lit("x")` a string; other Python values are literals. A text that reads like a number warns. A name
    that is a Python keyword has an underscore at its end: `hr.f.if_`. `hr.f.count()` is `count(*)`. Functions registered on the session can
    be called too. Spark reports unknown functions and wrong arguments when the plan is checked (`UNKNOWN_FUNCTION`, `WRONG_TYPE`).

    Examples:
        >>> import headrace as hr
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
            given = [argument(one, f"hr.f.{name}({one!r})") for one in arguments]
            texts = tuple(column._expression.text for column in given)
            if spark.lower() == "count" and not texts:
                texts = ("*",)
            call = Call(spark, texts)
            return Column(made(call.text, ATOM, *given)._expression, ATOM, call)

        function.__name__ = function.__qualname__ = name
        function.__doc__ = f"Spark's `{spark}`; a text argument is Spark SQL."
        return function


f = Functions()
