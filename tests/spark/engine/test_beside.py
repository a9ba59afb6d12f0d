"""A version beside its job, as a fork, which then takes the place of the job's version."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import headrace as hr
from headrace import cli
from headrace.engine import deploy_beside, promote
from headrace.engine.fork import named
from headrace.spark.checkpoint import savepoints
from tests.spark.engine.pairs import add, held
from tests.spark.engine.test_deploy_running import running, until
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark")

FILE = """
import headrace as hr

rows = hr.read.files("rows", format="json", schema="k int, v int", name="rows", follow={follow})
large = rows.filter("v > {limit}")
job = hr.job(
    "shop",
    large.group_by("k").agg(s="sum(v)", n="count(*)").named("sums_of").write.files("out/sums", format="json", mode="changes", name="sums"),
    large.group_by("k").agg(n="count(*)").write.jdbc("jdbc:sqlite:{database}", "counts", key=["k"], name="counts"),
    rows.select("k", "v").write.files("out/all", format="json", name="all"),
    {more}
)
"""


def version(file: str, limit: int, database: str = "db", *, more: str = "", follow: bool = True) -> str:
    Path(file).write_text(FILE.format(limit=limit, database=database, more=more, follow=follow))
    return file


def sums(limit: int) -> dict[str, int]:
    """The view over all rows so far, by Python."""
    groups: dict[int, list[int]] = {}
    for row in (json.loads(line) for file in Path("rows").glob("*.json") for line in file.read_text().splitlines()):
        if row["v"] > limit:
            groups.setdefault(row["k"], []).append(row["v"])
    return {json.dumps({"k": k, "n": len(vs), "s": sum(vs)}, sort_keys=True): 1 for k, vs in groups.items()}


def is_exact(limit: int, sums_in: str, database: str) -> bool:
    """Whether the sinks of a job hold what its version says of all rows so far."""
    wanted = sums(limit)
    with closing(sqlite3.connect(database)) as connection:
        counts = dict(connection.execute("SELECT k, n FROM counts"))
    return held(Path(sums_in)) == wanted and counts == {row["k"]: row["n"] for row in map(json.loads, wanted)}


def verdicts(deployment: hr.Deployment) -> dict[str, str]:
    return {one.name: one.verdict for one in deployment.verdicts}


def test_beside_and_promote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A job runs; another version runs beside it, is compared with it, and takes its place. Both go on, each exact on its own sinks."""
    monkeypatch.chdir(tmp_path)
    add(tmp_path, 0)
    state, beside = tmp_path / ".headrace" / "shop", tmp_path / ".headrace" / "shop-2"
    two = version("two.py", 30, "db-2")

    def command(*arguments: str) -> tuple[int, list[str]]:
        capsys.readouterr()
        code = cli.main(arguments)
        return code, capsys.readouterr().out.splitlines()

    with running(hr.load(version("one.py", 10)), state, partitions=2) as run:
        until(lambda: is_exact(10, "out/sums", "db"))
        code, output = command("deploy", two, "--beside", "shop-2", "--dry-run")
        assert (code, output[-1], beside.exists(), savepoints.names(state)) == (0, "nothing was changed", False, [])
        code, output = command("deploy", two, "--beside", "shop-2")
        assert code == 0 and output[0].startswith("shop-2: was forked from shop after epoch ") and output[0].endswith(f" to {beside}")
        assert output[-1] == "run it: headrace run two.py --as shop-2 --path sums=out/sums-shop-2 --path all=out/all-shop-2"
        assert savepoints.names(state) == []
        add(tmp_path, 1)
        places = {"sums": "out/sums-shop-2", "all": "out/all-shop-2"}
        with running(named(hr.load(two).with_paths(places), "shop-2"), beside) as fork:
            until(lambda: is_exact(30, "out/sums-shop-2", "db-2") and is_exact(10, "out/sums", "db"))
            code, output = command("compare", "shop", "shop-2", "--examples", "0")
            assert (code, [line.split(":")[0].split() for line in output[1:-1]]) == (
                1,
                [["differs", "sums"], ["differs", "counts"], ["equal", "all"]],
            )
            assert verdicts(promote(beside, paths={}, dry_run=True))["sums"] == "corrected"
            code, output = command("promote", "shop-2")
            assert (code, output[0], run.error) == (0, f"shop: was deployed to {state}", None)
            assert output[-2].endswith(" s and continues with this version")
            assert output[-1] == f"the fork stays in {beside}, and its sinks where they are"
            assert "  kept      sink     all" in output and [line for line in output if line.startswith("  corrected sink     sums: ")]
            until(lambda: is_exact(30, "out/sums", "db"))
            add(tmp_path, 2)
            until(lambda: is_exact(30, "out/sums", "db") and is_exact(30, "out/sums-shop-2", "db-2"))
        assert (run.error, fork.error) == (None, None)
    assert promote(beside, paths={}).unchanged


@pytest.mark.full
def test_refusals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    add(tmp_path, 0)
    jobs = tmp_path / ".headrace"
    one, more = (
        version("one.py", 10, follow=False),
        version("more.py", 10, "db-2", follow=False, more='rows.write.files("out/more", format="json", name="more")'),
    )
    hr.load(one).run(progress=False, flush=False, partitions=1)
    deploy_beside(hr.load(more), "shop-2")
    check_error(
        """
        NOTHING_TO_DEPLOY: <jobs>/shop is not the checkpoint of a fork, so there is nothing to promote
          hint: name a fork, by its name or its checkpoint: headrace fork, or headrace deploy --beside, makes one
          more: headrace error NOTHING_TO_DEPLOY
        """,
        lambda: promote(jobs / "shop", paths={}),
        hide={str(jobs): "<jobs>"},
    )
    check_error(
        """
        FOLDER_OWNED: more would write to <folder>/out/more, where the fork shop-2 writes
          at more.py:*: rows.write.files("out/more", format="json", name="more")
          hint: give it another place, --path more=PATH, or deploy a file in which it has one
          more: headrace error FOLDER_OWNED
        """,
        lambda: promote(jobs / "shop-2", paths={}),
        hide={str(tmp_path): "<folder>"},
    )
    assert verdicts(promote(jobs / "shop-2", paths={"more": "out/other"}, dry_run=True))["more"] == "new"
    with pytest.raises(hr.CheckpointError, match="SINK_OF_PARENT"):
        deploy_beside(hr.load(one), "shop-3")
    assert savepoints.names(jobs / "shop") == [] and not (jobs / "shop-3").exists()
    hr.load(one).run(progress=False, flush=False, fresh=True)
    check_error(
        """
        CHECKPOINT_OTHER_JOB: <jobs>/shop is not the checkpoint any more from which shop-2 was forked
          hint: deploy the file of the fork to the job that shall run it: headrace deploy FILE
          more: headrace error CHECKPOINT_OTHER_JOB
        """,
        lambda: promote(jobs / "shop-2", paths={}),
        hide={str(jobs): "<jobs>"},
    )
