"""What people who come from PySpark write first, and what they are told."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest

import headrace as hr
from headrace.ops.handle import Handle
from tests.installed import READABLE, WRITABLE
from tests.unit.errors import check_error

charges: Any = hr.read.memory([], "card string, amount int, ts timestamp", name="charges")
shops: Any = hr.read.memory([], "card string, shop string", name="shops")
table = hr.lookup.memory([("a", "SE")], "card string, country string")
x: Any = hr.col("x")

CURE = 'write hr.col("amount"), or a SQL string such as "amount > 3"; call a Spark function as hr.f.sum("amount")'


class Column:
    """As PySpark's: every name is a field of it, and it has items without being a list."""

    __module__ = "pyspark.sql.column"

    def __getattr__(self, name: str) -> Column:
        if name.startswith("__"):
            raise AttributeError(name)
        return Column()

    def __iter__(self) -> Any:
        raise TypeError("[NOT_ITERABLE] Column is not iterable.")

    def __bool__(self) -> bool:
        raise TypeError("[CANNOT_CONVERT_COLUMN_INTO_BOOL]")

    def __repr__(self) -> str:
        return "Column<'amount'>"


class ClassicColumn(Column):
    __module__ = "pyspark.sql.classic.column"


ClassicColumn.__name__ = "Column"
theirs: Any = ClassicColumn()


def traced(handle: Callable[[Any, Any], object]) -> Callable[[], object]:
    class Spends(hr.Program):
        spent: Any = hr.Value("int")
        days: Any = hr.Map("string", "int")
        amounts: Any = hr.List("int")
        forget: Any = hr.Timer()

        def on_event(self, e: Any) -> None:
            handle(self, e)

        def on_forget(self, at: Any) -> None:
            pass

    return lambda: charges.key_by("card").process(Spends)


def test_a_column_of_pyspark() -> None:
    check_error(
        f"""
        BAD_COLUMN: Column<'amount'> is a PySpark column, not a headrace column
          at test_from_pyspark.py:*: lambda: charges.filter(theirs),
          hint: {CURE}
          more: headrace error BAD_COLUMN
        """,
        lambda: charges.filter(theirs),
    )


@pytest.mark.parametrize(
    "use",
    [
        lambda: charges.select("card", theirs),
        lambda: charges.with_columns(twice=theirs),
        lambda: charges.group_by(theirs),
        lambda: charges.group_by("card").agg(theirs),
        lambda: charges.group_by("card").agg(spent=theirs),
        lambda: charges.key_by(theirs),
        lambda: charges.top(1, by=theirs),
        lambda: charges.top(1, by=[theirs]),
        lambda: charges.top(1, by="amount", per=theirs),
        lambda: charges.explode(theirs),
        lambda: charges.expect(positive=theirs),
        lambda: charges.heavy_hitters(3, by=theirs, error=0.1),
        lambda: charges.join(shops, on=theirs),
        lambda: charges.lookup(table, on=theirs),
        lambda: hr.col(theirs),
        lambda: hr.lit(theirs),
        lambda: hr.lit([theirs]),
        lambda: hr.expr(theirs),
        lambda: hr.struct(amount=theirs),
        lambda: hr.case((theirs, 1)),
        lambda: hr.case(("amount > 3", theirs)),
        lambda: hr.case(("amount > 3", 1), otherwise=theirs),
        lambda: hr.f.sum(theirs),
        lambda: hr.f.sum("amount").where(theirs),
        lambda: hr.f.sum("amount").over(per=theirs),
        lambda: hr.f.sum("amount").over(by=[theirs]),
        lambda: x + theirs,
        lambda: x & theirs,
        lambda: x > theirs,
        lambda: x[theirs],
        lambda: x.is_in(theirs),
        lambda: x.is_in([theirs]),
        lambda: x.between(1, theirs),
        lambda: x.like(theirs),
        lambda: x.cast(theirs),
        traced(lambda program, e: hr.emit(amount=theirs)),
        traced(lambda program, e: hr.when(theirs).__enter__()),
        traced(lambda program, e: hr.let(theirs, "int")),
        traced(lambda program, e: hr.reject(theirs)),
        traced(lambda program, e: program.spent.set(theirs)),
        traced(lambda program, e: program.spent.set(e.amount + theirs)),
        traced(lambda program, e: program.days.set(theirs, 1)),
        traced(lambda program, e: program.amounts.append(theirs)),
        traced(lambda program, e: program.forget.set(theirs)),
        lambda: hr.Value("int", default=theirs),
    ],
)
def test_a_column_of_pyspark_anywhere(use: Callable[[], object]) -> None:
    with pytest.raises(hr.HeadraceError) as raised:
        use()
    assert (raised.value.code, raised.value.hint) == ("BAD_COLUMN", CURE)
    assert raised.value.message == "Column<'amount'> is a PySpark column, not a headrace column"
    assert raised.value.site is not None and raised.value.site.file == __file__


