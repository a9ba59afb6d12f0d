"""Checkpoints that were put back, and parts of them and of outputs that are gone: refused before anything is touched, or exact."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import headrace as hr
from headrace.cli import main
from headrace.errors import HeadraceError
from tests.spark.engine.jobs import files, lines

pytestmark = pytest.mark.usefixtures("spark")


class Shop:
    """A job over a folder that grows file by file, an epoch each: a count by key that is written as changes, and the rows themselves."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.checkpoint, self.out = folder / "checkpoint", folder / "out"
        (folder / "in").mkdir(parents=True)
        self.rows = 0

    def job(self) -> hr.Job:
        rows = hr.read.files(self.folder / "in", format="json", schema="k int, v int", files_per_epoch=1, name="rows")
        counts = hr.sql("SELECT k, count(*) AS n FROM rows GROUP BY k", rows=rows)
        return hr.job(
            "shop",
            rows.write.files(self.out / "rows", format="json", name="all"),
            counts.changes().write.files(self.out / "counts", format="json", name="counts"),
        )

    def put(self, files: int, rows: int = 2) -> None:
        for _ in range(files):
            records = [{"k": (self.rows + n) % 3, "v": self.rows + n} for n in range(rows)]
            (self.folder / "in" / f"{self.rows:06}.json").write_text("".join(json.dumps(row) + "\n" for row in records))
            self.rows += rows

    def run(self, *, fresh: bool = False) -> hr.Summary:
        return self.job().run(checkpoint=self.checkpoint, flush=False, fresh=fresh, progress=False)

    def refused(self) -> HeadraceError:
        """What a start is refused with; it is the same each time, and touches nothing."""
        before = files(self.folder)
        errors = []
        for _ in range(3):
            with pytest.raises(HeadraceError) as caught:
                self.run()
            errors.append(str(caught.value))
        assert len(set(errors)) == 1 and files(self.folder) == before
        return caught.value

    def check(self) -> None:
        """Each row is there once, and the counts are theirs."""
        assert sorted(row["v"] for row in lines(self.out / "rows")) == list(range(self.rows))
        counts = dict.fromkeys(range(3), 0)
        for row in lines(self.out / "counts"):
            counts[row["k"]] += row["n"] * (1 if row["_change"] == "insert" else -1)
        assert counts == {k: len(range(k, self.rows, 3)) for k in range(3)}


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    shop = Shop(tmp_path / "shop")
    shop.put(3)
    shop.run()
    return shop


def term(checkpoint: Path) -> list[str]:
    return [path.name for path in checkpoint.glob("lock*")]


def test_a_checkpoint_that_was_put_back(shop: Shop, tmp_path: Path) -> None:
    shutil.copytree(shop.checkpoint, tmp_path / "backup")
    shop.put(4)
    shop.run()
    shop.checkpoint.rename(tmp_path / "newest")
    shutil.copytree(tmp_path / "backup", shop.checkpoint)
    shop.put(1, rows=7)
    held = term(shop.checkpoint)
    error = shop.refused()
    assert error.code == "CHECKPOINT_BEHIND" and "all holds epoch 6; counts holds epoch 6, but" in error.message
    assert term(shop.checkpoint) == held, "a start that is refused spends no term"
    shutil.rmtree(shop.checkpoint)
    (tmp_path / "newest").rename(shop.checkpoint)
    shop.run()
    shop.check()


def test_the_doctor_compares_the_sinks_where_it_gets_the_file(shop: Shop, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "shop.json"
    plan.write_text(json.dumps(shop.job().plan.to_json()), encoding="utf-8")
    shutil.copytree(shop.checkpoint, tmp_path / "backup")
    command = ["doctor", str(plan), "--checkpoint", str(shop.checkpoint)]
    before = files(shop.folder)
    assert main(command) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "ok       query main: the next start begins epoch 3",
        "ok       sinks: they hold what the checkpoint has written",
    ]
    assert files(shop.folder) == before
    gone = hr.committed_files(shop.out / "rows")[0]
    kept = gone.read_bytes()
    for damage in (gone.unlink, lambda: gone.write_bytes(kept[:-1])):
        damage()
        assert main(command) == 4
        output = capsys.readouterr().out
        assert (
            "LOST     from a sink:" in output
            and f"OUTPUT_MISSING: {gone} belongs to committed epochs, but is missing or truncated" in output
        )
        gone.write_bytes(kept)
    shop.put(1)
    shop.run()
    shutil.rmtree(shop.checkpoint)
    (tmp_path / "backup").rename(shop.checkpoint)
    assert main(["doctor", str(shop.checkpoint)]) == 0
    assert "sinks: not checked" in capsys.readouterr().out
    before = files(shop.folder)
    assert main(command) == 4
    lines = capsys.readouterr().out.splitlines()
    assert lines[2] == "REFUSED  the next start:"
    assert lines[3].startswith("         CHECKPOINT_BEHIND: all holds epoch 3; counts holds epoch 3, but the checkpoint ")
    assert "--fresh starts over" in lines[5]
    assert main([*command, "--json"]) == 4
    report = json.loads(capsys.readouterr().out)
    assert (report["compared"], report["sound"], report["refusal"]["code"]) == (True, False, "CHECKPOINT_BEHIND")
    assert files(shop.folder) == before


