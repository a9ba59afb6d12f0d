"""What Spark's parser says of texts, in many spellings; and that verbs, which cut texts without Spark, cut them where its parser does."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headrace.jvm.frames import java_session
from headrace.jvm.session import session
from headrace.jvm.texts import Before, Either, End, Now, Path, Reading, Window, reading, readings
from headrace.syntax import conjuncts, equal_sides, ordering
from tests.scale import runs
from tests.spark.queries.test_awkward_texts import TRUTHS, VALUES

pytestmark = pytest.mark.usefixtures("spark")

CONJUNCTS = {
    "a = b AND c": ("a = b", "c"),
    "((a = b AND (c OR d)))": ("a = b", "(c OR d)"),
    "(a)": ("(a)",),
    "a = b AND c OR d": ("a = b AND c OR d",),
    "NOT a AND NOT (b AND c)": ("NOT a", "NOT (b AND c)"),
    "a BETWEEN 1 AND 2 AND c NOT BETWEEN b AND d": ("a BETWEEN 1 AND 2", "c NOT BETWEEN b AND d"),
    "CASE WHEN a AND b THEN c END AND d": ("CASE WHEN a AND b THEN c END", "d"),
    "x = 'a AND b' AND y": ("x = 'a AND b'", "y"),
    "a -- AND b\n AND c -- AND d": ("a", "c"),
    "/* it's */ a AND b": ("a", "b"),
    "between(a, 1, 2) and b": ("between(a, 1, 2)", "b"),
    "and AND between": ("and", "between"),
    "'日本𝄞' = `x ``y` AND `𝄞` > 1": ("'日本𝄞' = `x ``y`", "`𝄞` > 1"),
    "a AND b c": ("a AND b c",),
    "a AND": ("a AND",),
    "${a} AND b": ("${a} AND b",),
    "": ("",),
}


@pytest.mark.parametrize("text", CONJUNCTS)
def test_conjuncts_are_parts_of_the_text(text: str) -> None:
    assert reading(text).conjuncts == CONJUNCTS[text]


def test_long_and_deep_texts() -> None:
    parts = tuple(f"a{number} = 1" for number in range(3000))
    assert reading(" AND ".join(parts)).conjuncts == parts
    deep = "(" * 3000 + "a" + ")" * 3000
    assert reading(deep).conjuncts == (deep,)


BOUNDS = {
    ("n", 3): ("n <= 3", "n<4", "4 > n", "3 >= n", "n = 3", "3 = n", "(n <= (3))", "n /* of */ <= 3L", "`n` <= 3S"),
    None: (
        "n > 1",
        "s.n <= 3",
        "n <= 3.0",
        "n <= m",
        "n <= '3'",
        "n + 1 <= 3",
        "NOT n <= 3",
        "n <= 3 OR m",
        "n <=> 3",
        "n <= DATE'2026-01-01'",
    ),
}


@pytest.mark.parametrize(("text", "bound"), [(text, bound) for bound, texts in BOUNDS.items() for text in texts])
def test_upper_bounds(text: str, bound: tuple[str, int] | None) -> None:
    assert reading(text).upper_bound == bound


RANKINGS = {
    "row_number": ("row_number() OVER (PARTITION BY a ORDER BY b)", "ROW_NUMBER ( ) over(ORDER BY b)", "(row_number() OVER (ORDER BY b))"),
    "rank": ("rank() OVER (ORDER BY b)", "/* its */ Rank() OVER (ORDER BY b)", "rank(b) OVER (ORDER BY b)"),
    "dense_rank": ("dense_rank() OVER (ORDER BY b)", "`dense_rank`() OVER (ORDER BY b)"),
    None: ("rank() OVER (ORDER BY b) + 1", "ntile(2) OVER (ORDER BY b)", "rank", "rank()", "sum(rank) OVER (ORDER BY b)"),
}


@pytest.mark.parametrize(("text", "ranking"), [(text, ranking) for ranking, texts in RANKINGS.items() for text in texts])
def test_rankings(text: str, ranking: str | None) -> None:
    assert reading(text).ranking == ranking


@pytest.mark.parametrize("text", ["max(n)", "MIN( n )", "max_by(n, at)", "bool_or(n > 1)", "some(b)", "any(b)", "every(b)", "any_value(n)"])
def test_aggregates_that_some_rows_give_alone(text: str) -> None:
    assert reading(text).extreme


@pytest.mark.parametrize("text", ["sum(n)", "max(n) + 1", "max(n) FILTER (WHERE b)", "count(*)", "max(a) - min(a)", "first(n)", "n"])
def test_aggregates_that_need_all_rows(text: str) -> None:
    assert not reading(text).extreme


def test_values() -> None:
    end = End("end", Path(("w",)))
    assert reading("(w . END)").value == reading("w['end']").value == end
    assert reading("`w.end`").value == Path(("w.end",))
    assert reading("s.t.x").value == Path(("s", "t", "x"))
    assert reading("named_struct('Start', a, 'end', now())").value == Window(Path(("a",)), Now())
    assert reading("window_time(w)").value == reading("timestamp_micros(unix_micros(w.end) - 1)").value == Before(end)
    assert reading("COALESCE(a, w.end, current_timestamp)").value == Either((Path(("a",)), end, Now()))
    assert reading("a + 1").value is None


def test_many_texts_are_read_at_once_with_their_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["many = 1 AND n <= 2", "many"]
    read = readings(texts)
    assert read["n <= 2"].upper_bound == ("n", 2)
    monkeypatch.delattr("headrace.jvm.texts.session")
    assert readings([*texts, "many = 1"])["many = 1"] == Reading(("many = 1",), upper_bound=("many", 1))


# What verbs cut, compared with Spark's own tree.


def parsed(text: str) -> Any:
    """Spark's tree of an expression; None for what is none."""
    from pyspark.errors import ParseException

    try:
        tree = java_session(session()).sessionState().sqlParser().parseExpression(text)
    except ParseException:
        return None
    return None if kind(tree) in ("Alias", "MultiAlias") else tree


