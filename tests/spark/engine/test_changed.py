"""Another version of a job on the checkpoint of the last one: kept right or refused, never wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.durable.sums import read, text_of
from headrace.errors import HeadraceError
from tests.spark.engine.jobs import charges, files, lines, minute, put

pytestmark = pytest.mark.usefixtures("spark")


class Sums(hr.Program):
    """A running count and sum per card."""

    n = hr.Value("int")
    spare = hr.Value("string")

    def on_event(self, e: Any) -> None:
        self.n.set(hr.f.coalesce(self.n.get(), 0) + 1)
        self.spare.set("x")
        hr.emit(card=self.key.card, n=self.n.get())


class SumsLater(hr.Program):
    """The same, a version later: `n` is wider and has another name, `spare` is gone, `total` is new."""

    total = hr.Value("decimal(20,2)")
    count = hr.Value("bigint", was="n")

    def on_event(self, e: Any) -> None:
        self.count.set(hr.f.coalesce(self.count.get(), 0) + 1)
        self.total.set(hr.f.coalesce(self.total.get(), 0) + e.amount)
        hr.emit(card=self.key.card, n=self.count.get(), total=self.total.get())


class SumsInTime(Sums):
    """The same, with a timer."""

    again = hr.Timer()

    def on_event(self, e: Any) -> None:
        super().on_event(e)
        self.again.set(e.ts + hr.hours(1))

    def on_again(self, at: Any) -> None:
        hr.emit(card=self.key.card, n=-self.n.get())


class SumsWithMore(Sums):
    """The same, with cells of every kind."""

    amounts = hr.List("decimal(10,2)", expires="1 day")
    by_amount = hr.Map("decimal(10,2)", "int")
    largest = hr.Aggregate("max(x)", "x decimal(10,2)")
    later = hr.Timer(key="int")
    spare = hr.Value("string", expires="1 hour")

    def on_event(self, e: Any) -> None:
        self.amounts.append(e.amount)
        self.by_amount.set(e.amount, 1)
        self.largest.add(x=e.amount)
        self.later.set(e.ts + hr.days(9), 1)
        self.n.set(hr.f.coalesce(self.n.get(), 0) + 1)
        self.spare.set("x")
        hr.emit(card=self.key.card, n=self.n.get() * 100 + self.amounts.size(), total=self.largest.get())

    def on_later(self, at: Any, key: Any) -> None:
        hr.emit(card=self.key.card, n=-key, total=None)


class SumsOfOther(Sums):
    amounts = hr.List("int")

    def on_event(self, e: Any) -> None:
        self.amounts.append(1)
        hr.emit(card=self.key.card, n=1)


class SumsWrong(hr.Program):
    n = hr.Value("string")

    def on_event(self, e: Any) -> None:
        self.n.set("x")
        hr.emit(card=self.key.card, n=1)


class Other(hr.Program):
    def on_event(self, e: Any) -> None:
        hr.emit(card=self.key.card)


def job(
    folder: Path, program: Any = Sums, *, key: Any = "card", order: str = "arrival", more: tuple[str, ...] = (), name: str = "sums"
) -> hr.Job:
    """A job over `folder`/in: the program, and other operators beside it."""
    read = charges(folder / "in")
    sums = read.key_by(key).process(program, order=order).named("sums")
    sinks = [sums.write.files(folder / "out", format="json", name="out")]
    for other in more:
        sinks.append(read.key_by("card").process(Other, order="arrival").named(other).write.memory(name=f"{other}_kept"))
    return hr.job(name, *sinks)


def results(folder: Path) -> list[tuple[Any, ...]]:
    return sorted((row["card"], row["n"], row.get("total")) for row in lines(folder / "out"))


def rows(*amounts: str) -> list[tuple[str, str, str]]:
    return [("a", amount, minute(number)) for number, amount in enumerate(amounts)]


def test_cells_and_operators_come_and_go(tmp_path: Path) -> None:
    state = tmp_path / "state"
    put(tmp_path / "in", "1.json", rows("1.00", "2.00"))
    job(tmp_path, more=("beside",)).run(checkpoint=state, flush=False)
    put(tmp_path / "in", "2.json", rows("3.00"))
    later = job(tmp_path, SumsLater).run(checkpoint=state, flush=False)
    assert results(tmp_path) == [("a", 1, None), ("a", 2, None), ("a", 3, 3.0)]
    assert [(one.program, one.rows_in) for one in later.inputs] == [("sums", 3)]
    # a removed operator that comes back starts anew, with a number of its own
    put(tmp_path / "in", "3.json", rows("4.00"))
    back = job(tmp_path, SumsLater, more=("beside",)).run(checkpoint=state, flush=False)
    assert {one.program: one.rows_in for one in back.inputs} == {"beside": 1, "sums": 4}
    assert results(tmp_path)[-1] == ("a", 4, 7.0)
    stored = json.loads((state / "job.json").read_text())["identity"]["queries"][0]["entries"]
    assert sorted((entry["name"], entry["retired"]) for entry in stored if entry["kind"] == "program") == [
        ("beside", False),
        ("beside", True),
        ("sums", False),
    ]
    assert len({entry["op"] for entry in stored}) == len(stored)


def test_cells_of_every_kind_come_and_go(tmp_path: Path) -> None:
    versions = (Sums, SumsWithMore, SumsWithMore, Sums, SumsWithMore)
    for number, program in enumerate(versions, 1):
        put(tmp_path / "in", f"{number}.json", rows(f"{number}.00"))
        job(tmp_path, program).run(checkpoint=tmp_path / "state", flush=False)
    # what came back began anew
    assert results(tmp_path) == [("a", 1, None), ("a", 4, None), ("a", 201, 2.0), ("a", 302, 3.0), ("a", 501, 5.0)]
    put(tmp_path / "in", "6.json", rows("6.00"))
    before = files(tmp_path)
    for message, program in (
        ("the cell amounts was a list of decimal\\(10,2\\) that expire and is now a list of int", SumsOfOther),
        ("the cell largest was max\\(x\\) over x decimal\\(10,2\\) and is now min\\(x\\) over x decimal\\(10,2\\)", smallest()),
    ):
        with pytest.raises(HeadraceError, match=message):
            job(tmp_path, program).run(checkpoint=tmp_path / "state", flush=False)
        assert files(tmp_path) == before


def smallest() -> type[hr.Program]:
    return type("Smallest", (SumsWithMore,), {"largest": hr.Aggregate("min(x)", "x decimal(10,2)")})


def test_timers_come_and_go(tmp_path: Path) -> None:
    for number, program in enumerate((Sums, SumsInTime, Sums), 1):
        put(tmp_path / "in", f"{number}.json", rows("1.00"))
        job(tmp_path, program).run(checkpoint=tmp_path / "state", flush=number == 3)
    assert results(tmp_path) == [("a", number, None) for number in (1, 2, 3)]


def test_what_state_cannot_follow_touches_nothing(tmp_path: Path) -> None:
    state = tmp_path / "state"
    put(tmp_path / "in", "1.json", rows("1.00"))
    job(tmp_path).run(checkpoint=state, flush=False)
    put(tmp_path / "in", "2.json", rows("2.00"))
    before = files(tmp_path)
    read = charges(tmp_path / "in")
    first = read.key_by("card").process(Other, order="arrival").named("first")
    moved = first.key_by("card").process(Other, order="arrival").named("sums")
    wrong = {
        "the key of sums is computed differently": job(tmp_path, key=hr.expr("upper(card)").alias("card")),
        'has order="time" instead of "arrival"': job(tmp_path, order="time"),
        "the cell n was int and is now string": job(tmp_path, SumsWrong),
        "had 1 level of operators with state and now has 2: first is new": hr.job(
            "sums", moved.write.files(tmp_path / "out", format="json", name="out")
        ),
        "had 1 level of operators with state and now has none: sums is gone": hr.job(
            "sums", read.write.files(tmp_path / "out", format="json", name="out")
        ),
        "is the checkpoint of job sums": job(tmp_path, name="renamed"),
    }
    for message, changed in wrong.items():
        with pytest.raises(HeadraceError, match=message):
            changed.run(checkpoint=state, flush=False)
        assert files(tmp_path) == before, message
    with pytest.raises(HeadraceError, match="PARTITIONS_CHANGED"):
        job(tmp_path).run(checkpoint=state, partitions=7)
    assert files(tmp_path) == before
    job(tmp_path).run(checkpoint=state, flush=False)
    assert results(tmp_path) == [("a", 1, None), ("a", 2, None)]


def test_state_that_is_not_what_job_json_says(tmp_path: Path) -> None:
    state = tmp_path / "state"
    put(tmp_path / "in", "1.json", rows("1.00"))
    first = charges(tmp_path / "in").key_by("card").process(Other, order="arrival").named("first")
    second = first.key_by("card").process(Other, order="arrival").named("second")
    hr.job("sums", second.write.memory(name="kept")).run(checkpoint=state, flush=False)
    # somebody copied the job.json of a job with one level here
    stored = read(state / "job.json") or {}
    stored["identity"]["queries"][0]["levels"] = 1
    (state / "job.json").write_text(text_of(stored))
    with pytest.raises(HeadraceError, match=r"STATE_MISMATCH: the checkpoint .* holds the state of level 2 where this query has level 1"):
        hr.job("sums", first.write.memory(name="kept")).run(checkpoint=state, flush=False)


def test_a_schema_found_by_looking_stays_that_of_the_first_start(tmp_path: Path) -> None:
    def inferred() -> hr.Job:
        read = hr.read.files(tmp_path / "in", format="json", name="charges")
        last = read.watermark("ts", "5 minutes").key_by("card").process(Last).named("last")
        return hr.job("last", last.write.files(tmp_path / "out", format="json", name="out"))

    put(tmp_path / "in", "1.json", ['{"card": "a", "amount": 1, "ts": "2026-01-01 00:00:00"}'])
    inferred().run(checkpoint=tmp_path / "state", flush=False)
    # the new file alone would make another schema: one more column, another type of amount
    put(tmp_path / "in", "2.json", ['{"card": "a", "amount": 2, "note": "x", "ts": "2026-01-01 00:10:00"}'])
    put(tmp_path / "in", "3.json", ['{"card": "a", "amount": 2.5, "ts": "2026-01-01 00:11:00"}'])
    later = inferred()
    assert "note" in later.plan.nodes["charges"].columns
    summary = later.run(checkpoint=tmp_path / "state")
    assert sorted((row["amount"], row["at"][11:16]) for row in lines(tmp_path / "out")) == [(1, "00:00"), (2, "00:10")]
    assert sum(summary.dead_letters.values()) == 1


class Last(hr.Program):
    """Each charge again, in the order of time."""

    def on_event(self, e: Any) -> None:
        hr.emit(card=self.key.card, amount=e.amount, at=e.ts)