def test_epochs_of_the_same_number_that_are_cut_otherwise(shop: Shop, tmp_path: Path) -> None:
    """The copy has run as many epochs as the other one, over other files, and has written them elsewhere."""
    shutil.copytree(shop.folder, tmp_path / "copy")
    shop.put(2)
    shop.run()
    copy = Shop.__new__(Shop)
    copy.folder, copy.checkpoint, copy.out, copy.rows = shop.folder, tmp_path / "copy" / "checkpoint", tmp_path / "copy" / "out", shop.rows
    copy.run()
    copy.out = shop.out
    error = copy.refused()
    assert error.code == "CHECKPOINT_BEHIND" and "all holds epoch 4 of another history" in error.message
    shop.put(1)
    shop.run()
    shop.check()


def test_a_checkpoint_and_its_outputs_that_were_put_back_go_on(shop: Shop, tmp_path: Path) -> None:
    for part in ("checkpoint", "out"):
        shutil.copytree(shop.folder / part, tmp_path / "backup" / part)
    shop.put(2)
    shop.run()
    for part in ("checkpoint", "out"):
        shutil.rmtree(shop.folder / part)
        shutil.copytree(tmp_path / "backup" / part, shop.folder / part)
    shop.put(2)
    shop.run()
    shop.check()


def newest(folder: Path, pattern: str) -> Path:
    return max((path for path in folder.glob(pattern) if path.stem.isdigit()), key=lambda path: int(path.stem))


LOST: dict[str, tuple[Callable[[Shop], Path], str]] = {
    "queries": (lambda shop: shop.checkpoint / "queries", "CHECKPOINT_INCOMPLETE"),
    "offsets": (lambda shop: newest(shop.checkpoint, "queries/*/offsets/*"), "CHECKPOINT_INCOMPLETE"),
    "all offsets": (lambda shop: newest(shop.checkpoint, "queries/*/offsets/*").parent, "CHECKPOINT_INCOMPLETE"),
    "all commits": (lambda shop: newest(shop.checkpoint, "queries/*/commits/*").parent, "CHECKPOINT_INCOMPLETE"),
    "record": (lambda shop: shop.checkpoint / "record", "CHECKPOINT_INCOMPLETE"),
    "identities": (lambda shop: shop.checkpoint / "epochs", "CHECKPOINT_INCOMPLETE"),
    "an output": (lambda shop: shop.out / "rows", "TABLE_MISSING"),
    "manifests": (lambda shop: shop.out / "counts" / "_headrace", "TABLE_REPLACED"),
    "the newest manifest": (lambda shop: newest(shop.out / "rows", "_headrace/*.json"), "TABLE_REPLACED"),
}


@pytest.mark.full
def test_parts_that_are_gone(shop: Shop, tmp_path: Path) -> None:
    """Each is refused by its code, and with the part put back the job goes on exactly."""
    for name, (part, code) in LOST.items():
        lost = part(shop)
        lost.rename(tmp_path / "lost")
        assert shop.refused().code == code, name
        (tmp_path / "lost").rename(lost)
    shop.put(1)
    shop.run()
    shop.check()


@pytest.mark.parametrize("what", ["folder", "newest entry"])
def test_a_log_of_files_that_is_gone(shop: Shop, what: str) -> None:
    """The source finds it, when its query starts."""
    log = next(shop.checkpoint.glob("queries/*/sources/*"))
    shutil.rmtree(log.parent) if what == "folder" else newest(log, "*").unlink()
    shop.put(1)
    for _ in range(2):
        with pytest.raises(HeadraceError) as caught:
            shop.run()
        assert caught.value.code == "CHECKPOINT_INCOMPLETE", caught.value
    assert sorted(row["v"] for row in lines(shop.out / "rows")) == list(range(6))


def test_a_fresh_start_needs_none_of_it(shop: Shop) -> None:
    shutil.rmtree(shop.checkpoint / "queries")
    shutil.rmtree(shop.out / "rows")
    shop.put(1)
    shop.run(fresh=True)
    shop.check()
