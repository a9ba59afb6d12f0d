"""A job in YAML and the same in Python: one fingerprint, one result, one checkpoint."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace import cli
from tests.unit.errors import check_error

HERE = Path(__file__).parent
ZONE = "spark.sql.session.timeZone"

FIRST = [("a", "1.50", "2026-01-01 23:30:00"), ("a", "2.50", "2026-01-01 23:40:00"), ("b", "9.00", "2026-01-02 00:10:00")]
SECOND = [("b", "1.00", "2026-01-02 00:20:00"), ("a", "0.25", "2026-01-02 00:30:00"), ("c", "5.00", "2026-01-02 00:30:00")]


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("job.yaml", "sources.yaml"):
        shutil.copy(HERE / name, tmp_path / name)


@pytest.fixture(autouse=True)
def _zone(spark: SparkSession) -> Iterator[None]:
    """The session's own zone, which no job may leave changed."""
    before = spark.conf.get(ZONE)
    spark.conf.set(ZONE, "America/New_York")
    yield
    assert spark.conf.get(ZONE) == "America/New_York"
    spark.conf.set(ZONE, str(before))


def put(name: str, rows: list[tuple[str, str, str]]) -> None:
    folder = Path("data/charges")
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"card": card, "amount": amount, "ts": ts}) for card, amount, ts in rows]
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def python() -> hr.Job:
    """job.yaml in Python; it is made under the settings that the file has."""
    charges = hr.read.files("data/charges", format="json", schema="card string, amount decimal(10,2), ts timestamp", name="charges")
    charges = charges.watermark("ts", "5 minutes", idle="1 minute")
    cards = hr.read.memory([("a", "SE"), ("b", "NO")], "card string, country string", name="cards")
    query = "SELECT date(ts) AS day, card, count(*) AS n, sum(amount) AS spent\nFROM charges\nGROUP BY date(ts), card\n"
    spend = hr.sql(query, charges=charges).named("spend")
    busy = spend.filter("n > 1").join(cards, on=["card"], how="left").select("card", "country", euros="spent / 100").named("busy")
    return hr.job(
        "fraud",
        spend.write.files("out/spend", format="json", mode="changes", name="spend_out"),
        busy.write.files("out/busy", format="json", mode="changes", name="busy_out"),
    )


def rows(sink: str) -> list[tuple[object, ...]]:
    """The net rows that a sink's changes make, and all changes."""
    written = [json.loads(line) for file in hr.committed_files(f"out/{sink}") for line in file.read_text(encoding="utf-8").splitlines()]
    return sorted(tuple(row.values()) for row in written)


def test_the_plan_is_that_of_python(spark: SparkSession) -> None:
    job = hr.load("job.yaml")
    spark.conf.set(ZONE, "Europe/Berlin")
    same = python()
    spark.conf.set(ZONE, "America/New_York")
    assert job.plan.settings[ZONE] == "Europe/Berlin"
    assert job.plan.fingerprint == same.plan.fingerprint
    assert list(job.plan.nodes) == list(same.plan.nodes)
    # views may stand in any order
    text = Path("job.yaml").read_text(encoding="utf-8")
    begin, busy, spend, sinks = text.index("views:\n"), text.index("  busy:\n"), text.index("  spend: |\n"), text.index("sinks:\n")
    Path("job.yaml").write_text(text[:begin] + "views:\n" + text[spend:sinks] + text[busy:spend] + text[sinks:], encoding="utf-8")
    assert hr.load("job.yaml").plan.fingerprint == same.plan.fingerprint


