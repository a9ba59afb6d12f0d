"""Types: everything wrong in a plan is found when the job is made, all at once, each at its own line."""

from __future__ import annotations

from typing import Any

import pytest

import headrace as hr
from headrace.errors import HeadraceError

pytestmark = pytest.mark.usefixtures("spark")

charges = hr.read.memory([("a", 1, "2026-01-01 00:00:00")], "card string, amount int, ts timestamp", name="charges")


def job_of(*streams: hr.Stream) -> hr.Job:
    return hr.job("job", *(stream.write.memory(name=f"s{number}") for number, stream in enumerate(streams)))


def test_a_program_is_checked_at_its_statements() -> None:
    class Wrong(hr.Program):
        n = hr.Value("int")

        def on_event(self, e: Any) -> None:
            self.n.set(e.card)
            hr.emit(card=self.key.card, x=hr.f.nothing(e.amount))

    with pytest.raises(HeadraceError) as raised:
        job_of(charges.key_by("card").process(Wrong).named("wrong"))
    errors = [raised.value, *raised.value.also]
    assert sorted(error.code for error in errors) == ["UNKNOWN_FUNCTION", "WRONG_TYPE"]
    assert {error.site.text for error in errors if error.site} == {
        "self.n.set(e.card)",
        "hr.emit(card=self.key.card, x=hr.f.nothing(e.amount))",
    }
    assert "the cell `n` is INT, but the value is STRING" in next(error.message for error in errors if error.code == "WRONG_TYPE")


def test_all_errors_are_reported_at_once() -> None:
    with pytest.raises(HeadraceError) as raised:
        job_of(charges.filter("uper(card) = 'A'").filter("amount > 1"), charges.filter("amount"))
    assert [error.code for error in (raised.value, *raised.value.also)] == ["UNKNOWN_FUNCTION", "WRONG_TYPE"]
    assert "Exception" not in str(raised.value) and "org.apache" not in str(raised.value)


def test_schemas_are_known() -> None:
    stream = charges.with_columns(twice="amount * 2.5", at="ts + INTERVAL 1 DAY")
    assert stream.schema.ddl == "card string, amount int, ts timestamp, twice decimal(13,1), at timestamp"
    text = str(job_of(stream).explain(verbose=True))
    assert "schema: card string" in text and "guarantee: exactly once" in text
