"""Functions of the user on the JVM: what they say is what Spark batch says with them, and a session that lacks one is told so."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.window import Window

import headrace as hr
from headrace.engine import Job
from headrace.errors import PlanError
from headrace.jvm import compile, java
from headrace.plan import Plan
from headrace.testing import Collected, Harness
from tests.spark.queries.changing import Table, batch
from tests.unit.errors import check_error

NAMES = ("geometric_mean", "listed", "chance", "shout", "longest", "sum_of_more", "thrice", "dice", "sum")


@pytest.fixture(scope="module")
def users(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session with the functions of `scala/Functions.scala`."""
    jar = tmp_path_factory.mktemp("users") / "users.jar"
    problem = compile.scalac(java.find(), Path(__file__).parent / "scala", jar)
    assert problem is None, problem
    jvm = spark._jvm
    spark.sparkContext._jsc.addJar(str(jar))
    jvm.java.lang.Thread.currentThread().getContextClassLoader().addURL(jvm.java.io.File(str(jar)).toURI().toURL())
    registered(spark)
    yield spark
    for name in NAMES:
        spark.sql(f"DROP TEMPORARY FUNCTION IF EXISTS {name}")


def registered(spark: SparkSession) -> None:
    spark.udf.registerJavaUDAF("geometric_mean", "users.GeometricMean")
    spark.udf.registerJavaUDAF("listed", "users.Listed")
    spark.udf.registerJavaUDAF("chance", "users.Chance")
    spark.udf.registerJavaFunction("shout", "users.Shout", "string")
    spark._jvm.users.Functions.register(spark._jsparkSession)


def table() -> Table:
    """Powers of two: a product of them is exact in any order."""
    return Table(
        "k int, x string, n int",
        lambda rng: (rng.choice([None, 1, 2, 3]), rng.choice([None, "p", "pq", "qr", "s", ""]), rng.choice([None, 1, 2, 4, 8])),
    )


AGGREGATES = {
    "one": "SELECT k, geometric_mean(n) AS g FROM a GROUP BY k",
    "of all": "SELECT geometric_mean(n) AS g, longest(x) AS l, count(*) AS c FROM a",
    "a struct with an array": "SELECT k, longest(x) AS l, get(longest(x).letters, 0) AS first FROM a GROUP BY k",
    "in another case, twice": "SELECT k, Geometric_Mean(n) AS g, geometric_mean(n) + 1 AS h, sum(n) AS s FROM a GROUP BY k",
    "with DISTINCT and FILTER": "SELECT x, geometric_mean(DISTINCT n) AS g, longest(x) FILTER (WHERE k > 1) AS l FROM a GROUP BY x",
    "HAVING": "SELECT x FROM a GROUP BY x HAVING geometric_mean(n) > 2",
    "over an argument": "SELECT k, geometric_mean(coalesce(n, 1) * 2) AS g, longest(upper(x)).text AS l FROM a GROUP BY k",
    "a cube": "SELECT k, x, geometric_mean(n) AS g FROM a GROUP BY CUBE (k, x)",
    "in a subquery": "SELECT k, n FROM a WHERE n > (SELECT geometric_mean(n) FROM a b WHERE b.k = a.k)",
    "a window": "SELECT k, n, geometric_mean(n) OVER (PARTITION BY k) AS g FROM a",
    "a frame": "SELECT k, n, longest(x) OVER (PARTITION BY k ORDER BY n RANGE BETWEEN 1 PRECEDING AND CURRENT ROW).text AS l FROM a",
    "rows": "SELECT shout(x) AS s, thrice(n) AS t, thrice(n + k) AS u FROM a WHERE thrice(k) > 3",
    "a function of rows inside": "SELECT shout(x) AS s, geometric_mean(thrice(n)) AS g FROM a GROUP BY shout(x)",
}


def test_queries_stay_what_batch_says(users: SparkSession) -> None:
    rng, here = random.Random(3), table()
    with Harness() as h:
        a = h.source("a", here.schema, changes=True)
        verbs = a.group_by("k").agg("geometric_mean(n) AS g", l="longest(x)")
        windows = a.with_columns(g=hr.f.geometric_mean("n").over(per="k"))
        described = a.as_dataframe().groupBy("k").agg(F.expr("geometric_mean(n)"), F.call_function("longest", "x"))
        framed = a.as_dataframe().select("k", F.call_function("geometric_mean", "n").over(Window.partitionBy("k").orderBy("n")))
        streams = {query: hr.sql(query, a=a) for query in AGGREGATES.values()} | {
            "SELECT k, geometric_mean(n), longest(x) FROM a GROUP BY k": verbs,
            "SELECT k, geometric_mean(n), longest(x) FROM a GROUP BY k, 1 = 1": hr.from_dataframe(described),
            "SELECT *, geometric_mean(n) OVER (PARTITION BY k) FROM a": windows,
            "SELECT k, geometric_mean(n) OVER (PARTITION BY k ORDER BY n) FROM a": hr.from_dataframe(framed),
        }
        same(users, h, {"a": here}, {query: h.collect(stream) for query, stream in streams.items()}, rng)


