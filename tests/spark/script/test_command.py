"""`headrace sql`, and the other commands over a script."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from headrace import cli
from headrace.durable.manifest import committed_files

pytestmark = pytest.mark.usefixtures("spark")

SCRIPT = """\
CREATE SOURCE charges (card STRING, amount INT) WITH (connector = 'files', path = 'in', format = 'json');
CREATE FUNCTION euros(cents INT) RETURNS DOUBLE RETURN cents / 100;
CREATE VIEW spent AS SELECT card, sum(euros(amount)) AS euros FROM charges GROUP BY card;
SELECT card, euros FROM spent WHERE card < 'c';
CREATE SINK out WITH (connector = 'files', path = 'out', format = 'json', mode = 'changes');
INSERT INTO out SELECT * FROM spent;
SHOW TABLES;
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    rows = [{"card": "a", "amount": 250}, {"card": "b", "amount": 50}, {"card": "a", "amount": 100}, {"card": "c"}]
    (tmp_path / "in" / "1.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "spent.sql").write_text(SCRIPT)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], arguments: Sequence[str], code: int = 0) -> tuple[str, str]:
    assert cli.main(arguments) == code
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_a_script_answers_and_then_runs_its_job(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, ["sql", "spent.sql", "--quiet"])
    head, rule, *rest = out.splitlines()
    assert (head, rule, sorted(rest[:2]), rest[2]) == ("card  euros", "----  -----", ["a     3.5", "b     0.5"], "(2 rows)")
    assert rest[3:8] == ["table    kind", "-------  ------", "charges  source", "spent    view", "(2 rows)"]
    assert rest[8].startswith("spent: 4 rows in 1 epoch")
    assert sum(len(file.read_text().splitlines()) for file in committed_files("out")) == 3
    assert Path(".headrace/spent/job.json").exists()


def test_answers_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    ask = ["sql", "spent.sql", "-e", "SELECT * FROM spent WHERE card <> 'b'", "--output"]
    out, err = run(capsys, [*ask, "json"])
    assert sorted(map(json.loads, out.splitlines()), key=str) == [{"card": "a", "euros": 3.5}, {"card": "c", "euros": None}]
    assert err == ""
    out, _ = run(capsys, [*ask, "csv"])
    assert (out.splitlines()[0], sorted(out.splitlines()[1:])) == ("card,euros", ["a,3.5", "c,"])
    assert not Path("out").exists(), "with -e the job does not run"


def test_a_script_from_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("VALUES (1, struct('a', array(1, 2))) AS t(n, s);"))
    assert run(capsys, ["sql", "--output", "csv"])[0] == 'n,s\n1,"{""col1"": ""a"", ""col2"": [1, 2]}"\n'


def test_what_can_be_asked(capsys: pytest.CaptureFixture[str]) -> None:
    def csv_lines(text: str) -> list[str]:
        return run(capsys, ["sql", "spent.sql", "-e", text, "--output", "csv"])[0].splitlines()

    assert csv_lines("DESCRIBE spent") == ["column,type", "card,string", "euros,double"]
    assert csv_lines("DESC SINK out") == [
        *("option,value", "connector,files", "path,out", "format,json", "mode,changes"),
        "written,INSERT INTO out SELECT * FROM spent",
    ]
    assert csv_lines("SHOW FUNCTIONS; SHOW SOURCES") == [
        *("function,definition", "euros,euros(cents INT) RETURNS DOUBLE RETURN cents / 100"),
        *("source,reads", "charges,files in (json)"),
    ]
    assert csv_lines("SHOW VIEWS") == [
        "view,query",
        '"spent","SELECT card, sum(euros(amount)) AS euros FROM charges GROUP BY card"'.replace('"spent"', "spent"),
    ]
    assert {"files,yes,yes,yes", "http,,yes,yes", "console,,yes,"} <= set(csv_lines("SHOW CONNECTORS"))
    assert csv_lines("SET job = 'mine'; SET job") == ["setting,value", "job,mine"]
    assert "spark.sql.session.timeZone,UTC" in csv_lines("SHOW SETTINGS")
    assert csv_lines("EXPLAIN")[0].startswith("job spent  (fingerprint ")
    assert csv_lines("EXPLAIN SELECT * FROM spent")[0].startswith("plan  (fingerprint ")


def test_a_result_comes_in_its_order(capsys: pytest.CaptureFixture[str]) -> None:
    values = "FROM VALUES (2, 'b'), (NULL, 'c'), (1, 'a'), (3, 'b') AS t(n, s)"
    ask = ["sql", "--output", "csv", "-e"]
    assert run(capsys, [*ask, f"SELECT n, s {values} ORDER BY S DESC, 1"]) == ("n,s\n,c\n2,b\n3,b\n1,a\n", "")
    assert run(capsys, [*ask, f"SELECT n {values} ORDER BY n DESC NULLS FIRST LIMIT 2"]) == ('n\n""\n3\n', "")
    _, err = run(capsys, [*ask, f"SELECT n {values} ORDER BY n + 1"])
    assert err == "warning: the ORDER BY at the end has no effect: a stream has no order\n"


def test_errors_end_a_script_with_their_place(capsys: pytest.CaptureFixture[str]) -> None:
    _, err = run(capsys, ["sql", "-e", "SELECT 1 AS one;\n SELECT two"], 1)
    assert err.splitlines()[:2] == [
        "BAD_QUERY: Spark refuses the query: A column, variable, or function parameter with name `two` cannot be resolved",
        "  at <sql>:2:9: SELECT two",
    ]
    assert run(capsys, ["sql", "nothing.sql"], 1)[1].startswith("FILE_MISSING: nothing.sql does not exist")


def test_the_other_commands_take_a_script(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "[spent.sql:3:22]" in run(capsys, ["explain", "spent.sql"])[0]
    plan = json.loads(run(capsys, ["plan", "spent.sql"])[0])
    assert plan["job"] == "spent"
    assert run(capsys, ["run", "spent.sql", "--path", "out=there"])[0].startswith("spent: 4 rows in 1 epoch")
    assert (tmp_path / "there" / "_headrace").is_dir()
