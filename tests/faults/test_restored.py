"""A few backups that are put back, for a job that is cheap. All of them and all connectors: `make certify`."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import headrace as hr
from headrace.certify import certify
from headrace.certify.backups import BACKUPS, PARTS, early, newest
from headrace.certify.restored import MANIFEST
from headrace.durable.marks import Mark
from headrace.spark.run import ahead
from tests.spark.conformance.lines import lines_by_name

__all__ = ["lines_by_name"]


def job(folder: Path) -> hr.Job:
    rows = hr.read.memory([(id, f"k{id % 3}") for id in range(200)], "id bigint, k string", name="rows")
    counts = rows.group_by("k").agg(n="count(*)")
    return hr.job(
        "small",
        rows.write.files(folder / "rows", format="json", name="copied"),
        counts.write.jdbc(f"sqlite:{folder}/t.db", "t", key="k", name="counted"),
    )


SOME = {
    MANIFEST: {"TABLE_REPLACED": 1},
    "an early copy": {"CHECKPOINT_BEHIND": 2},
    "a copy that took long, from 50%": {"CHECKPOINT_INCOMPLETE": 1},
    "an early copy without sources/": {"CHECKPOINT_INCOMPLETE": 3},
    "the newest without state/": {"CHECKPOINT_UNREADABLE": 1},
    "the newest without the newest commit": {"exact": 10},
    "the newest without the newest entry of a source": {"CHECKPOINT_INCOMPLETE": 1},
    "the newest": {"exact": 2},
}


@pytest.mark.full
@pytest.mark.usefixtures("spark")
def test_backups_that_are_put_back(tmp_path: Path) -> None:
    certificate = certify(job(tmp_path), points=[], restored=[1], backups=SOME)
    assert {one.of: dict(one.outcomes) for one in certificate.tried} == SOME, certificate
    assert certificate.holds and {one.point for one in certificate.tried} == {"put back after 1 epoch"}
    assert str(certificate).startswith("small: killed 0 times, started 21 times on checkpoints that were put back\n")


@pytest.mark.full
@pytest.mark.usefixtures("spark")
def test_rows_that_are_lost_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where epochs are told apart by their numbers alone."""
    monkeypatch.setattr(ahead, "agree", lambda *args: None)
    monkeypatch.setattr(Mark, "agrees", lambda self, identity: True)
    wrong = certify(job(tmp_path), points=[], restored=[1], backups=["an early copy without job.json", "an early copy"])
    last = wrong.tried[-1]
    assert not wrong.holds and last.outcomes == {"exact": 2} and last.lost.get("copied"), last


@pytest.mark.full
@pytest.mark.usefixtures("spark", "lines_by_name")
def test_a_sink_that_cannot_tell(tmp_path: Path) -> None:
    rows = hr.read.memory([(id,) for id in range(200)], "id bigint", name="rows")
    untold = hr.job("untold", rows.write.lines(str(tmp_path / "out"), "", name="out"))  # type: ignore[attr-defined]  # of a test's own
    certificate = certify(untold, points=[], restored=[2], backups=["the newest without state/", "an early copy", "the newest"])
    assert [dict(one.outcomes) for one in certificate.tried] == [{"exact": 1}, {"not noticed": 2}, {"exact": 1}], certificate
    assert certificate.holds


def made(folder: Path, number: int) -> Path:
    """A copy of a checkpoint after so many epochs, as far as its files' names go; each says of which moment it is."""
    for name in ("job.json", "queries/main/metadata", "epochs/main/{}.json", "record/main.{}.json", "queries/main/state/0/0/{}.zip"):
        for epoch in range(number) if "{}" in name else [0]:
            write(folder / name.format(epoch), number)
    for log in ("offsets", "commits", "sources/rows"):
        for epoch in range(number):
            write(folder / "queries" / "main" / log / str(epoch), number)
    return folder


def write(file: Path, number: int) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(str(number))


def test_what_is_put_back(tmp_path: Path) -> None:
    old, new, checkpoint = made(tmp_path / "old", 2), made(tmp_path / "new", 5), tmp_path / "checkpoint"

    def moments(make: Callable[[Path, Path, Path], None]) -> Counter[str]:
        make(old, new, checkpoint)
        return Counter(file.read_text() for file in checkpoint.rglob("*") if file.is_file())

    whole = {2: moments(early)["2"], 5: moments(newest)["5"]}
    certificate = {name: moments(make) for name, make in BACKUPS.items()}
    shutil.rmtree(checkpoint)
    assert certificate.pop("an early copy") == {"2": whole[2]} and certificate.pop("the newest") == {"5": whole[5]}
    for name, counts in certificate.items():
        if "without" in name:
            (moment,) = counts
            assert counts[moment] < whole[int(moment)] and (moment == "5") == name.startswith("the newest"), name
        else:
            assert set(counts) == {"2", "5"}, name
    assert len(certificate) == 9 + 2 * len(PARTS)