def same(spark: SparkSession, h: Harness, here: dict[str, Table], outs: dict[str, Collected], rng: random.Random) -> None:
    """After every epoch what batch says, and after a restart."""
    for epoch in range(5):
        h.commit({name: table.change(rng, 10) for name, table in here.items()})
        if epoch == 2:
            h.restart()
        wrong = {query: (out.rows(), want) for query, out in outs.items() if out.rows() != (want := batch(spark, query, here))}
        assert not wrong, f"epoch {epoch}"
    assert h.metrics()["dead_letters"] == 0


def test_rows_come_in_the_order_of_all_arguments_nulls_first(users: SparkSession) -> None:
    with Harness() as h:
        a = h.source("a", "k int, n int, x string", changes=True)
        out = h.collect(hr.sql("SELECT k, listed(n, x) AS t FROM a GROUP BY k", a=a))
        h.commit({"a": [("+", (1, 2, "q")), ("+", (1, 2, None)), ("+", (1, None, "z")), ("+", (1, 1, "b")), ("+", (1, 1, "b"))]})
        assert out.rows() == [(1, [(None, "z"), (1, "b"), (1, "b"), (2, None), (2, "q")])]
        h.commit({"a": [("-", (1, 1, "b")), ("+", (1, 0, "y"))]})
        assert out.rows() == [(1, [(None, "z"), (0, "y"), (1, "b"), (2, None), (2, "q")])]


def test_a_group_over_which_it_fails_is_left_out(users: SparkSession) -> None:
    with Harness() as h:
        a = h.source("a", "k int, n int", changes=True)
        groups = a.group_by("k").agg(g="geometric_mean(n)")
        out, dead = h.collect(groups), h.collect(groups.output("dead_letter"))
        h.commit({"a": [("+", (1, 2)), ("+", (2, 4)), ("+", (2, -4))]})
        assert out.rows() == [(1, 2.0)]
        assert [letter[1] for letter in dead.rows()] == ["ArithmeticException: a number below 0"]
        h.commit({"a": [("-", (2, -4))]})
        assert out.rows() == [(1, 2.0), (2, 4.0)]


def test_a_function_of_sql_is_written_out(users: SparkSession) -> None:
    """The plan has its body: no session has to know it."""
    users.sql("CREATE OR REPLACE TEMPORARY FUNCTION area(w INT, h INT) RETURNS INT RETURN w * h")
    users.sql("CREATE OR REPLACE TEMPORARY FUNCTION spread(w INT) RETURNS DOUBLE RETURN w / 2")
    here, rng = table(), random.Random(8)
    queries = [
        "SELECT area(k, n) AS a, x FROM a WHERE area(n, n) > 3",
        "SELECT k, max(area(k, n)) AS a, spread(count(*)) AS s FROM a GROUP BY k",
    ]
    try:
        with Harness() as h:
            a = h.source("a", here.schema, changes=True)
            outs = {query: h.collect(hr.sql(query, a=a)) for query in queries}
            assert "area(" not in str(hr.sql(queries[0], a=a).explain(verbose=True))
            same(users, h, {"a": here}, outs, rng)
    finally:
        users.sql("DROP TEMPORARY FUNCTION area")
        users.sql("DROP TEMPORARY FUNCTION spread")


def charges() -> hr.Stream:
    return hr.read.memory([("a", 2), ("a", 8)], "card string, n int", name="charges")


def test_explain_marks_what_calls_them(users: SparkSession) -> None:
    means = hr.sql("SELECT card, geometric_mean(n) AS g, longest(card) AS l FROM charges GROUP BY card", charges=charges())
    shown = str(hr.job("means", means.write.memory()).explain(verbose=True))
    assert shown.count("    code: ") == 1
    assert "    code: from outside Spark: geometric_mean(), longest(), by the name that the session has for it\n" in shown
    assert "the values of geometric_mean(CAST(n AS DOUBLE))" in shown
    rows = str(charges().select("card", s="shout(card)").filter("s <> ''").explain(verbose=True))
    assert rows.count("    code: from outside Spark: shout(), ") == 1