def test_a_stream_is_no_table() -> None:
    assert charges and charges.key_by("card")
    for use, why, cure in (
        (lambda: charges["amount"] > 3, "cannot be indexed with ['amount']", 'the column is hr.col("amount"), or its name in a SQL string; for a stream of this column only, stream.select("amount")'),
        (lambda: charges[["card", "amount"]], "cannot be indexed with [['card', 'amount']]", 'write stream.select("card", "amount")'),
        (lambda: charges[x > 3], "cannot be indexed with [...]", 'select columns with stream.select("a", "b"), rows with stream.filter("a > 3")'),
        (lambda: charges[:3], "cannot be indexed with [...]", "hr.collect(stream).rows()[...] runs to the end of the input and returns the rows"),
        (lambda: list(charges), "cannot be looped over", "hr.collect(stream).rows() runs to the end of the input and returns the rows; hr.show(stream) prints them"),
        (lambda: len(charges), "has no length", 'count them with stream.group_by().agg(n="count(*)"); for a bounded input, len(hr.collect(stream))'),
        (lambda: "card" in charges, "cannot be searched with `in`", 'write "card" in stream.columns'),
        (lambda: list(charges.group_by("card")), "cannot be looped over", "hr.collect(stream.group_by(...).agg(...)).rows() runs to the end of the input and returns the rows; hr.show(stream.group_by(...).agg(...)) prints them"),
    ):  # fmt: skip
        with pytest.raises(hr.HeadraceError) as raised:
            use()  # type: ignore[no-untyped-call]
        assert (raised.value.code, raised.value.hint) == ("NOT_A_TABLE", cure)
        assert raised.value.message == f"a stream {why}: it describes a computation and holds no rows"
    check_error(
        """
        NOT_A_TABLE: a stream cannot be indexed with ['amount']: it describes a computation and holds no rows
          at test_from_pyspark.py:*: lambda: charges.filter(charges["amount"] > 3),
          hint: the column is hr.col("amount"), or its name in a SQL string; for a stream of this column only, stream.select("amount")
          more: headrace error NOT_A_TABLE
        """,
        lambda: charges.filter(charges["amount"] > 3),
    )


def test_the_cures_work() -> None:
    assert repr(charges.select("amount")) == "<Stream charges.select: amount>"
    assert repr(charges.group_by().agg(n="count(*)")) == "<Stream aggregate(charges): n>"
    assert repr(charges.filter(hr.col("amount") > 3)) == "<Stream charges.filter: card, amount, ts>"


def test_a_column_as_an_attribute() -> None:
    with pytest.raises(AttributeError) as raised:
        charges.amount  # noqa: B018
    assert str(raised.value) == 'a stream has no `amount`; write hr.col("amount") for the column, or its name in a SQL string'


def test_calls_without_a_connector() -> None:
    check_error(
        f"""
        UNKNOWN_CONNECTOR: stream.write was called without the name of a connector
          at test_from_pyspark.py:*: lambda: charges.write("out"),
          hint: write it with the name: stream.write.files("folder", format="parquet"). stream.write has: {WRITABLE}
          more: headrace error UNKNOWN_CONNECTOR
        """,
        lambda: charges.write("out"),
    )
    for use, place in ((lambda: hr.read("in"), "hr.read"), (lambda: hr.lookup("in"), "hr.lookup")):  # type: ignore[operator]
        with pytest.raises(hr.HeadraceError, match=f"UNKNOWN_CONNECTOR: {place} was called without the name of a connector"):
            use()


