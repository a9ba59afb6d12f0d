"""Conditions are cut at the user's own words; tests/spark/kernel/test_texts.py compares the cuts with those of Spark's parser."""

from __future__ import annotations

import pytest

from headrace.syntax import conjuncts, equal_sides, ordering


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a = b AND c", ("a = b", "c")),
        ("((a = b AND (c OR d)))", ("a = b", "(c OR d)")),
        ("a = b AND c OR d", ("a = b AND c OR d",)),
        ("a BETWEEN 1 AND 2 AND c NOT BETWEEN b AND d", ("a BETWEEN 1 AND 2", "c NOT BETWEEN b AND d")),
        ("CASE WHEN a AND b THEN c END AND d", ("CASE WHEN a AND b THEN c END", "d")),
        ("x = 'a AND b' AND y", ("x = 'a AND b'", "y")),
        ("a -- AND b\n AND c -- AND d", ("a", "c")),
        ("/* it's */ a AND b", ("a", "b")),
        ("w.end = end AND s.and = 1", ("w.end = end", "s.and = 1")),
        ("show = 1 AND b", ("show = 1", "b")),
        ("v:a.b = 1 AND c", ("v:a.b = 1", "c")),
        ("a -- a note \\\n AND b\n AND c -- \\\n AND d", ("a", "c")),
    ],
)
def test_conjuncts_are_parts_of_the_text(text: str, parts: tuple[str, ...]) -> None:
    assert conjuncts(text) == parts


@pytest.mark.parametrize("text", ["a = b AND", "AND a", "a AND AND b", "a) AND (b", "(a = b", "a = 'b AND c", ""])
def test_what_is_no_condition_stays_whole(text: str) -> None:
    assert conjuncts(text) == (text,)
    assert equal_sides(text) is None


@pytest.mark.parametrize(
    ("text", "sides"),
    [
        ("a = 'it''s'", ("a", "'it''s'", False)),
        ("((a <=> 1.5BD))", ("a", "1.5BD", True)),
        ("to_char(n, '000') == t", ("to_char(n, '000')", "t", False)),
        ("like(a, b) = c", None),
        ("a = b = c", None),
        ("a = b < c", None),
        ("a = b LIKE c", None),
        ("a = b IS NULL", None),
        ("! a = b", None),
        ("NOT a = b", None),
        ("= b", None),
        ("a =", None),
    ],
)
def test_sides_of_an_equality_are_parts_of_the_text(text: str, sides: tuple[str, str, bool] | None) -> None:
    assert equal_sides(text) == sides


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("amount DESC -- the largest first", ("amount", "desc", "last")),
        ("(amount)desc /* and */ NULLS first", ("(amount)", "desc", "first")),
        ("a.desc", ("a.desc", "asc", "first")),
        ("desc", ("desc", "asc", "first")),
        ("`desc` nulls last", ("`desc`", "asc", "last")),
    ],
)
def test_an_order_is_cut_at_its_words(text: str, order: tuple[str, str, str]) -> None:
    assert ordering(text) == order