REFUSED: dict[str, tuple[str, str, str]] = {
    "SELECT card, chance(n) AS c FROM charges GROUP BY card": (
        "chance(), which returns another value each time, cannot be kept up to date at line 1, column 14: ",
        "`chance(n) AS c FROM charges GROUP BY card`",
        "take the value from a column: a retraction must have the value of its insertion",
    ),
    "SELECT card, dice() AS d FROM charges": (
        "dice(), which returns another value each time, cannot be kept up to date at line 1, column 14: ",
        "`dice() AS d FROM charges`",
        "take the value from a column: a retraction must have the value of its insertion",
    ),
    "SELECT card, session.sum(n) AS s FROM charges GROUP BY card": (
        "the user-defined function sum cannot be kept up to date at line 1, column 14: ",
        "`session.sum(n) AS s FROM charges GROUP BY card`",
        "register it under a name that is not a Spark function, and call it by that name: the plan stores the name",
    ),
}


@pytest.mark.parametrize("query", REFUSED)
def test_what_is_refused(users: SparkSession, query: str) -> None:
    with pytest.raises(PlanError) as raised:
        hr.sql(query, charges=charges())
    what, text, hint = REFUSED[query]
    assert (raised.value.code, raised.value.message, raised.value.hint) == ("BAD_QUERY", what + text, hint)


def test_a_verb_with_one_that_gives_another_value_each_time(users: SparkSession) -> None:
    check_error(
        """
        BAD_EXPRESSION: chances: chance in chance(n): a retraction must give the same value as its insertion, in `chance(n)`
          at test_outside.py:*: lambda: hr.job("chances", charges().group_by("card").agg(c="chance(n)").named("chances").write.memory()),
          more: headrace error BAD_EXPRESSION
        """,
        lambda: hr.job("chances", charges().group_by("card").agg(c="chance(n)").named("chances").write.memory()),
    )


def by_sql() -> hr.Stream:
    return hr.sql("SELECT card,\n  geometric_mean(n) AS g FROM charges GROUP BY card", charges=charges())


def by_verbs() -> hr.Stream:
    return charges().group_by("card").agg(g="geometric_mean(n)").named("means")


def forgotten(users: SparkSession) -> None:
    users.sql("DROP TEMPORARY FUNCTION geometric_mean")


@pytest.mark.full
def test_a_session_without_the_function(users: SparkSession, tmp_path: Path) -> None:
    """Each way to a start: the query is built again, the verbs are, the job is there or was stored as a plan."""
    job = hr.job("means", by_verbs().write.files(str(tmp_path / "out"), format="json", mode="changes"))
    job.run(checkpoint=tmp_path / "checkpoint", flush=False, progress=False)
    stored = job.plan.to_json()
    forgotten(users)
    try:
        check_error(MISSING, lambda: hr.job("means", by_verbs().write.memory()))
        check_error(MISSING, lambda: job.run(checkpoint=tmp_path / "checkpoint", progress=False))
        check_error(MISSING, lambda: Job(Plan.from_json(stored)).run(checkpoint=tmp_path / "checkpoint", progress=False))
        check_error(
            """
            UNKNOWN_FUNCTION: Spark has no function `geometric_mean` at line 2, column 3: `geometric_mean(n) AS g FROM charges GROUP BY card`
              at test_outside.py:*: return hr.sql("SELECT card,\\n  geometric_mean(n) AS g FROM charges GROUP BY card", charges=charges())
              hint: if it is your own function, register it on the session before you build the job: spark.udf.registerJavaFunction(name, class), for an aggregate spark.udf.registerJavaUDAF(name, class)
              more: headrace error UNKNOWN_FUNCTION
            """,
            by_sql,
        )
    finally:
        registered(users)
    job.run(checkpoint=tmp_path / "checkpoint", progress=False)


MISSING = """
    UNKNOWN_FUNCTION: means: Spark has no function `geometric_mean`, in `geometric_mean(n)`
      at test_outside.py:*: return charges().group_by("card").agg(g="geometric_mean(n)").named("means")
      hint: if it is your own function, register it on the session before you build the job: spark.udf.registerJavaFunction(name, class), for an aggregate spark.udf.registerJavaUDAF(name, class)
      more: headrace error UNKNOWN_FUNCTION
"""