def test_the_result_is_that_of_python_and_goes_on_from_its_checkpoint(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    put("1.json", FIRST)
    assert cli.main(["run", "job.yaml", "--no-flush", "--partitions", "2", "--quiet"]) == 0
    put("2.json", SECOND)
    spark.conf.set(ZONE, "Europe/Berlin")
    summary = python().run(flush=False, partitions=2, progress=False)
    spark.conf.set(ZONE, "America/New_York")
    assert "3 rows" in str(summary)
    assert rows("spend") == sorted(
        [
            ("2026-01-01", "a", 2, 4.0, "insert"),
            ("2026-01-02", "b", 1, 9.0, "insert"),
            ("2026-01-02", "b", 1, 9.0, "delete"),
            ("2026-01-02", "b", 2, 10.0, "insert"),
            ("2026-01-02", "a", 1, 0.25, "insert"),
            ("2026-01-02", "c", 1, 5.0, "insert"),
        ]
    )
    assert rows("busy") == [("a", "SE", 0.04, "insert"), ("b", "NO", 0.1, "insert")]


def test_explain_and_plan(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", "job.yaml", "--verbose"]) == 0
    assert "guarantee: exactly once" in capsys.readouterr().out
    assert cli.main(["plan", "job.yaml"]) == 0
    Path("plan.json").write_text(capsys.readouterr().out, encoding="utf-8")
    assert hr.load("plan.json").plan.fingerprint == hr.load("job.yaml").plan.fingerprint


JOB = """\
job: fraud
sources:
  charges: {connector: memory, rows: [[a, 1]], schema: "card string, amount int"}
views:
  spend: |
    SELECT card,
           sum(amout) AS spent
    FROM charges GROUP BY card
sinks:
  out: {from: spend, connector: console, mode: changes}
"""


GOOD = JOB.replace("amout", "amount")


def load(text: str) -> hr.Job:
    Path("job.yaml").write_text(text, encoding="utf-8")
    return hr.load("job.yaml")


def test_an_error_in_a_query_is_at_its_place_in_the_file() -> None:
    check_error(
        """
        BAD_QUERY: Spark refuses the query at line 2, column 12: `amout) AS spent`: A column, variable, or function parameter with name `amout` cannot be resolved. Did you mean one of the following? [`amount`, `card`]
          at job.yaml:7:16: sum(amout) AS spent
          hint: did you mean `amount`?
          more: headrace error BAD_QUERY
        """,
        lambda: load(JOB),
    )


def test_an_error_in_a_type_is_at_its_step() -> None:
    chain = "  few: {from: spend, steps: [{filter: spent > 3}, {select: [{n: spent + array(1)}]}]}\n"
    text = GOOD.replace("sinks:\n", f"{chain}sinks:\n").replace("from: spend, connector", "from: few, connector")
    check_error(
        """
        WRONG_TYPE: few: the operands of `spent + array(1)` are BIGINT and ARRAY<INT>
          at job.yaml:9:60: few: {from: spend, steps: [{filter: spent > 3}, {select: [{n: spent + array(1)}]}]}
          hint: cast one of them, or use one item or the size of the array: xs[0], size(xs)
          more: headrace error WRONG_TYPE
        """,
        lambda: load(text),
    )


def test_a_setting_that_cannot_be() -> None:
    check_error(
        """
        UNKNOWN_TIME_ZONE: there is no time zone `Mars/Olympus`
          at job.yaml:2:12: settings: {spark.sql.session.timeZone: Mars/Olympus}
          hint: use a name like Europe/Stockholm or UTC; on a machine without time zone data, `pip install tzdata`
          more: headrace error UNKNOWN_TIME_ZONE
        """,
        lambda: load(JOB.replace("sources:", "settings: {spark.sql.session.timeZone: Mars/Olympus}\nsources:")),
    )
    check_error(
        """
        BAD_SETTING: spark.sql.ansi.enabled cannot be 'perhaps'
          at job.yaml:2:12: settings: {spark.sql.ansi.enabled: perhaps}
          hint: it is true or false
          more: headrace error BAD_SETTING
        """,
        lambda: load(JOB.replace("sources:", "settings: {spark.sql.ansi.enabled: perhaps}\nsources:")),
    )


def test_a_guarantee_that_is_not_there() -> None:
    check_error(
        """
        GUARANTEE: out is not written exactly once, but at least once: a repeated epoch is printed again
          at job.yaml:12:5: - {view: spend, require: exactly once}
          hint: use an exactly-once sink such as files; explain shows the reasons for each sink
          more: headrace error GUARANTEE
        """,
        lambda: load(GOOD + "checks:\n  - {view: spend, require: exactly once}\n"),
    )


def test_state_that_grows() -> None:
    check_error(
        """
        CHECK_FAILED: the state of spend is not bounded: it grows with the number of groups: a row of numbers for a group of card
          at job.yaml:13:5: - {view: spend, require: bounded state}
          hint: explain shows what each operator keeps
          more: headrace error CHECK_FAILED
        """,
        lambda: load(GOOD + "checks:\n  - {view: charges, require: bounded state}\n  - {view: spend, require: bounded state}\n"),
    )


def test_other_columns_than_the_check_says() -> None:
    check_error(
        """
        CHECK_FAILED: the columns of the view spend differ from the check
          at job.yaml:12:5: - view: spend
          hint: it has: card string, spent bigint
          more: headrace error CHECK_FAILED
        """,
        lambda: load(GOOD + "checks:\n  - view: spend\n    schema: card string, spent int\n"),
    )


def test_a_guarantee_of_a_view_that_is_not_written() -> None:
    text = GOOD.replace("sinks:\n", "  few: SELECT DISTINCT card FROM charges\nsinks:\n")
    check_error(
        """
        CHECK_FAILED: no sink writes the view few
          at job.yaml:12:17: checks: [{view: few, require: exactly once}]
          hint: only a sink has this guarantee: check a view that is written, or require something else
          more: headrace error CHECK_FAILED
        """,
        lambda: load(text + "checks: [{view: few, require: exactly once}]\n"),
    )


def test_a_check_of_a_sink() -> None:
    check_error(
        """
        YAML_NAME: there is no sink `outt`
          at job.yaml:11:17: checks: [{sink: outt, require: bounded state}]
          hint: did you mean `out`? There are: out
          more: headrace error YAML_NAME
        """,
        lambda: load(GOOD + "checks: [{sink: outt, require: bounded state}]\n"),
    )


def test_checks_that_hold() -> None:
    text = GOOD.replace("connector: console", "connector: memory") + "checks:\n  - {sink: out, require: exactly once}\n"
    text += "  - {view: spend, schema: CARD string}\n".replace("CARD string", '"CARD string, spent BIGINT"')
    assert load(text).name == "fraud"


def test_state_is_that_of_the_plan_as_it_runs() -> None:
    """As explain shows it: here with the operator that a rule puts in front, which keeps the first rows only."""
    query = "SELECT card FROM (SELECT card, row_number() OVER (PARTITION BY card ORDER BY amount DESC) AS n FROM charges) WHERE n <= 2"
    text = GOOD.replace("sinks:\n", f"  best: {query}\nsinks:\n")
    with pytest.raises(hr.PlanError) as refused:
        load(text + "checks: [{view: best, require: bounded state}]\n")
    message = refused.value.message
    assert message.startswith("the state of top-") and "it grows with the number of partitions: the first 2 rows" in message
    assert message.endswith("(nor is that of 1 more)")


def test_a_view_that_is_a_source_is_read_once() -> None:
    text = GOOD.replace(
        "sinks:\n",
        "  all: SELECT * FROM charges\n  again: {from: all, steps: [{filter: amount > 3}]}\nsinks:\n  kept: {from: again, connector: memory}\n",
    )
    assert [node.op for node in load(text).plan.nodes.values()].count("source") == 1
