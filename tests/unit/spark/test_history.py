"""The identities of epochs: drawn once, the same on a replay, of no other history; and parts of a checkpoint that are not of one moment."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from headrace.errors import HeadraceError
from headrace.ports import Mark
from headrace.spark.checkpoint.agreement import agree
from headrace.spark.checkpoint.history import KEPT, History
from headrace.spark.checkpoint.record import Totals, Written
from tests.unit.errors import check_error


class Logs:
    """A query as Spark logs it, with the identities beside it."""

    def __init__(self, folder: Path, adopted: int = -1) -> None:
        self.folder, self.query = folder, folder / "queries" / "main"
        self.history = History(folder / "epochs" / "main", self.query, "plan", adopted)

    def log(self, epoch: int) -> None:
        for name in ("offsets", "commits", "sources/files"):
            (self.query / name).mkdir(parents=True, exist_ok=True)
        (self.query / "sources" / "files" / str(epoch)).write_text("v2")
        (self.query / "offsets" / str(epoch)).write_text(f'v2\n{{"batchTimestampMs":{1000 * epoch}}}\nfiles:{{"logOffset":{epoch}}}')

    def begin(self, epoch: int) -> str:
        self.log(epoch)
        return self.history.begin(epoch)

    def end(self, epoch: int) -> None:
        (self.query / "commits" / str(epoch)).write_text("v1")

    def run(self, epochs: range) -> list[str]:
        identities = []
        for epoch in epochs:
            identities.append(self.begin(epoch))
            self.end(epoch)
        return identities


def written(epoch: int, identity: str, place: str = "out") -> dict[str, Written]:
    return {"best": Written(epoch, identity, place)}


def test_an_epoch_has_one_identity(tmp_path: Path) -> None:
    logs = Logs(tmp_path)
    drawn = logs.begin(0)
    assert len(drawn) == 32 and logs.history.begin(0) == drawn == Logs(tmp_path).history.begin(0) == logs.history.of(0)
    assert logs.begin(1) != drawn


def test_copies_of_a_checkpoint_are_two_histories(tmp_path: Path) -> None:
    """Their epochs have the same numbers, offsets and times."""
    Logs(tmp_path / "one").run(range(2))
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    one, two = (Logs(tmp_path / name).begin(2) for name in ("one", "two"))
    assert one != two


def test_an_epoch_that_was_cut_off_before_its_tasks_has_no_identity_yet(tmp_path: Path) -> None:
    logs = Logs(tmp_path)
    logs.run(range(1))
    logs.log(1)
    assert logs.history.pending() is None
    drawn = logs.history.begin(1)
    assert logs.history.pending() == Mark(1, drawn)


def test_few_identities_are_kept(tmp_path: Path) -> None:
    logs = Logs(tmp_path)
    logs.run(range(3 * KEPT))
    folder = tmp_path / "epochs" / "main"
    assert sorted(int(file.stem) for file in folder.iterdir()) == list(range(2 * KEPT, 3 * KEPT))
    (folder / "7.json").write_text("left by a run that was killed")
    logs.history.tidy()
    assert not (folder / "7.json").exists()


def test_epochs_of_earlier_versions_have_none(tmp_path: Path) -> None:
    logs = Logs(tmp_path, adopted=4)
    assert logs.begin(4) == "" and not (tmp_path / "epochs").exists()
    assert logs.begin(5)


def test_offsets_that_were_changed(tmp_path: Path) -> None:
    logs = Logs(tmp_path)
    logs.begin(0)
    (logs.query / "offsets" / "0").write_text("other")
    check_error(
        """
        CHECKPOINT_INCOMPLETE: <tmp>/queries/main/offsets/0 is not the log with which this epoch began
          hint: parts of the checkpoint are missing, or were copied at different times.
                restore the whole checkpoint from a copy made while no job was running on it, or start over with fresh=True.
          more: headrace error CHECKPOINT_INCOMPLETE
        """,
        lambda: logs.history.begin(0),
        hide={str(tmp_path): "<tmp>"},
    )


def incomplete(logs: Logs, recorded: int) -> str:
    with pytest.raises(HeadraceError) as caught:
        logs.history.check(recorded)
    assert caught.value.code == "CHECKPOINT_INCOMPLETE"
    return caught.value.message.replace(f"{logs.folder}/", "")


def test_parts_of_one_moment(tmp_path: Path) -> None:
    logs = Logs(tmp_path)
    logs.history.check(-1)
    logs.run(range(3))
    logs.history.check(2)
    logs.log(3)
    logs.history.check(2)
    logs.history.begin(3)
    logs.history.check(2)
    logs.history.check(3)  # the record is written before Spark's commit


def test_parts_of_different_moments(tmp_path: Path) -> None:
    logs = Logs(tmp_path)
    logs.run(range(4))
    assert incomplete(logs, 4) == "queries/main/offsets ends with epoch 3, but the job has recorded epoch 4"
    assert incomplete(logs, 2) == "queries/main/commits ends with epoch 3, but the job has recorded epoch 2"
    shutil.copytree(logs.query, tmp_path / "earlier")
    logs.run(range(4, 6))
    (logs.query / "commits" / "5").unlink()
    (logs.query / "commits" / "4").unlink()
    assert incomplete(logs, 3) == "queries/main/commits ends with epoch 3, but epoch 5 has begun"
    shutil.rmtree(logs.query)
    assert incomplete(logs, 5) == "queries/main/offsets ends with no epoch, but the job has recorded epoch 5"
    assert incomplete(logs, -1) == "queries/main/offsets ends with no epoch, but epoch 5 has begun"
    (tmp_path / "earlier").rename(logs.query)
    assert incomplete(logs, 3) == "queries/main/offsets ends with epoch 3, but epoch 5 has begun"
    shutil.rmtree(tmp_path / "epochs")
    assert incomplete(logs, 3) == "epochs/main ends with no epoch, but the job has recorded epoch 3"
    Logs(tmp_path, adopted=3).history.check(3)


def test_a_log_of_files_of_another_moment(tmp_path: Path) -> None:
    logs = Logs(tmp_path)
    logs.run(range(2))
    (logs.query / "sources" / "files" / "1").unlink()
    ends = "queries/main/sources/files lists the files of epochs up to {}, but the query has read up to 1"
    assert incomplete(logs, 1) == ends.format(0)
    shutil.rmtree(logs.query / "sources")
    assert incomplete(logs, 1) == ends.format(-1)


def test_an_identity_that_cannot_be_read(tmp_path: Path) -> None:
    logs = Logs(tmp_path)
    logs.run(range(1))
    for text in ("", "{", "[]", '{"identity": 1}'):
        (tmp_path / "epochs" / "main" / "0.json").write_text(text)
        with pytest.raises(HeadraceError, match=r"CHECKPOINT_UNREADABLE: .*0\.json cannot be read"):
            logs.history.begin(0)


def agreed(logs: Logs, totals: Totals, mark: Mark | None, sink: str = "best", place: str = "out") -> str | None:
    try:
        agree(logs.folder, logs.query, logs.history, totals, {sink: (place, mark)})
    except HeadraceError as error:
        return error.code
    return None


def test_what_sinks_hold(tmp_path: Path) -> None:
    logs = Logs(tmp_path)
    ids = logs.run(range(6))
    totals = Totals(5, {}, {}, written(3, ids[3]))  # epochs 4 and 5 had no rows
    cases = {
        None: None,
        Mark(3, ids[3]): None,
        Mark(3, ""): None,
        Mark(3, "other"): "CHECKPOINT_BEHIND",
        Mark(4, ids[4]): "CHECKPOINT_BEHIND",
        Mark(9, "other"): "CHECKPOINT_BEHIND",
        Mark(2, ids[2]): "TABLE_REPLACED",
        Mark(): "TABLE_REPLACED",
        Mark(exists=False): "TABLE_MISSING",
    }
    assert {mark: agreed(logs, totals, mark) for mark in cases} == cases


def test_what_sinks_hold_of_an_epoch_that_was_cut_off(tmp_path: Path) -> None:
    logs = Logs(tmp_path)
    ids = [*logs.run(range(4)), logs.begin(4)]
    totals = Totals(3, {}, {}, written(3, ids[3]))
    assert agreed(logs, totals, Mark(4, ids[4])) is None
    assert agreed(logs, totals, Mark(4, "other")) == "CHECKPOINT_BEHIND"
    assert agreed(logs, totals, Mark(5, "other")) == "CHECKPOINT_BEHIND"


def test_what_sinks_hold_whose_marks_fade(tmp_path: Path) -> None:
    logs = Logs(tmp_path, adopted=1)
    ids = [*logs.run(range(104)), logs.begin(104)]
    totals = Totals(103, {}, {}, written(102, ids[102]))  # epoch 103 had no rows
    cases = {
        Mark(fades=True): None,
        Mark(1, "", fades=True): None,
        Mark(1, "other", fades=True): "CHECKPOINT_BEHIND",
        Mark(3, "no longer kept", fades=True): None,
        Mark(50, ids[50], fades=True): None,
        Mark(50, "other", fades=True): "CHECKPOINT_BEHIND",
        Mark(102, ids[102], fades=True): None,
        Mark(102, "other", fades=True): "CHECKPOINT_BEHIND",
        Mark(103, ids[103], fades=True): None,
        Mark(103, "other", fades=True): "CHECKPOINT_BEHIND",
        Mark(104, ids[104], fades=True): None,
        Mark(104, "other", fades=True): "CHECKPOINT_BEHIND",
        Mark(105, "other", fades=True): "CHECKPOINT_BEHIND",
    }
    assert {mark: agreed(logs, totals, mark) for mark in cases} == cases
    old = Totals(103, {}, {}, written(3, ids[3]))
    assert agreed(logs, old, Mark(3, "other", fades=True)) == "CHECKPOINT_BEHIND"


def test_a_sink_with_another_name_or_place(tmp_path: Path) -> None:
    logs = Logs(tmp_path)
    ids = logs.run(range(6))
    totals = Totals(5, {}, {}, written(3, ids[3]))
    for sink, place in (("better", "out"), ("best", "elsewhere")):
        assert agreed(logs, totals, Mark(3, ids[3]), sink, place) is None, "it was renamed, or moved with what it holds"
        assert agreed(logs, totals, Mark(exists=False), sink, place) is None, "it begins anew"
        assert agreed(logs, totals, Mark(3, "other"), sink, place) == "CHECKPOINT_BEHIND"
        assert agreed(logs, totals, Mark(8, "other"), sink, place) == "CHECKPOINT_BEHIND"


def test_sinks_of_earlier_versions_are_adopted_by_their_numbers(tmp_path: Path) -> None:
    logs = Logs(tmp_path, adopted=5)
    logs.run(range(6))
    totals = Totals(5)
    assert [agreed(logs, totals, Mark(epoch)) for epoch in (3, 5, 6)] == [None, None, "CHECKPOINT_BEHIND"]
    assert agreed(logs, totals, Mark(3, "of a later one")) == "CHECKPOINT_BEHIND"


def test_messages_about_a_restored_checkpoint(tmp_path: Path) -> None:
    logs = Logs(tmp_path)
    ids = logs.run(range(3))
    marks: dict[str, tuple[str, Mark | None]] = {"best": ("out", Mark(7, "x")), "all": ("t", Mark(2, "y"))}
    totals = Totals(2, {}, {}, {name: Written(2, ids[2], place) for name, (place, _) in marks.items()})
    check_error(
        """
        CHECKPOINT_BEHIND: best holds epoch 7; all holds epoch 2 of another history, but the checkpoint <tmp>, which ends with epoch 2, begun 1970-01-01 00:00:02 UTC, has not written it
          hint: nothing was changed. The checkpoint was restored from an earlier copy, or a copy of it has run elsewhere: continue from the newest one.
                to continue from this one, restore the sinks to the same moment; fresh=True starts over.
          more: headrace error CHECKPOINT_BEHIND
        """,
        lambda: agree(tmp_path, logs.query, logs.history, totals, marks),
        hide={str(tmp_path): "<tmp>"},
    )


def test_messages_about_a_sink_that_was_emptied_or_removed(tmp_path: Path) -> None:
    logs = Logs(tmp_path)
    ids = logs.run(range(3))
    totals = Totals(2, {}, {}, written(2, ids[2]))
    hint = """
          hint: restore it, write the following rows to another place, or start over with fresh=True, which writes all rows again. Nothing was changed.
    """.strip()
    check_error(
        f"""
        TABLE_MISSING: best: out no longer exists, but the job has written to it up to epoch 2
          {hint}
          more: headrace error TABLE_MISSING
        """,
        lambda: agree(tmp_path, logs.query, logs.history, totals, {"best": ("out", Mark(exists=False))}),
    )
    check_error(
        f"""
        TABLE_REPLACED: best: out holds no epoch of this job, but the job has written epoch 2 there
          {hint}
          more: headrace error TABLE_REPLACED
        """,
        lambda: agree(tmp_path, logs.query, logs.history, totals, {"best": ("out", Mark())}),
    )
    check_error(
        f"""
        TABLE_REPLACED: best: out ends with epoch 1, but the job has written epoch 2 there
          {hint}
          more: headrace error TABLE_REPLACED
        """,
        lambda: agree(tmp_path, logs.query, logs.history, totals, {"best": ("out", Mark(1, ids[1]))}),
    )


def test_the_record_keeps_what_sinks_were_written() -> None:
    totals = Totals().with_epoch(0, [], {"best": 3}, written(0, "a")).with_epoch(1, [], {"best": 0}, {})
    assert totals.written == written(0, "a")
    assert Totals.from_json(json.loads(json.dumps(totals.to_json()))) == totals
    before = {"format": 1, "epoch": 3, "counts": [], "rows": {"best": 3}}
    assert Totals.from_json(before) == Totals(3, {}, {"best": 3})


def test_a_place_may_know_the_first_epoch_of_a_version_by_those_that_it_continues(tmp_path: Path) -> None:
    """Kafka marks epochs without rows too, so the records of rows do not tell."""
    old = Logs(tmp_path / "old").run(range(4))[-1]
    logs = Logs(tmp_path / "new")
    logs.log(3)
    logs.end(3)
    logs.history.branch(3, [old])
    assert logs.history.names(3) == [logs.history.of(3), old]
    totals = Totals(3, written=written(1, "earlier", "topic"))

    def look(mark: Mark) -> None:
        agree(tmp_path, logs.query, logs.history, totals, {"best": ("topic", mark)})

    for identity in (old, logs.history.of(3)):
        look(Mark(3, identity, fades=True))
    with pytest.raises(HeadraceError, match="CHECKPOINT_BEHIND: best holds epoch 3 of another history"):
        look(Mark(3, "f" * 32, fades=True))
