"""Damaged checkpoints: each kind of file, emptied, cut, with a bit flipped, replaced by something else, or gone, is named or mended."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.cli import main
from headrace.errors import HeadraceError
from headrace.spark.checkpoint.examine import whole
from tests.spark.engine.test_restored import Shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.usefixtures("spark")


def flipped(text: bytes) -> bytes:
    at = random.Random(text).randrange(len(text))
    return text[:at] + bytes([text[at] ^ 1 << random.Random(at).randrange(8)]) + text[at + 1 :]


HOW: dict[str, Callable[[bytes], bytes | None]] = {
    "emptied": lambda text: b"",
    "cut": lambda text: text[: len(text) // 2],
    "flipped": flipped,
    "replaced": lambda text: b"\x00garbage\xff" * 5,
    "gone": lambda text: None,
}


def newest(checkpoint: Path, pattern: str) -> Path:
    def number(path: Path) -> int:
        return int("".join(sign for sign in path.name.partition("_")[0].partition(".")[0] if sign.isdigit()) or 0)

    return max((path for path in checkpoint.glob(pattern) if not path.name.startswith(".") and path.suffix != ".crc"), key=number)


KINDS = {
    "job": "job.json",
    "record": "record/*.json",
    "identity": "epochs/main/*.json",
    "metadata": "queries/main/metadata",
    "offsets": "queries/main/offsets/*",
    "commits": "queries/main/commits/*",
    "source log": "queries/main/sources/*/*",
    "operator": "queries/main/state/0/_metadata/v2/*",
    "schema": "queries/main/state/0/_stateSchema/*/*",
    "changelog": "queries/main/state/0/0/*.changelog",
    "manifest": "../out/rows/_headrace/0*.json",
    "owner": "../out/rows/_headrace/owner.json",
}
# what becomes of a start where the newest file of a kind is gone; where it is damaged, it is CHECKPOINT_UNREADABLE
GONE = {
    "job": "NOT_A_CHECKPOINT",
    "record": "CHECKPOINT_INCOMPLETE",
    "identity": "CHECKPOINT_INCOMPLETE",
    "offsets": "CHECKPOINT_INCOMPLETE",
    "commits": "went on",
    "source log": "CHECKPOINT_INCOMPLETE",
    "manifest": "TABLE_REPLACED",
    "owner": "went on",
}


@pytest.fixture(scope="module")
def healthy(spark: object, tmp_path_factory: pytest.TempPathFactory) -> Path:
    shop = Shop(tmp_path_factory.mktemp("damage") / "shop")
    shop.put(3)
    shop.run()
    return shop.folder


def copied(healthy: Path, to: Path) -> Shop:
    """The paths stay, as the log of files names them: the damaged one takes the place of the healthy one."""
    shop = Shop.__new__(Shop)
    shop.folder, shop.checkpoint, shop.out, shop.rows = healthy, healthy / "checkpoint", healthy / "out", 6
    shutil.rmtree(to, ignore_errors=True)
    for part in ("checkpoint", "out"):
        shutil.copytree(healthy / part, to / part)
    return shop


CASES = [(kind, how) for kind in KINDS for how in HOW]
SAMPLE = [(kind, list(HOW)[number % len(HOW)]) for number, kind in enumerate(KINDS)] + [("record", "cut"), ("source log", "flipped")]


@pytest.mark.parametrize("cases", [pytest.param(SAMPLE, id="sample"), pytest.param(CASES, id="all", marks=pytest.mark.full)])
def test_damage_is_named_or_mended(spark: SparkSession, healthy: Path, tmp_path: Path, cases: list[tuple[str, str]]) -> None:
    wrong = []
    for kind, how in cases:
        shop = copied(healthy, tmp_path / "kept")
        file = newest(shop.checkpoint, KINDS[kind])
        text = HOW[how](file.read_bytes())
        file.unlink() if text is None else file.write_bytes(text)
        # else tasks would go on with what they have of the state
        spark._jvm.org.apache.spark.sql.execution.streaming.state.StateStore.stop()  # type: ignore[union-attr]
        shop.put(1)
        try:
            shop.run()
            outcome = "went on"
            shop.check()
        except HeadraceError as error:
            outcome = error.code
            if error.code == "CHECKPOINT_UNREADABLE" and file.name not in str(error):
                outcome = f"names another file: {error}"
        except AssertionError:
            outcome = "WRONG ROWS"
        if outcome != (GONE.get(kind, "CHECKPOINT_UNREADABLE") if how == "gone" else "CHECKPOINT_UNREADABLE"):
            wrong.append(f"{kind} {how}: {outcome}")
        newest(healthy, "in/*").unlink()
        for part in ("checkpoint", "out"):
            shutil.rmtree(healthy / part)
            shutil.copytree(tmp_path / "kept" / part, healthy / part)
    assert not wrong, "\n".join(wrong)


def test_an_examination_finds_damage_without_a_start(healthy: Path) -> None:
    query = healthy / "checkpoint" / "queries" / "main"
    assert not list(whole(query))
    for kind in ("metadata", "offsets", "commits", "source log", "operator", "schema", "changelog"):
        file = newest(healthy / "checkpoint", KINDS[kind])
        text = file.read_bytes()
        for how in ("emptied", "cut", "replaced", "flipped"):
            if (kind, how) != ("changelog", "flipped"):
                file.write_bytes(HOW[how](text) or b"")
                assert next(whole(query)).file == file, (kind, how)
        file.write_bytes(text)
    assert not list(whole(query))


def test_the_doctor_looks_at_a_checkpoint(healthy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = healthy / "checkpoint"
    assert main(["doctor", str(folder)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"job shop, checkpoint {folder}",
        "ok       query main: the next start begins epoch 3",
        "         sinks: not checked; a start is refused if one holds other epochs than the checkpoint",
        "         headrace doctor FILE, with the file that defines the job, checks them",
    ]
    log, record = newest(folder, KINDS["source log"]), newest(folder, KINDS["record"])
    kept = log.read_bytes(), record.read_bytes()
    log.write_bytes(flipped(kept[0]))
    record.write_bytes(kept[1][:-9])
    assert main(["doctor", str(folder)]) == 4
    damaged = [line for line in capsys.readouterr().out.splitlines() if line.startswith("DAMAGED")]
    assert damaged[0] == (f"DAMAGED  {log} cannot be read: its checksum is not that of what was written (the file log of a source)")
    assert damaged[1].startswith(f"DAMAGED  {record} cannot be read: ") and len(damaged) == 2
    log.write_bytes(kept[0])
    record.write_bytes(kept[1])
