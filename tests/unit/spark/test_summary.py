"""What a summary says."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.spark.run.progress import Progress
from headrace.spark.run.summary import InputCounts, SourceCounts, Summary


def summary(folder: Path, **counts: int) -> Summary:
    inputs = (InputCounts("join-2e65d5f4", "left", 4, 2, 0, counts.get("dead", 0), 0, feeders=("orders",)),)
    return Summary(
        job="shop",
        sources=(SourceCounts("orders", 4, 0),),
        inputs=inputs,
        sinks={"join-2e65d5f4.files": 2},
        dead_letters={str(folder / "dead_letters" / "main"): counts.get("letters", 0)},
        rows=counts.get("rows", 4),
        epochs=counts.get("epochs", 1),
        seconds=2.0,
        sealed=bool(counts.get("sealed")),
        stopped=bool(counts.get("stopped")),
        new_dead_letters=counts.get("new", 0),
        names={"join-2e65d5f4": "join(orders, items)", "join-2e65d5f4.files": "best"},
    )


def test_names_are_those_that_people_read_and_dead_rows_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = Path(".headrace/shop").absolute()
    counted = summary(folder, dead=2, letters=2)
    assert str(counted).split("\n") == [
        "shop: 4 rows in 1 epoch, 2.0 s (2.0 rows/s)",
        "  source  read  malformed",
        "  orders     4          0",
        "  program input             in  handled  late  dead  held",
        "  join(orders, items).left   4        2     0     2     0",
        "  sink  rows",
        "  best     2",
        '  dead rows of join(orders, items).left: those without a key or event time are in orders.output("dead_letter"), '
        'those that failed in join(orders, items).output("dead_letter")',
        f"  2 dead letters in {folder}/dead_letters/main",
        "  headrace letters show shop lists them",
    ]
    assert f"headrace letters show {tmp_path}/other lists them" in str(summary(tmp_path / "other", letters=1))
    # programs read the names that are stored
    assert (counted.to_json()["inputs"][0]["program"], list(counted.to_json()["sinks"])) == ("join-2e65d5f4", ["join-2e65d5f4.files"])


def test_it_is_short_in_a_list_and_whole_in_a_notebook(tmp_path: Path) -> None:
    assert repr(summary(tmp_path, rows=1)) == "<Summary shop: 1 row in 1 epoch, 2.0 s (0.5 rows/s)>"
    assert summary(tmp_path)._repr_html_().startswith("<pre>shop: 4 rows in 1 epoch")


@pytest.mark.parametrize(
    ("counts", "line"),
    [
        ({"rows": 1234}, "1,234 rows in 1 epoch, 2.0 s (617 rows/s)"),
        ({"rows": 4, "new": 2, "sealed": 1}, "4 rows in 1 epoch, 2.0 s (2.0 rows/s), 2 new dead letters, sealed"),
        ({"rows": 0, "epochs": 2, "sealed": 1}, "no new rows in 2 epochs, 2.0 s, sealed"),
        ({"rows": 0, "stopped": 1}, "no new rows in 1 epoch, 2.0 s, stopped"),
        # whole files that are broken or have changed: nothing was read, and it is not nothing
        ({"rows": 0, "new": 1}, "no new rows in 1 epoch, 2.0 s, 1 new dead letter"),
        (
            {"rows": 0, "letters": 7},
            "nothing new to read. fresh=True (--fresh) removes the checkpoint and what the sinks wrote, and reads all again.",
        ),
        (
            {"rows": 0, "epochs": 0, "sealed": 1},
            "nothing new to read, and the job is sealed: it takes no new input. fresh=True (--fresh) removes the checkpoint and what the sinks "
            "wrote, and reads all again.",
        ),
    ],
)
def test_the_first_line_says_what_this_run_did(counts: dict[str, int], line: str, tmp_path: Path) -> None:
    assert str(summary(tmp_path, **counts)).splitlines()[0] == f"shop: {line}"


def test_the_line_of_progress_counts_one_as_one() -> None:
    assert (
        str(Progress(rows=1, outstanding=1, state_keys=1, epochs=1))
        == "1 row in · 0 rows/s · 1 file to go · 1 key with state · 1 epoch · last 0 ms"
    )
    assert str(Progress(rows=2, state_keys=2, epochs=1000)) == "2 rows in · 0 rows/s · 2 keys with state · 1,000 epochs · last 0 ms"
