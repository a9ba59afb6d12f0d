"""The words of a change column: the texts that weigh rows by them, and the table that documents them."""

from __future__ import annotations

import re
from pathlib import Path

from headrace.ops import change_words

PAGE = Path(__file__).resolve().parents[3] / "docs" / "guides" / "queries.md"


def test_the_page_has_all_words() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("### Words of a change column")[2].partition("###")[0]
    words = [re.findall(r"`([^`]+)`", line.split("|")[1]) for line in table.splitlines() if line.startswith("| `")]
    assert [tuple(row) for row in words] == [change_words.ADDS, change_words.REPLACES, change_words.TAKES]


def test_no_word_says_two_things() -> None:
    all_of_them = change_words.ADDS + change_words.REPLACES + change_words.TAKES
    assert len(set(all_of_them)) == len(all_of_them)


def test_a_reason_is_found_by_the_text_of_the_weight() -> None:
    for column in ("op", "the op", "o`p", "o'p"):
        plain, keyed = (change_words.reason(change_words.weight(column, keyed=keyed), ("k", column)) for keyed in (False, True))
        assert plain is not None
        assert keyed is not None
        assert ("An update does" in plain, "An update does" in keyed) == (True, False)
    assert change_words.reason("change.w", ("k", "op")) is None
