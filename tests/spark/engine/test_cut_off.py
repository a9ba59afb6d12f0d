"""Another version of a job in the middle of an epoch that a sink holds: only the version that began it ends it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.errors import HeadraceError
from headrace.points import point
from headrace.spark.run import epochs
from tests.spark.engine import jobs

pytestmark = pytest.mark.usefixtures("spark")


def counting(by: int) -> type[hr.Program]:
    class Count(hr.Program):
        n = hr.Value("int", default=0)

        def on_event(self, e: Any) -> None:
            self.n.set(self.n.get() + by)
            hr.emit(card=self.key.card, n=self.n.get())

    return Count


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(number: int) -> None:
    jobs.put(Path("in"), f"{number}.json", [json.dumps({"card": "a", "i": number})])


def run(by: int = 1, out: str = "out", name: str = "out", more: str | None = None) -> None:
    charges = hr.read.files("in", format="json", schema="card string, i int", name="charges", files_per_epoch=1)
    counts = charges.key_by("card").process(counting(by)).named("counts")
    other = [] if more is None else [charges.filter(more).write.files("more", format="json", name="more")]
    hr.job("j", counts.write.files(out, format="json", name=name), *other).run(checkpoint="ck", progress=False, flush=False)


def cut_off(monkeypatch: pytest.MonkeyPatch, name: str, of: str = "", **version: Any) -> None:
    """Run until the second epoch passes a point."""
    passed: list[str] = []

    def fails(at: str, what: str = "") -> None:
        point(at, what)
        if (at, what) == (name, of or what):
            passed.append(what)
            if len(passed) == 2:
                raise RuntimeError("cut off")

    with monkeypatch.context() as patch:
        patch.setattr(epochs, "point", fails)
        with pytest.raises(HeadraceError, match="cut off"):
            run(**version)


def numbers(folder: str = "out") -> list[int]:
    return sorted(row["n"] for row in jobs.lines(Path(folder)))


REFUSED = "EPOCH_UNFINISHED: {}: epoch 1 was interrupted, and {} since"


@pytest.mark.parametrize("where", ["after sink commit", "after the record"])
def test_a_handler_that_is_edited(monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """Its state would have rows of the new handler, and the sink those of the old one."""
    put(1)
    put(2)
    cut_off(monkeypatch, where)
    assert numbers() == [1, 2]
    for _ in range(2):
        with pytest.raises(HeadraceError, match=REFUSED.format("out", "counts was changed")):
            run(by=10)
    run()
    put(3)
    run(by=10)
    assert numbers() == [1, 2, 12]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"out": "else"}, "out was changed"),
        ({"out": "else", "name": "other"}, "out was removed"),
    ],
)
def test_a_sink_that_writes_elsewhere(monkeypatch: pytest.MonkeyPatch, change: dict[str, str], reason: str) -> None:
    """Rows of the epoch would be there and here."""
    put(1)
    put(2)
    cut_off(monkeypatch, "after sink commit", "out")
    with pytest.raises(HeadraceError, match=REFUSED.format("out", reason)):
        run(**change)
    run()
    put(3)
    run(**change)
    assert (numbers(), numbers("else")) == ([1, 2], [3])


def test_an_epoch_that_no_sink_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The edit may be what lets it end."""
    put(1)
    put(2)
    cut_off(monkeypatch, "before sink commit")
    run(by=10)
    assert numbers() == [1, 11]


def test_what_a_sink_reads_that_does_not_hold_the_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    put(1)
    put(2)
    cut_off(monkeypatch, "before sink commit", "more", more="i > 0")
    assert (numbers(), len(jobs.lines(Path("more")))) == ([1, 2], 1)
    with pytest.raises(HeadraceError, match=REFUSED.format("out", "counts was changed")):
        run(by=10, more="i > 0")
    run(more="i > 5")
    assert (numbers(), len(jobs.lines(Path("more")))) == ([1, 2], 1)


def test_a_deploy_in_the_middle_of_an_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sink has what the old version computed, and the state would be as if the new one had."""
    put(1)
    put(2)
    cut_off(monkeypatch, "after sink commit")
    charges = hr.read.files("in", format="json", schema="card string, i int", name="charges", files_per_epoch=1)
    counts = charges.key_by("card").process(counting(10)).named("counts")
    job = hr.job("j", counts.write.files("out", format="json", name="out"))
    with pytest.raises(HeadraceError, match="EPOCH_UNFINISHED: out: epoch 1 was interrupted, and may be there in part"):
        job.deploy(checkpoint="ck")


def test_a_deploy_while_no_sink_holds_the_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The new version begins it anew."""

    def job(key: str) -> hr.Job:
        charges = hr.read.files("in", format="json", schema=f"card string, i {key}", name="charges", files_per_epoch=1)
        counts = charges.key_by("i").process(Counted).named("counts")
        return hr.job("j", counts.write.files("out", format="json", name="out"))

    class Counted(hr.Program):
        n = hr.Value("int", default=0)

        def on_event(self, e: Any) -> None:
            self.n.set(self.n.get() + 1)
            hr.emit(i=self.key.i, n=self.n.get())

    def more(number: int) -> None:
        jobs.put(Path("in"), f"{number}.json", [json.dumps({"card": "a", "i": 7})])

    more(1)
    job("int").run(checkpoint="ck", progress=False, flush=False)
    more(2)
    with monkeypatch.context() as patch:
        patch.setattr(epochs, "point", fails_before_sinks)
        with pytest.raises(HeadraceError, match="cut off"):
            job("int").run(checkpoint="ck", progress=False, flush=False)
    job("bigint").deploy(checkpoint="ck")
    job("bigint").run(checkpoint="ck", progress=False, flush=False)
    assert numbers() == [1, 2]


def fails_before_sinks(at: str, of: str = "") -> None:
    if at == "before sink commit":
        raise RuntimeError("cut off")


def test_the_rows_of_a_constant_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are a part of the job: one sink would have the epoch with the old ones, the state and the other sink with the new ones."""

    def looking(factor: int) -> None:
        charges = hr.read.files("in", format="json", schema="card string, i int", name="charges", files_per_epoch=1)
        table = hr.lookup.memory([("a", factor)], "card string, f int", constant=True)
        met = charges.lookup(table, on="card").named("met")
        counts = met.key_by("card").process(counting(1)).named("counts")
        sinks = [rows.write.files(path, format="json", name=path) for path, rows in (("met_rows", met), ("out", counts))]
        hr.job("j", *sinks).run(checkpoint="ck", progress=False, flush=False)

    put(1)
    put(2)
    monkeypatch.setitem(globals(), "run", looking)
    cut_off(monkeypatch, "after sink commit", "met_rows", factor=1)
    with pytest.raises(HeadraceError, match=REFUSED.format("met_rows", "the constant rows of met were changed")):
        looking(2)
    looking(1)
    assert numbers() == [1, 2]
    put(3)
    looking(2)
    assert [row["f"] for row in jobs.lines(Path("met_rows"))] == [1, 1, 2]
