"""Every kind of change that a job may make between two runs on one checkpoint, with rows before and after it."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.spark.compile.layout import widens
from tests.spark.engine.jobs import charges, lines, minute, put

pytestmark = pytest.mark.usefixtures("spark")


class Keeps(hr.Program):
    """Any cells: each row tells what is in them, then sets them to the texts given for them, or to what a function makes of the cell."""

    def __init__(self, sets: dict[str, Any], **cells: Any) -> None:
        self.sets = sets
        self.names = tuple(cells)
        for name, cell in cells.items():
            setattr(self, name, cell)

    def on_event(self, e: Any) -> None:
        hr.emit(card=self.key.card, seen=hr.f.to_json(hr.struct(**{name: getattr(self, name).get() for name in self.names}, row=1)))
        for name, value in self.sets.items():
            cell = getattr(self, name)
            cell.set(value(cell) if callable(value) else hr.expr(value))


def job(folder: Path, program: Any, *, order: str = "arrival", **inputs: hr.Stream) -> hr.Job:
    sums = charges(folder / "in").key_by("card").process(program, order=order, **inputs).named("sums")
    return hr.job("sums", sums.write.files(folder / "out", format="json", name="out"))


def step(folder: Path, program: Any, *cards: str, flush: bool = False, **more: Any) -> list[dict[str, Any]]:
    """The next version of the job with a new file of rows, one for each card; gives what it wrote, by what it saw."""
    number = len(list((folder / "in").glob("*"))) + 1
    put(folder / "in", f"{number:02}.json", [(card, f"{number}.00", minute(number)) for card in cards])
    known = len(lines(folder / "out")) if number > 1 else 0
    job(folder, program, **more).run(checkpoint=folder / "state", flush=flush)
    return sorted(lines(folder / "out")[known:], key=lambda row: row["card"])


def seen(folder: Path, program: Any, *cards: str, **more: Any) -> list[dict[str, Any]]:
    """What each card saw, without what is always there."""
    return [
        {name: value for name, value in json.loads(row["seen"]).items() if name != "row"} for row in step(folder, program, *cards, **more)
    ]


def test_a_value_comes_with_a_default_and_without_goes_and_comes_back(tmp_path: Path) -> None:
    def program(*more: str) -> Keeps:
        cells = {"n": hr.Value("int"), "plain": hr.Value("int"), "given": hr.Value("int", default=7)}
        names = ("n", *more)
        return Keeps(dict.fromkeys(names, lambda cell: hr.f.coalesce(cell.get(), 0) + 1), **{name: cells[name] for name in names})

    assert seen(tmp_path, program(), "a", "b") == [{}, {}]
    assert seen(tmp_path, program("plain", "given"), "a") == [{"n": 1, "given": 7}]
    assert seen(tmp_path, program("plain", "given"), "a", "b", "c") == [
        {"n": 2, "plain": 1, "given": 8},
        {"n": 1, "given": 7},
        {"given": 7},
    ]
    assert seen(tmp_path, program("given"), "a") == [{"n": 3, "given": 9}]
    # one that comes back begins anew, also for a key that was not worked on while it was away
    assert seen(tmp_path, program("plain", "given"), "a", "b", "c") == [{"n": 4, "given": 10}, {"n": 2, "given": 8}, {"n": 1, "given": 8}]


TYPES = {
    "tinyint": "-128",
    "smallint": "32767",
    "int": "-2147483648",
    "bigint": "9223372036854775807",
    "float": "0.1",
    "double": "1e300",
    "decimal(5,2)": "-999.99",
    "decimal(10,0)": "9999999999",
    "decimal(20,2)": "123456789012345678.12",
    "decimal(38,10)": "1.5",
    "date": "DATE'1969-12-31'",
    "timestamp": "TIMESTAMP'1969-12-31 23:59:59.999999'",
    "timestamp_ntz": "TIMESTAMP_NTZ'1969-12-31 23:59:59.999999'",
}
WIDER = [(old, new) for old, new in itertools.permutations(TYPES, 2) if widens(old, new)]


class Compares(Keeps):
    """Tells of each cell whether it holds what its text gives; null while it holds nothing."""

    def on_event(self, e: Any) -> None:
        same = [
            hr.case((getattr(self, name).exists(), getattr(self, name).get() == hr.expr(text)), otherwise=None)
            for name, text in self.sets.items()
        ]
        hr.emit(card=self.key.card, seen=hr.f.to_json(hr.struct(same=hr.f.array(*same))))


def test_a_value_is_widened_from_every_type_to_every_wider_one(tmp_path: Path) -> None:
    def literal(old: str, new: str) -> str:
        return f"CAST(CAST({TYPES[old]} AS {old}) AS {new})"

    before = Keeps(
        {f"c{n}": literal(old, old) for n, (old, _) in enumerate(WIDER)}, **{f"c{n}": hr.Value(old) for n, (old, _) in enumerate(WIDER)}
    )
    texts = {f"c{n}": literal(old, new) for n, (old, new) in enumerate(WIDER)}
    after = Compares(texts, **{f"c{n}": hr.Value(new) for n, (_, new) in enumerate(WIDER)})
    assert len(WIDER) >= 30
    step(tmp_path, before, "a")
    assert seen(tmp_path, after, "a", "b") == [{"same": [True] * len(WIDER)}, {"same": [None] * len(WIDER)}]


def test_names(tmp_path: Path) -> None:
    begun = Keeps({"x": "1", "y": "2", "z": "3"}, **{name: hr.Value("int") for name in "xyz"})
    step(tmp_path, begun, "a", "b")
    # x is renamed and wider; y and z claim to have been each other, and are what they were
    then = {"w": hr.Value("bigint", was="x"), "y": hr.Value("int"), "z": hr.Value("int")}
    assert seen(tmp_path, Keeps({"w": "10L"}, **then), "a") == [{"w": 1, "y": 2, "z": 3}]
    # the name that is free again is that of a new cell; the renamed one is renamed once more
    last = {"x": hr.Value("int"), "v": hr.Value("decimal(20,0)", was="w"), "z": hr.Value("int"), "y": hr.Value("int")}
    assert seen(tmp_path, Keeps({}, **last), "a", "b") == [{"v": 10, "z": 3, "y": 2}, {"v": 1, "z": 3, "y": 2}]


class Tells(hr.Program):
    def tell(self, xs: Any, m: Any, total: Any, rules: Any) -> None:
        cells = hr.struct(xs=xs.get(), m=m.size(), total=total.get(), rules=rules.size(), rule=rules.get("r"))
        hr.emit(card=self.key.card, seen=hr.f.concat(hr.lit("row "), hr.f.to_json(cells)))


class AllKinds(Tells):
    """What is kept in pages, buffers and times."""

    xs = hr.List("int")
    m = hr.Map("int", "string")
    total = hr.Aggregate("sum(x)", "x decimal(10,2)")
    wake = hr.Timer()
    due = hr.Timer(key="int")
    rules = hr.Broadcast("string", "int")

    def on_rules(self, r: Any) -> None:
        self.rules.set(r.card, hr.expr("CAST(e.amount AS int)"))

    def on_event(self, e: Any) -> None:
        self.xs.append(hr.expr("CAST(e.amount AS int)"))
        self.m.set(hr.expr("CAST(e.amount AS int)"), "x")
        self.total.add(x=e.amount)
        self.wake.set(e.ts + hr.minutes(30))
        self.due.set(e.ts + hr.minutes(40), 1)
        self.tell(self.xs, self.m, self.total, self.rules)

    def on_wake(self, at: Any) -> None:
        hr.emit(card=self.key.card, seen="wake")

    def on_due(self, at: Any, of: Any) -> None:
        hr.emit(card=self.key.card, seen="due")


class OtherNames(Tells):
    """The same under other names; the timers ring as these."""

    xs2 = hr.List("int", was="xs")
    m2 = hr.Map("int", "string", was="m")
    total2 = hr.Aggregate("sum(x)", "x decimal(10,2)", was="total")
    wake2 = hr.Timer(was="wake")
    due2 = hr.Timer(key="int", was="due")
    rules2 = hr.Broadcast("string", "int", was="rules")

    def on_rules(self, r: Any) -> None:
        self.rules2.set(r.card, -1)

    def on_event(self, e: Any) -> None:
        self.tell(self.xs2, self.m2, self.total2, self.rules2)

    def on_wake2(self, at: Any) -> None:
        hr.emit(card=self.key.card, seen="wake2")

    def on_due2(self, at: Any, of: Any) -> None:
        hr.emit(card=self.key.card, seen=hr.f.concat(hr.lit("due2 "), of))


class Fewer(hr.Program):
    """None of them."""

    n = hr.Value("int")

    def on_rules(self, r: Any) -> None:
        self.all.set(1, 1)

    all = hr.Broadcast("int", "int")

    def on_event(self, e: Any) -> None:
        self.n.set(1)
        hr.emit(card=self.key.card, seen=hr.f.concat(hr.lit("fewer "), self.all.size()))


def with_rules(folder: Path, program: Any, *cards: str, flush: bool = False) -> list[str]:
    number = len(list((folder / "in").glob("*"))) + 1
    rule = [("r" if number == 1 else f"r{number}", f"{number}.00", minute(number))]
    put(folder / "rules", f"{number:02}.json", rule)
    rules = hr.read.files(folder / "rules", format="json", schema="card string, amount decimal(10,2), ts timestamp", name="rules")
    rows = step(folder, program, *cards, flush=flush, rules=hr.broadcast(rules.watermark("ts", "5 minutes")))
    return sorted(row["seen"] for row in rows)


def test_what_is_kept_in_pages_buffers_and_times_is_renamed(tmp_path: Path) -> None:
    assert with_rules(tmp_path, AllKinds, "a", "b") == ['row {"xs":[1],"m":1,"total":1.00,"rules":1,"rule":1}'] * 2
    assert with_rules(tmp_path, OtherNames, "a", flush=True) == [
        "due2 1",
        "due2 1",
        'row {"xs":[1],"m":1,"total":1.00,"rules":2,"rule":1}',
        "wake2",
        "wake2",
    ]


def test_what_is_kept_in_pages_buffers_and_times_goes_and_comes_back(tmp_path: Path) -> None:
    with_rules(tmp_path, AllKinds, "a", "b")
    assert with_rules(tmp_path, Fewer, "a") == ["fewer 1"]
    # anew: for a card that was worked on meanwhile, and for one that was not
    assert with_rules(tmp_path, AllKinds, "a", "b", flush=True) == [
        "due",
        "due",
        'row {"xs":[3],"m":1,"total":3.00,"rules":1}',
        'row {"xs":[3],"m":1,"total":3.00,"rules":1}',
        "wake",
        "wake",
    ]


@pytest.mark.full
def test_expiry_is_added_changed_and_removed(tmp_path: Path) -> None:
    def program(**expires: Any) -> Keeps:
        return Keeps({"x": "1", "y": "2"}, x=hr.Value("int", expires=expires.get("x")), y=hr.Value("int", expires=expires.get("y")))

    step(tmp_path, program(y="3 minutes"), "a", "b", "c")  # at minute 1
    # x was set without an end, and y with one; what is set now is counted anew
    assert seen(tmp_path, program(x="1 minute", y="10 minutes"), "a") == [{"x": 1, "y": 2}]
    for number in range(3, 6):
        step(tmp_path, program(x="1 minute", y="10 minutes"), f"other{number}")
    assert seen(tmp_path, program(x="1 minute", y="10 minutes"), "a", "b", "z") == [{"y": 2}, {"x": 1}, {}]  # at minute 6
    # without expiry what is there stays
    assert seen(tmp_path, program(), "a", "c") == [{"x": 1, "y": 2}, {"x": 1, "y": 2}]


class InTime(hr.Program):
    """Tells of rows by a word."""

    word = "first"
    n = hr.Value("int", default=0)

    def on_event(self, e: Any) -> None:
        self.n.set(self.n.get() + 1)
        hr.emit(card=self.key.card, seen=hr.f.concat(hr.lit(f"{self.word} "), self.n.get(), hr.lit(" "), e.amount))


class InTimeLater(InTime):
    word = "second"
    m = hr.Value("int", was=hr.col("n") * 10)

    def on_event(self, e: Any) -> None:
        super().on_event(e)
        self.m.set(self.m.get() + 1)
        hr.emit(card=self.key.card, seen=hr.f.concat(hr.lit("m "), self.m.get()))


@pytest.mark.full
def test_held_rows_are_handled_by_the_handlers_of_now(tmp_path: Path) -> None:
    for number, card in enumerate(("a", "b", "b", "b", "b", "b", "a"), 1):
        step(tmp_path, InTime, card, order="time")
        # the watermark has passed the first row
        assert [row["seen"] for row in lines(tmp_path / "out") if row["card"] == "a"] == (["first 1 1.00"] if number > 5 else [])
    step(tmp_path, InTimeLater, "a", order="time", flush=True)
    seen = sorted(row["seen"] for row in lines(tmp_path / "out") if row["card"] == "a")
    assert seen == ["first 1 1.00", "m 11", "m 12", "second 2 7.00", "second 3 8.00"]
