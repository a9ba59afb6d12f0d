"""Expectations as they are built: their names, what they say, and what is refused."""

from __future__ import annotations

import json

import pytest

import headrace as hr
from headrace.errors import HeadraceError
from headrace.ops import Expect, event_time, kind_of
from headrace.plan import Plan
from headrace.spark.checkpoint.record import Totals
from headrace.spark.run.summary import ExpectationCounts, expectations_of
from headrace.syntax.script import statements
from tests.unit.errors import check_error

charges = hr.read.memory([], "card string, amount int, ts timestamp", name="charges")


def expected(stream: hr.Stream) -> tuple[tuple[str, str], ...]:
    node = stream._node
    assert isinstance(node, Expect)
    return node.expectations


@pytest.mark.parametrize(
    ("stream", "names"),
    [
        (charges.expect("amount >= 0"), [("amount >= 0", "amount >= 0")]),
        (charges.expect("amount\n  >= 0"), [("amount >= 0", "amount\n  >= 0")]),
        (charges.expect("amount >= 0", name="positive"), [("positive", "amount >= 0")]),
        (charges.expect((hr.col("amount") >= 0).alias("positive")), [("positive", "`amount` >= 0")]),
        (charges.expect("amount >= 0", known="card IS NOT NULL"), [("amount >= 0", "amount >= 0"), ("known", "card IS NOT NULL")]),
        (charges.alias("c").expect("c.amount >= 0"), [("amount >= 0", "amount >= 0")]),
    ],
)
def test_names_of_conditions(stream: hr.Stream, names: list[tuple[str, str]]) -> None:
    conditions = [(name, text.replace("`", "")) for name, text in expected(stream)]
    assert conditions == [(name, text.replace("`", "")) for name, text in names]


def test_what_explain_says() -> None:
    says = charges.expect("amount >= 0", known="card IS NOT NULL")._node.describe()
    assert says == "expect amount >= 0, known (card IS NOT NULL); else a dead letter"
    assert charges.expect("amount > 0", on_violation="keep")._node.describe() == "expect amount > 0; kept in any case"


def test_what_is_known_of_the_rows_stays_known() -> None:
    timed = charges.watermark("ts", "5 minutes").expect("amount >= 0")
    assert event_time(timed._node) == "ts"
    assert kind_of(charges.expect("amount >= 0")._node) == "append"
    assert kind_of(charges.group_by("card").agg(n="count(*)").expect("n > 0")._node) == "changes"


def test_a_plan_keeps_it() -> None:
    sink = charges.expect(positive="amount >= 0", on_violation="drop").write.memory(name="out")._use()
    plan = Plan.of("job", [sink])
    again = Plan.from_json(json.loads(json.dumps(plan.to_json())))
    assert again.fingerprint == plan.fingerprint
    [node] = [node for node in again.nodes.values() if isinstance(node, Expect)]
    assert (node.name, node.expectations, node.on_violation) == ("charges.expect", (("positive", "amount >= 0"),), "drop")


def test_counts_are_found_by_stream_and_name() -> None:
    sink = charges.expect(positive="amount >= 0").expect("card <> ''", on_violation="keep").write.memory(name="out")._use()
    plan = Plan.of("job", [sink])
    epochs = [
        [["charges.expect", 0, 0, "passed positive", 3], ["charges.expect", 0, 0, "violated positive", 1]],
        [["charges.expect", 0, 0, "violated positive", -1], ["charges.expect.expect", 0, 0, "passed card <> ''", 3]],
    ]
    totals = Totals()
    for epoch, counts in enumerate([epochs[0], epochs[1], epochs[1]]):
        totals = totals.with_epoch(min(epoch, 1), counts, {})
    assert expectations_of(totals, [plan.nodes["out"]]) == (
        ExpectationCounts("charges.expect", "positive", "dead_letter", 3, 0),
        ExpectationCounts("charges.expect.expect", "card <> ''", "keep", 3, 0),
    )