def kind(tree: Any) -> str:
    return str(tree.getClass().getSimpleName())


def parts_of(tree: Any) -> list[Any]:
    return [*parts_of(tree.left()), *parts_of(tree.right())] if kind(tree) == "And" else [tree]


def compare(text: str, *, words: bool = False) -> None:
    """The parts that a verb cuts are those of Spark's tree, or a coarser cut; what is no expression does not become one by a cut.

    With `words` as columns a part may be none that Spark reads: then it refuses the condition, and answers nothing else than was asked.
    """
    whole, cut, read = parsed(text), [parsed(part) for part in conjuncts(text)], reading(text)
    if whole is None:
        assert None in cut, f"{text!r} is no expression, and {conjuncts(text)} are"
        assert read == Reading((text,))
        return
    if words and None in cut:
        return
    assert None not in cut, f"{text!r} is an expression, and {conjuncts(text)} are not"
    assert same([part for tree in cut for part in parts_of(tree)], parts_of(whole)), f"{text!r} is not {conjuncts(text)}"
    assert same([parsed(part) for part in read.conjuncts], parts_of(whole)), f"{text!r} is not {read.conjuncts}"
    for part in conjuncts(text):
        sides, tree = equal_sides(part), parsed(part)
        if sides is not None:
            assert kind(tree) == ("EqualNullSafe" if sides[2] else "EqualTo"), part
            assert same([parsed(side) for side in sides[:2]], [tree.left(), tree.right()]), f"{part!r} is not {sides}"


def same(some: list[Any], others: list[Any]) -> bool:
    return len(some) == len(others) and all(one is not None and one.equals(other) for one, other in zip(some, others, strict=True))


@pytest.mark.parametrize("texts", [VALUES, TRUTHS], ids=["values", "truths"])
def test_awkward_texts_are_cut_as_spark_cuts_them(texts: dict[str, str]) -> None:
    for text in texts.values():
        for condition in (text, f"{text}\n AND b", f"a = {text}\n AND (({text}\n) = c)", f"n = m AND {text}", f"({text}\n) <=> {text}"):
            compare(condition)


