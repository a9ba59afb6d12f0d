"""Scripts of SQL: the same job as in Python, the same results, errors at their line and column."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

import headrace as hr
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark")

CHARGES = [
    {"card": "a", "amount": 700, "ts": "2026-01-01T10:00:00Z"},
    {"card": "b", "amount": 20, "ts": "2026-01-01T10:00:01Z"},
    {"card": "a", "amount": 100, "ts": "2026-01-01T10:00:02Z"},
]
CARDS = [{"card": "a", "country": "SE"}, {"card": "b", "country": "NO"}]

SCRIPT = """\
-- Spending by country, and large charges.
SET job = 'spending';

CREATE SOURCE charges (
  card STRING, amount INT, ts TIMESTAMP,
  WATERMARK FOR ts AS ts - INTERVAL '5' SECONDS
) WITH (connector = 'files', path = 'charges', format = 'json', idle = '1 minute');

CREATE SOURCE cards (card STRING, country STRING) WITH (connector = 'files', path = 'cards', format = 'json');

CREATE VIEW known AS
  SELECT c.card, c.amount, d.country FROM charges c JOIN cards d ON c.card = d.card;

CREATE SINK spent WITH (connector = 'files', path = 'spent', format = 'json', mode = 'changes');
INSERT INTO spent
  SELECT country, sum(amount) AS spent FROM known GROUP BY country;

CREATE SINK large WITH (connector = 'files', path = 'large', format = 'csv', partition_by = 'country', options.header = FALSE)
  AS SELECT card, amount, country FROM known WHERE amount > 50;
