"""Questions about jobs that run, jobs that have stopped, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import headrace as hr
from headrace.cli import main
from headrace.errors import HeadraceError
from tests.spark.engine.test_deploy_running import running, until
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark")


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def receive(name: str, *rows: tuple[str, int]) -> None:
    Path("charges").mkdir(exist_ok=True)
    lines = (json.dumps({"card": card, "amount": amount}) for card, amount in rows)
    Path(f"charges/.{name}").write_text("".join(f"{line}\n" for line in lines))
    Path(f"charges/.{name}").rename(f"charges/{name}.json")


def job(follow: bool = False, least: int = 0) -> hr.Job:
    charges = hr.read.files("charges", format="json", schema="card string, amount int", name="charges", follow=follow)
    spent = charges.filter(f"amount >= {least}").group_by("card").agg(spent="sum(amount)").named("spent")
    return hr.job("bills", spent.write.files("bills", format="json", mode="changes", name="per_card"))


def test_lines_of_files_and_a_row_of_an_operator() -> None:
    receive("monday", ("a", 3), ("b", 5))
    receive("tuesday", ("c", 1), ("a", 4))
    job().run(progress=False)
    why = hr.why(".headrace/bills", "spent", {"card": "a"})
    (source,) = why.sources
    assert [(Path(str(one.file)).name, one.line, dict(one.row)) for one in source.rows] == [
        ("monday.json", 1, {"card": "a", "amount": 3}),
        ("tuesday.json", 2, {"card": "a", "amount": 4}),
    ]
    assert not Path(".headrace/bills/candidate").exists()
    few = hr.why(job(), "per_card", {"card": "a"}, rows=1)
    assert (few.sources[0].count, len(few.sources[0].rows)) == (2, 1)
    assert few.row == {"card": "a", "spent": 7}
    assert "... 1 more" in str(few)


def test_a_job_that_runs() -> None:
    receive("monday", ("a", 3), ("b", 5))
    with running(job(follow=True), Path("state")) as run:
        until(lambda: run.progress.rows == 2)
        steps: list[str] = []

        def more(line: str) -> None:
            if not steps:
                receive("tuesday", ("b", 2))
                until(lambda: run.progress.rows == 3)
            steps.append(line)

        why = hr.why("state", "per_card", {"card": "b"}, progress=more)
        assert why.pause_seconds is not None
        assert why.row == {"card": "b", "spent": 5}
        assert steps[0] == "reading 2 rows again"
        assert steps[-1] == "going back from the row"
        assert hr.why("state", "per_card", {"card": "b"}).row == {"card": "b", "spent": 7}
        assert (run.status, run.error) == ("running", None)


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    receive("monday", ("a", 3))
    job().run(progress=False)
    assert main(["why", "bills", "per_card", "--row", '{"card": "a"}', "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["row"] == {"card": "a", "spent": 3}
    assert answer["sources"][0]["rows"][0]["line"] == 1
    with pytest.raises(SystemExit):
        main(["why", "bills", "per_card", "--row", "[1]"])
    assert "`[1]` is not a JSON object" in capsys.readouterr().err


def test_what_is_refused(tmp_path: Path) -> None:
    receive("monday", ("a", 3), ("b", 5))
    job().run(progress=False)
    bills, hide = ".headrace/bills", {str(tmp_path): "HERE"}
    check_error(
        """
        NO_SUCH_ROW: per_card has no row with card="z", spent=3
          hint: a row counts that is there when all rows which the job has read are computed again: without rows that came late, and without what depends on the time at which a row came
          more: headrace error NO_SUCH_ROW
        """,
        lambda: hr.why(bills, "per_card", {"card": "z", "spent": 3}),
    )
    check_error(
        """
        UNKNOWN_VIEW: the job bills has no sink or operator per_cart
          hint: did you mean `per_card`? It has: spent, per_card
          more: headrace error UNKNOWN_VIEW
        """,
        lambda: hr.why(bills, "per_cart"),
    )
    check_error(
        """
        UNKNOWN_COLUMN: per_card has no column `cart`
          hint: did you mean `card`? It has: card, spent
          more: headrace error UNKNOWN_COLUMN
        """,
        lambda: hr.why(bills, "per_card", {"cart": "a"}),
    )
    check_error(
        """
        BAD_INPUT: `spent` of per_card is bigint, and 'much' is not
          hint: write a value of that type
          more: headrace error BAD_INPUT
        """,
        lambda: hr.why(bills, "per_card", {"spent": "much"}),
    )
    check_error(
        """
        CHECKPOINT_OTHER_VERSION: the checkpoint HERE/.headrace/bills is of another version of the job bills
          hint: pass the folder of the checkpoint, or run or deploy this version first
          more: headrace error CHECKPOINT_OTHER_VERSION
        """,
        lambda: hr.why(job(least=2), "per_card"),
        hide=hide,
    )
    with pytest.raises(HeadraceError, match=r"BAD_INPUT: hr\.why takes a job or the folder of its checkpoint, got 7"):
        hr.why(7, "per_card")  # type: ignore[arg-type]
    with pytest.raises(HeadraceError, match="BAD_INPUT: rows cannot be 0"):
        hr.why(bills, "per_card", rows=0)


def test_history_that_is_gone() -> None:
    receive("monday", ("a", 3))
    job().run(progress=False)
    Path("charges/monday.json").unlink()
    with pytest.raises(HeadraceError) as error:
        hr.why(".headrace/bills", "per_card")
    assert error.value.code == "HISTORY_GONE"