def test_constraints_of_a_script() -> None:
    [view] = statements(
        "CREATE VIEW good (CONSTRAINT positive EXPECT (amount >= (0)) ON VIOLATION DROP ROW, "
        "CONSTRAINT known EXPECT (card IS NOT NULL) ON VIOLATION FAIL UPDATE, CONSTRAINT `any one` EXPECT (true)) AS SELECT * FROM charges"
    )
    constraints = [(one.name, one.condition.text, one.on_violation) for one in view.constraints]  # type: ignore[attr-defined]
    assert constraints == [
        ("positive", "amount >= (0)", "drop"),
        ("known", "card IS NOT NULL", "fail"),
        ("any one", "true", "dead_letter"),
    ]
    assert view.query.text == "SELECT * FROM charges"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("CREATE VIEW v (positive EXPECT (a > 0)) AS SELECT 1", "expected `CONSTRAINT`, got `positive`"),
        ("CREATE VIEW v (CONSTRAINT p EXPECT ()) AS SELECT 1", "the constraint p needs exactly one condition"),
        ("CREATE VIEW v (CONSTRAINT p EXPECT (a, b)) AS SELECT 1", "the constraint p needs exactly one condition"),
        (
            "CREATE VIEW v (CONSTRAINT p EXPECT (a) ON VIOLATION IGNORE) AS SELECT 1",
            "expected DEAD LETTER, DROP ROW, FAIL or KEEP ROW, got `IGNORE`",
        ),
        ("CREATE VIEW v (CONSTRAINT p EXPECT (a) ON VIOLATION FAIL NOW) AS SELECT 1", "expected `,` or `)`, got `NOW`"),
    ],
)
def test_constraints_that_cannot_be_read(script: str, message: str) -> None:
    with pytest.raises(HeadraceError) as raised:
        statements(script)
    assert (raised.value.code, raised.value.message) == ("BAD_STATEMENT", message)
    assert raised.value.hint == "CREATE VIEW name (CONSTRAINT positive EXPECT (amount >= 0) ON VIOLATION DROP ROW) AS SELECT ..."


def test_no_condition() -> None:
    check_error(
        """
        BAD_EXPECTATION: expect needs at least one condition
          at test_expect.py:*: lambda: charges.expect(),
          hint: stream.expect("amount >= 0"), or with a name: stream.expect(positive="amount >= 0")
          more: headrace error BAD_EXPECTATION
        """,
        lambda: charges.expect(),
    )


def test_one_name_for_two() -> None:
    check_error(
        """
        BAD_EXPECTATION: expect has one name for several conditions
          at test_expect.py:*: lambda: charges.expect("amount > 0", "card <> ''", name="sound"),
          hint: name each: stream.expect(positive="amount >= 0", ...)
          more: headrace error BAD_EXPECTATION
        """,
        lambda: charges.expect("amount > 0", "card <> ''", name="sound"),
    )


def test_one_name_twice() -> None:
    check_error(
        """
        BAD_EXPECTATION: expect has two conditions named `amount > 0`
          at test_expect.py:*: lambda: charges.expect("amount > 0", "amount > 0"),
          hint: give each its own name
          more: headrace error BAD_EXPECTATION
        """,
        lambda: charges.expect("amount > 0", "amount > 0"),
    )


def test_dead_letters_of_dead_letters() -> None:
    check_error(
        """
        BAD_EXPECTATION: charges.dead_letter.filter reads dead letters, and a dead letter cannot become another one
          at test_expect.py:*: lambda: charges.output("dead_letter").filter("file <> ''").expect("raw <> ''"),
          hint: drop it, keep it or fail the run: on_violation="drop"
          more: headrace error BAD_EXPECTATION
        """,
        lambda: charges.output("dead_letter").filter("file <> ''").expect("raw <> ''"),
    )


def test_a_policy_that_does_not_exist() -> None:
    check_error(
        """
        BAD_OPTION: expect: on_violation cannot be 'quarantine'
          at test_expect.py:*: lambda: charges.expect("amount > 0", on_violation="quarantine"),
          hint: It is one of: dead_letter, drop, fail, keep
          more: headrace error BAD_OPTION
        """,
        lambda: charges.expect("amount > 0", on_violation="quarantine"),
    )


def test_a_column_that_does_not_exist() -> None:
    check_error(
        """
        UNKNOWN_COLUMN: no column `amout` in charges
          at test_expect.py:*: lambda: charges.expect(positive="amout > 0"),
          hint: did you mean `amount`? It has: card, amount, ts
          more: headrace error UNKNOWN_COLUMN
        """,
        lambda: charges.expect(positive="amout > 0"),
    )