@pytest.mark.parametrize(
    ("use", "name", "cure"),
    [
        *((lambda format=format: getattr(hr.read, format)("in"), format, f'hr.read.files(..., format="{format}")') for format in ("json", "csv", "parquet", "orc", "avro")),
        (lambda: hr.read.text("in"), "text", 'hr.read.files(..., format="csv", options={"sep": "\\u0001", "quote": "", "header": "false"})'),
        (lambda: hr.read.table("t"), "table", "hr.read.delta(...), hr.read.iceberg(...) or hr.read.jdbc(...)"),
        (lambda: hr.read.load("in"), "load", 'hr.read.files("folder", format="parquet")'),
        (lambda: hr.read.stream, "stream", 'hr.read.files("folder", format="parquet")'),
        (lambda: hr.read.option("header", True), "option", 'hr.read.files("folder", format="parquet")'),
    ],
)  # fmt: skip
def test_words_of_readers(use: Callable[[], object], name: str, cure: str) -> None:
    with pytest.raises(hr.HeadraceError) as raised:
        use()
    assert (raised.value.code, raised.value.message) == ("UNKNOWN_CONNECTOR", f"there is no connector `{name}`")
    assert raised.value.hint == f"write {cure}. hr.read has: {READABLE}"


@pytest.mark.parametrize(
    ("use", "name", "cure"),
    [
        (lambda: charges.write.parquet("out"), "parquet", 'stream.write.files(..., format="parquet")'),
        (lambda: charges.write.json("out"), "json", 'stream.write.files(..., format="json") or stream.write.http(..., format="json")'),
        (lambda: charges.write.save("out"), "save", 'stream.write.files("folder", format="parquet")'),
        (
            lambda: charges.write.saveAsTable("out"),
            "saveAsTable",
            "stream.write.delta(...), stream.write.iceberg(...) or stream.write.jdbc(...)",
        ),
        (lambda: charges.write.foreachBatch(print), "foreachBatch", "stream.write.foreach_batch(...)"),
        (lambda: charges.write.format("delta"), "format", 'stream.write.delta("folder") or stream.write.files("folder", format="parquet")'),
    ],
)
def test_words_of_writers(use: Callable[[], object], name: str, cure: str) -> None:
    with pytest.raises(hr.HeadraceError) as raised:
        use()
    assert (raised.value.code, raised.value.message) == ("UNKNOWN_CONNECTOR", f"there is no connector `{name}`")
    assert raised.value.hint == f"write {cure}. stream.write has: {WRITABLE}"


def test_tables_outside_have_formats_of_their_own() -> None:
    with pytest.raises(hr.HeadraceError, match=r'hint: write hr.lookup.files\(..., format="json"\). hr.lookup has: '):
        hr.lookup.json("t")
    with pytest.raises(hr.HeadraceError, match=r"hint: hr.lookup has: "):  # of files, these do not read Avro
        hr.lookup.avro("t")


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: charges.join(shops, "card"), "Stream.join() takes 2 positional arguments but 3 were given"),
        (lambda: charges.distinct("card"), "Stream.distinct() takes 1 positional argument but 2 were given"),
        (lambda: charges.rename(card="c"), "Stream.rename() got an unexpected keyword argument 'card'"),
        (lambda: hr.Job.run(None, chekpoint="c"), "Job.run() got an unexpected keyword argument 'chekpoint'"),  # type: ignore[arg-type, call-arg]
    ],
)
def test_arguments_that_a_verb_does_not_take(use: Callable[[], object], message: str) -> None:
    with pytest.raises(TypeError) as raised:
        use()
    assert str(raised.value) == message


def test_all_verbs_are_those_of_streams() -> None:
    verbs = {name: getattr(hr.Stream, name) for name in dir(hr.Stream) if not name.startswith("_")}
    methods = {name: method for name, method in verbs.items() if isinstance(method, FunctionType)}
    assert len(methods) > 25
    assert {name: method.__qualname__ for name, method in methods.items()} == {name: f"Stream.{name}" for name in methods}
    assert all(pickle.loads(pickle.dumps(method)) is method for method in methods.values())


def test_a_class_of_the_users_keeps_its_names() -> None:
    class Charges(hr.Stream):
        def large(self) -> Any:
            return self.filter("amount > 500")

    assert Charges.large.__qualname__.endswith("Charges.large")
    assert issubclass(Charges, Handle)


def test_not_a_dataframe() -> None:
    check_error(
        """
        BAD_QUERY: hr.from_dataframe expects a DataFrame of PySpark, got int
          at test_from_pyspark.py:*: lambda: hr.from_dataframe(3),
          hint: derive it from stream.as_dataframe(), in the session that hr.session() returns
          more: headrace error BAD_QUERY
        """,
        lambda: hr.from_dataframe(3),
    )
