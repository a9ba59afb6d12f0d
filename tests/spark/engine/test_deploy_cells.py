"""State that a deploy converts to other types: the whole output is that of the new version over all input."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from tests.spark.engine.jobs import lines

pytestmark = pytest.mark.usefixtures("spark")


def all_kinds(whole: str, listed: str | None = None) -> type[hr.Program]:
    """A program with cells of every kind over numbers of the type `whole`."""

    class Kinds(hr.Program):
        """What has been seen per shop, and what was due."""

        n = hr.Value("int")
        total = hr.Aggregate("sum(x)", "x bigint")
        amounts = hr.List(listed or whole)
        by_item = hr.Map(whole, whole)
        limits = hr.Broadcast(whole, whole)
        due = hr.Timer(key=whole)
        quiet = hr.Timer()

        def on_rules(self, r: Any) -> None:
            with hr.when(r.limit == 0):
                self.limits.remove(r.item)
            with hr.otherwise():
                self.limits.set(r.item, r.limit)

        def on_event(self, e: Any) -> None:
            self.n.set(hr.f.coalesce(self.n.get(), 0) + 1)
            self.total.add(x=e.amount)
            self.amounts.append(e.amount)
            self.by_item.set(e.item, hr.f.coalesce(self.by_item.get(e.item), 0) + e.amount)
            self.due.set(e.ts + hr.minutes(7), e.item)
            self.quiet.set(e.ts + hr.minutes(20))
            hr.emit(
                shop=self.key.shop,
                n=self.n.get(),
                item=e.item,
                total=self.total.get(),
                amounts=hr.f.to_json(self.amounts.get()),
                first=hr.f.to_json(self.by_item.first()),
                last=hr.f.to_json(self.by_item.last()),
                held=self.by_item.get(e.item),
                limit=self.limits.get(e.item),
                rules=self.limits.size(),
                ts=e.ts,
            )

        def on_due(self, at: Any, item: Any) -> None:
            hr.emit(
                shop=self.key.shop,
                n=-1,
                item=item,
                total=self.total.get(),
                amounts=hr.f.to_json(self.amounts.get()),
                first=hr.f.to_json(self.by_item.first()),
                last=hr.f.to_json(self.by_item.last()),
                held=self.by_item.get(item),
                limit=self.limits.get(item),
                rules=self.limits.size(),
                ts=at,
            )

        def on_quiet(self, at: Any) -> None:
            self.amounts.clear()
            self.by_item.clear()

    return Kinds


RULES = "item {whole}, limit {whole}, ts timestamp"
SALES = "shop {key}, item {whole}, amount {whole}, ts timestamp"


def job(folder: Path, key: str = "int", whole: str = "int", **options: Any) -> hr.Job:
    read = [
        hr.read.files(folder / name, format="json", schema=schema.format(key=key, whole=whole), name=name).watermark("ts", "5 minutes")
        for name, schema in (("sales", SALES), ("rules", RULES))
    ]
    kinds = read[0].key_by("shop").process(all_kinds(whole, **options), rules=hr.broadcast(read[1])).named("kinds")
    return hr.job("kinds", kinds.write.files(folder / "out", format="json", name="out"))


def moment(second: int) -> str:
    return f"2026-01-01 {second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"


def lay_out(folder: Path, part: int) -> None:
    """The input of one part: an hour each, so that timers of one part are pending while the next one begins."""
    chance = random.Random(part)
    start = part * 1800
    rows = [
        {"shop": chance.randrange(-4, 5), "item": chance.randrange(-3, 4), "amount": chance.randrange(-9, 10), "ts": moment(start + i * 18)}
        for i in range(100)
    ]
    if part == 0:
        # no more rows of it come, so that only its alarm can say when its timer is due
        rows.append({"shop": 99, "item": 1, "amount": 1, "ts": moment(1790)})
    rules = [{"item": chance.randrange(-3, 4), "limit": chance.randrange(0, 5), "ts": moment(start + i * 170)} for i in range(10)]
    for name, records in (("sales", rows), ("rules", rules)):
        (folder / name).mkdir(parents=True, exist_ok=True)
        chance.shuffle(records)
        (folder / name / f"{part}.json").write_text("".join(json.dumps(row) + "\n" for row in records))


def results(folder: Path) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True) for row in lines(folder / "out"))


VERSIONS = [("int", "int"), ("bigint", "bigint"), ("decimal(20,0)", "bigint")]


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory, spark: object) -> list[str]:
    """What the last version writes if it reads all parts from the start."""
    folder = tmp_path_factory.mktemp("straight")
    for part in range(4):
        lay_out(folder, part)
    job(folder, *VERSIONS[-1]).run(checkpoint=folder / "state", partitions=2)
    return results(folder)


@pytest.mark.parametrize("partitions", [2, *(pytest.param(n, marks=pytest.mark.full) for n in (1, 3))])
def test_wider_keys_and_entries_of_every_kind(tmp_path: Path, partitions: int, straight: list[str]) -> None:
    for part, (key, whole) in enumerate(VERSIONS):
        lay_out(tmp_path, part)
        if part:
            deployment = job(tmp_path, key, whole).deploy(checkpoint=tmp_path / "state")
            (kinds,) = (one for one in deployment.verdicts if one.part == "operator")
            assert (kinds.verdict, kinds.keys, kinds.entries > 0, kinds.held > 0) == ("evolved", 10, part == 1, True)
        summary = job(tmp_path, key, whole).run(checkpoint=tmp_path / "state", flush=False, partitions=partitions)
        assert sum(one.held for one in summary.inputs) > 0
    # a restart after it, with input that comes later
    lay_out(tmp_path, 3)
    job(tmp_path, *VERSIONS[-1]).run(checkpoint=tmp_path / "state")
    assert results(tmp_path) == straight
    assert len(straight) > 500
    assert sum('"shop": 99' in row for row in straight) == 2
