"""Names in Spark SQL text."""

from __future__ import annotations

import subprocess
import sys

import pytest

from headrace.syntax import loose_alias, plain_name, quote, references, split_alias, unqualified


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("amount", [("amount",)]),
        ("`two words` > 1", [("two words",)]),
        ("a.b[0].c + d", [("a", "b"), ("d",)]),
        ("sum(x) FILTER (WHERE y > 1) OVER (PARTITION BY z)", [("x",), ("y",), ("z",)]),
        ("aggregate(xs, 0, (acc, v) -> acc + v, acc -> acc)", [("xs",)]),
        ("timestampdiff(MONTH, a, b)", [("a",), ("b",)]),
        ("user", []),
        ("ts + INTERVAL '1' day", [("ts",)]),
        ("count(*)", []),
        ("a <=> b", [("a",), ("b",)]),
        ("cast(a as string collate utf8_lcase) = b collate unicode", [("a",), ("b",)]),
    ],
)
def test_references(text: str, paths: list[tuple[str, ...]]) -> None:
    assert references(text) == tuple(paths)


@pytest.mark.parametrize("text", ["amount >", "a, b", "1; drop table x", "a where b", "1 in (select 2)", "parse_json(a):b.c"])
def test_what_is_left_to_spark(text: str) -> None:
    assert references(text) is None


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("x AS y", ("x", "y")),
        ("x y", ("x y", None)),
        ("count(*) FILTER (WHERE x > 1) y", ("count(*) FILTER (WHERE x > 1) y", None)),
        ("x + 1 as `two words`", ("x + 1", "two words")),
        ("cast(x as int)", ("cast(x as int)", None)),
        ("cast(x as int) AS y", ("cast(x as int)", "y")),
        ("x IS NULL", ("x IS NULL", None)),
        ("x + 1 AS y -- in all", ("x + 1", "y")),
    ],
)
def test_alias(text: str, parts: tuple[str, str | None]) -> None:
    assert split_alias(text) == parts


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("x y", "y"),
        ("x + 1 `two words`", "two words"),
        ("x AS y", None),
        ("x", None),
        ("x desc", "desc"),
        ("cast(x as int)", None),
        ("x.y", None),
    ],
)
def test_names_without_as(text: str, name: str | None) -> None:
    assert loose_alias(text) == name


def test_names_are_quoted_where_they_have_to_be() -> None:
    assert [quote(name) for name in ("amount", "two words", "a`b", "case", "1st", "größe")] == [
        "amount",
        "`two words`",
        "`a``b`",
        "`case`",
        "`1st`",
        "`größe`",
    ]
    assert plain_name("`a``b`") == "a`b"
    assert plain_name("null") is None


def test_a_qualifier_is_taken_off_and_nothing_else_changes() -> None:
    assert unqualified("C.amount+`c`.`two words`  > d.x", "c") == "amount+`two words`  > d.x"
    renamed = {"two words": "two words_right"}
    assert unqualified("c.`Two Words` > c.x", "c", renamed) == "`two words_right` > x"


def test_plain_names_need_no_parser() -> None:
    script = "import sys, headrace as hr; hr.col('a') + hr.expr('b') > hr.lit(3); print('sqlglot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "False\n"