"""


def in_python() -> hr.Job:
    charges = hr.read.files("charges", format="json", schema="card string, amount int, ts timestamp", name="charges")
    charges = charges.watermark("ts", "5 seconds", idle="1 minute")
    cards = hr.read.files("cards", format="json", schema="card string, country string", name="cards")
    known = hr.sql("SELECT c.card, c.amount, d.country FROM charges c JOIN cards d ON c.card = d.card", charges=charges, cards=cards).named(
        "known"
    )
    spent = hr.sql("SELECT country, sum(amount) AS spent FROM known GROUP BY country", known=known)
    large = hr.sql("SELECT card, amount, country FROM known WHERE amount > 50", known=known)
    return hr.job(
        "spending",
        spent.write.files("spent", format="json", mode="changes", name="spent"),
        large.write.files("large", format="csv", partition_by="country", options={"header": False}, name="large"),
    )


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, rows in (("charges", CHARGES), ("cards", CARDS)):
        (tmp_path / name).mkdir()
        put(tmp_path / name / "1.json", rows)
    (tmp_path / "job.sql").write_text(SCRIPT)
    return tmp_path


def put(file: Path, rows: Sequence[dict[str, object]]) -> None:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))


def written(path: str) -> list[str]:
    return sorted(line for file in hr.committed_files(path) for line in file.read_text().splitlines())


def loaded(script: str) -> hr.Job:
    Path("job.sql").write_text(script)
    return hr.load("job.sql")


def query(script: str) -> hr.Job:
    return loaded(f"{script}\nCREATE SINK out WITH (connector = 'memory');\nINSERT INTO out SELECT * FROM v")


def test_a_script_is_the_job_that_python_makes() -> None:
    job = hr.load("job.sql")
    assert job.plan.to_json()["sinks"] == ["spent", "large"]
    assert job.plan.fingerprint == in_python().plan.fingerprint
    assert str(job.plan.nodes["known"].site) == "job.sql:12:3"


def test_it_writes_what_python_writes() -> None:
    hr.load("job.sql").run(progress=False)
    mine = written("spent"), written("large")
    in_python().run(progress=False, fresh=True)
    assert mine == (written("spent"), written("large"))
    assert mine[0] == ['{"country":"NO","spent":20,"_change":"insert"}', '{"country":"SE","spent":800,"_change":"insert"}']
    assert mine[1] == ["a,100", "a,700"]


def test_what_a_script_says_of_runs_gives_way_to_arguments() -> None:
    job = loaded("SET checkpoint = 'here'; SET partitions = 1;" + SCRIPT)
    job.run(progress=False)
    assert Path("here/job.json").is_file()
    job.with_paths({"spent": "spent2", "large": "large2"}).run(progress=False, checkpoint="there")
    assert Path("there/job.json").is_file()


def test_functions_are_put_into_the_plan() -> None:
    job = query(
        """
        CREATE SOURCE charges (card STRING, amount INT, x INT) WITH (connector = 'files', path = 'charges', format = 'json');
        CREATE FUNCTION twice(x INT) RETURNS INT RETURN x * 2;
        CREATE FUNCTION fee(amount INT, rate DOUBLE DEFAULT 0.5) RETURNS DOUBLE RETURN twice(amount) * rate;
        CREATE VIEW v AS SELECT card, sum(fee(amount)) AS fees, max(twice(amount + 1)) AS most FROM charges WHERE twice(amount) > 100
            GROUP BY card;
        """
    )
    assert "twice" not in json.dumps([node for node in job.plan.to_json()["nodes"] if node["op"] != "source"]).replace("site", "")
    [stream] = [node for node in job.plan.nodes.values() if node.name == "v"]
    assert hr.collect(hr.Stream(stream)).rows() == [("a", 800.0, 1402)]


def test_settings_that_change_meaning_are_the_plans() -> None:
    text = """
        SET 'spark.sql.session.timeZone' = 'Asia/Tokyo';
        CREATE SOURCE charges (ts TIMESTAMP) WITH (connector = 'files', path = 'charges', format = 'json');
        CREATE VIEW v AS SELECT hour(ts) AS h FROM charges;
        """
    assert query(text).plan.settings["spark.sql.session.timeZone"] == "Asia/Tokyo"
    assert hr.load("job.sql").explain().plan.settings["spark.sql.session.timeZone"] == "Asia/Tokyo"
    assert query(text.replace("Asia/Tokyo", "UTC")).plan.settings["spark.sql.session.timeZone"] == "UTC"


def test_after_how_long_queries_forget() -> None:
    job = query(
        """
        CREATE SOURCE charges (card STRING, amount INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '5' SECONDS)
            WITH (connector = 'files', path = 'charges', format = 'json');
        CREATE VIEW ever AS SELECT card, count(*) AS n FROM charges GROUP BY card;
        SET 'state.expires' = '7 days';
        CREATE VIEW days AS SELECT card, sum(amount) AS n FROM charges GROUP BY card;
        CREATE VIEW day AS SELECT /*+ EXPIRES('1 day') */ card, max(amount) AS n FROM charges GROUP BY card;
        CREATE VIEW windows AS SELECT card, window_end, sum(amount) AS n FROM TUMBLE(charges, DESCRIPTOR(ts), '1 hour') GROUP BY card, window_end;
        CREATE VIEW total AS SELECT 'all' AS card, sum(amount) AS n FROM charges;
        SET 'state.expires' = 'never';
        CREATE VIEW again AS SELECT card, avg(amount) AS n FROM charges GROUP BY card;
        CREATE VIEW v AS SELECT card, n FROM ever UNION ALL SELECT card, n FROM days UNION ALL SELECT card, n FROM day
            UNION ALL SELECT card, n FROM windows UNION ALL SELECT card, n FROM total UNION ALL SELECT card, n FROM again;
        """
    )
    expirations = {
        text.partition("(")[0]: node.get("expires_ms") for node in job.plan.to_json()["nodes"] for _, text in node.get("aggregates", ())
    }
    assert [expirations[name] for name in ("count", "max", "avg")] == [None, 86_400_000, None]
    sums = [(len(node["keys"]), node.get("expires_ms")) for node in job.plan.to_json()["nodes"] if "sum" in str(node.get("aggregates"))]
    assert sorted(sums, key=str) == [(0, None), (1, 604_800_000), (2, None)]


def test_a_view_of_a_view_keeps_its_name_and_is_no_operator() -> None:
    job = query(
        """
        CREATE SOURCE charges (card STRING) WITH (connector = 'files', path = 'charges', format = 'json');
        CREATE VIEW same AS SELECT * FROM charges;
        CREATE VIEW v AS TABLE same;
        """
    )
    assert list(job.plan.nodes) == ["charges", "out"]


def test_errors_inside_a_query() -> None:
    check_error(
        """
        BAD_QUERY: Spark refuses the query: A column, variable, or function parameter with name `c`.`amout` cannot be resolved. Did you mean one of the following? [`c`.`amount`, `c`.`ts`, `c`.`card`, `d`.`card`, `d`.`country`]
          at job.sql:12:18: SELECT c.card, c.amout, d.country FROM charges c JOIN cards d ON c.card = d.card;
          hint: did you mean `c.amount`?
          more: headrace error BAD_QUERY
        """,
        lambda: loaded(SCRIPT.replace("c.amount, d.c", "c.amout, d.c")),
    )
    check_error(
        """
        BAD_QUERY: there is no table `crads`
          at job.sql:12:58: SELECT c.card, c.amount, d.country FROM charges c JOIN crads d ON c.card = d.card;
          hint: did you mean `cards`? Use a source or view of the script: charges, cards
          more: headrace error BAD_QUERY
        """,
        lambda: loaded(SCRIPT.replace("JOIN cards", "JOIN crads")),
    )
    check_error(
        """
        BAD_QUERY: Spark refuses the query: Syntax error at or near ','
          at job.sql:16:18: SELECT country,, sum(amount) AS spent FROM known GROUP BY country;
          more: headrace error BAD_QUERY
        """,
        lambda: loaded(SCRIPT.replace("country, sum", "country,, sum")),
    )
    check_error(
        """
        BAD_QUERY: rand(), which returns another value each time, cannot be kept up to date
          at job.sql:12:39: SELECT c.card, c.amount, d.country, rand() r FROM charges c JOIN cards d ON c.card = d.card;
          hint: take the value from a column: a retraction must have the value of its insertion
          more: headrace error BAD_QUERY
        """,
        lambda: loaded(SCRIPT.replace("d.country FROM", "d.country, rand() r FROM")),
    )


def test_errors_of_functions() -> None:
    check_error(
        """
        BAD_QUERY: Spark refuses the query: A column, variable, or function parameter with name `y` cannot be resolved. Did you mean one of the following? [`x`]
          at job.sql:2:3: y * 2;
          more: headrace error BAD_QUERY
        """,
        lambda: loaded("CREATE FUNCTION twice(x INT) RETURNS INT RETURN\n  y * 2;"),
    )
    check_error(
        """
        BAD_QUERY: Spark refuses the query: Syntax error at or near end of input
          at job.sql:1:52: CREATE FUNCTION twice(x INT) RETURNS INT RETURN x * ;
          more: headrace error BAD_QUERY
        """,
        lambda: loaded("CREATE FUNCTION twice(x INT) RETURNS INT RETURN x * ;"),
    )
    check_error(
        """
        BAD_QUERY: rand(), which returns another value each time, cannot be kept up to date
          at job.sql:1:57: CREATE FUNCTION chance(x INT) RETURNS DOUBLE RETURN x * rand();
          hint: take the value from a column: a retraction must have the value of its insertion
          more: headrace error BAD_QUERY
        """,
        lambda: loaded("CREATE FUNCTION chance(x INT) RETURNS DOUBLE RETURN x * rand();"),
    )


def test_errors_of_connectors_and_types_name_the_statement() -> None:
    check_error(
        """
        BAD_OPTION: read.files has no option `formt`
          at job.sql:4:1: CREATE SOURCE charges (
          hint: did you mean `format`? It takes: path, format, schema, follow, by, files_per_epoch, malformed, broken_files, options, change_column, change_format, key, trusted, name
          more: headrace error BAD_OPTION
        """,
        lambda: loaded(SCRIPT.replace("format = 'json', idle", "formt = 'json', idle")),
    )
    check_error(
        """
        SINK_KIND: aggregate(known) has retractions, and files can only append
          at job.sql:15:1: INSERT INTO spent
          hint: write its changes, each with the word insert or delete in the column _change: mode="changes"
          more: headrace error SINK_KIND
        """,
        lambda: loaded(SCRIPT.replace(", mode = 'changes'", "")),
    )