NAMES = ("a", "b", "a.b", "`a``b`", "`and`", "s.and", "current_timestamp", "window", "x.end", "interval", "`a = b`")
WORDS = ("and", "or", "not", "between", "case", "end", "in", "like", "is", "then", "when")
"""Names that Spark takes without quotes although they are words of SQL; headrace writes them in quotes."""
LITERALS = (
    *(
        "1",
        "5L",
        "1.5BD",
        "1e2D",
        "-3",
        "'it''s'",
        r"'it\'s'",
        "' AND '",
        '"= \' AND"',
        r"r'\'",
        r"R'a\d'",
        "X'1F'",
        "NULL",
        "'--'",
        "'/*'",
    ),
    *("DATE'2026-01-01'", "INTERVAL '1' DAY", "INTERVAL 1 HOUR 5 MINUTES", "'a' 'b'", r"'\\'"),
)
BLANKS = (
    " ",
    "  ",
    "\n",
    " /* AND */ ",
    " /* it's /* = */ OR */ ",
    " -- AND b = c\n",
    " -- it's \\\n AND b = c\n",
    "\t",
    "\u00a0",
    " -- x\r",
)
SIGNS = (
    "=",
    "==",
    "<=>",
    "<",
    "<>",
    "!=",
    ">=",
    "+",
    "-",
    "||",
    "|",
    "&",
    "^",
    "%",
    "DIV",
    "/",
    "<<",
    ">>",
    "AND",
    "OR",
    "LIKE",
    "RLIKE",
    "IS DISTINCT FROM",
)


@st.composite
def conditions(draw: st.DrawFn, names: tuple[str, ...] = NAMES, depth: int = 3) -> str:
    """Expressions with comments and odd spaces between their words."""
    blank = lambda: draw(st.sampled_from(BLANKS))  # noqa: E731
    if depth == 0:
        return draw(st.sampled_from((*names, *LITERALS)))
    inner = [draw(conditions(names, depth - 1)) for _ in range(3)]
    shape = draw(st.integers(0, 11))
    if shape < 5:
        words = [inner[0], draw(st.sampled_from(SIGNS if shape < 2 else ("AND", "=", "<=>"))), inner[1]]
    else:
        words = {
            5: ["(", inner[0], ")"],
            6: ["NOT", inner[0]],
            7: [inner[0], draw(st.sampled_from(("BETWEEN", "NOT BETWEEN", "NOT between SYMMETRIC"))), inner[1], "AND", inner[2]],
            8: ["CASE WHEN", inner[0], "THEN", inner[1], "END"],
            9: ["f(", inner[0], ",", inner[1], ")"],
            10: [
                inner[0],
                draw(st.sampled_from(("IS NOT NULL", "IS TRUE", "IN (1, 2)", "COLLATE UTF8_BINARY", ":: string", ". c", "[0]"))),
            ],
            11: ["exists( xs, v ->", inner[0], ")"],
        }[shape]
    return "".join(word + blank() for word in words)


@given(conditions())
@example("a -- note \\\n AND b = c")
@example("a AND b -- note \\\n OR c")
@example(r"x = r'\' AND y = r'\'")
@example("between(a, 1, 2) AND b AND c")
@runs(100, 20_000)
def test_random_conditions_are_cut_as_spark_cuts_them(text: str) -> None:
    compare(text)


@given(conditions((*NAMES, *WORDS)))
@example("a = b AND and = c")
@example("NOT a == and != b")
@runs(50, 20_000)
def test_words_as_columns_give_a_condition_no_other_meaning(text: str) -> None:
    compare(text, words=True)


ORDERS = (
    "a",
    "a DESC",
    "(a)desc",
    "a.desc",
    "`desc`",
    "desc",
    "asc asc",
    "a nulls first",
    "a desc NULLS /* all */ last -- b",
    "nulls last",
    "a, b",
)


@given(
    st.sampled_from((*NAMES, *WORDS, *LITERALS, "f(a)", "(a)")),
    st.lists(st.sampled_from(("ASC", "desc", "NULLS", "first", "last", "`desc`")), max_size=3),
)
@runs(100, 1_000)
def test_random_orders_are_cut_as_spark_cuts_them(text: str, words: list[str]) -> None:
    compare_order(" ".join([text, *words]))


@pytest.mark.parametrize("text", ORDERS)
def test_orders_are_cut_as_spark_cuts_them(text: str) -> None:
    compare_order(text)


def compare_order(text: str) -> None:
    from pyspark.errors import ParseException

    expression, direction, nulls = ordering(text)
    if expression.lstrip("-").isdigit():
        return  # there Spark means the column of that number
    try:
        order = java_session(session()).sessionState().sqlParser().parsePlan(f"SELECT * FROM t ORDER BY {text}\n").order()
    except ParseException:
        return
    if order.size() != 1:
        assert parsed(expression) is None
        return
    one = order.head()
    if text.split()[0] in WORDS and parsed(expression) is None:
        return  # Spark refuses it
    assert same([parsed(expression)], [one.child()]), f"{text!r} is not {expression!r}"
    assert (one.direction().sql().lower(), one.nullOrdering().sql().lower()) == (direction, f"nulls {nulls}"), text
