"""Wherever a name is wrong, the error names the nearest one: every place that knows names, by the one function of `headrace.spelling`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import headrace as hr
from headrace import cli
from headrace.engine.job import Job
from headrace.plan import Plan
from headrace.program import trace
from headrace.settings import settings
from headrace.spark.inspect.inspect import unknown_table
from headrace.sql.catalogue import Catalogue
from headrace.syntax.script import statements

charges = hr.read.memory([], "card string, amount int, place struct<city: string>, ts timestamp", name="charges")
shops = hr.lookup.files("shops", format="json", schema="shop string, city string", name="shops")


class Cells(hr.Program):
    small = hr.Value("int")
    large = hr.Output()
    wake = hr.Timer()

    def on_event(self, e: hr.Row) -> None:
        self.large.emit(n=1)
        hr.emit(n=1)

    def on_wake(self, at: hr.Column) -> None:
        self.small.clear()


class Misnamed(Cells):
    due = hr.Timer()

    def on_dew(self, at: hr.Column) -> None:
        """What was to be on_due."""


class Unfed(Cells):
    def on_wakes(self, at: hr.Column) -> None:
        """Nothing calls it."""


def handler(body: Callable[[Cells, hr.Row], object]) -> Callable[[], object]:
    """A call that traces a program whose handler does this."""

    class P(Cells):
        def on_event(self, e: hr.Row) -> None:
            body(self, e)

    return lambda: trace(P, name="p", key=("card",), inputs={"event": ("card", "amount", "ts")})


def script(text: str) -> Callable[[], object]:
    def run() -> None:
        catalogue = Catalogue()
        for statement in statements(text, "job.sql"):
            catalogue.add(statement)

    return run


def yaml(text: str) -> Callable[[], object]:
    def load() -> None:
        Path("job.yaml").write_text("job: j\n" + text)
        hr.load("job.yaml")

    return load


def planned_job(name: str) -> Job:
    return Job(Plan.of(name, [hr.read.files("in", format="json", schema="a int", name="rows").write.console(name="out")._use()]))


def toml() -> object:
    Path("headrace.toml").write_text('[job]\npartitons = "3"\n')
    return settings("fraud")


def command(*arguments: str) -> Callable[[], object]:
    return lambda: cli.main(arguments)


SOURCE = "sources:\n  rows: {connector: files, path: in, format: json, schema: a int}\n"

CASES: dict[str, tuple[Callable[[], object], str]] = {
    "column of a verb": (lambda: charges.filter("amout > 1"), "`amount`"),
    "column in another case": (lambda: charges.drop("AMOUT"), "`amount`"),
    "key": (lambda: charges.key_by("crad"), "`card`"),
    "column of a table outside": (lambda: charges.lookup(shops, on={"card": "shopp"}), "`shop`"),
    "column of a row": (handler(lambda self, e: e.amout), "`amount`"),
    "column in a handler's text": (handler(lambda self, e: hr.emit(n=hr.expr("e.amout"))), "`amount`"),
    "column without its row": (handler(lambda self, e: hr.emit(n=hr.expr("amount + 1"))), "`e.amount`"),
    "key in a handler": (handler(lambda self, e: hr.emit(n=self.key.crad)), "`card`"),
    "cell": (handler(lambda self, e: self.smal.get()), "`small`"),  # type: ignore[attr-defined]
    "method of a cell": (handler(lambda self, e: self.small.gets()), "`get()`"),  # type: ignore[attr-defined]
    "handler that is missing": (lambda: trace(Misnamed, name="p", key=("card",), inputs={"event": ("card",)}), "`on_due`"),
    "handler of nothing": (lambda: trace(Unfed, name="p", key=("card",), inputs={"event": ("card",)}), "`on_wake`"),
    "method of a column": (lambda: hr.col("a").isin(1), "`.is_in()`"),
    "name of the package": (lambda: hr.jop, "hr.job"),
    "type": (lambda: hr.read.memory([], "a strin", name="s"), "`string`"),
    "connector": (lambda: hr.read.kafak("t"), "`kafka`"),
    "option of a source": (lambda: hr.read.files("in", formt="json"), "`format`"),  # type: ignore[call-arg]
    "option of every source": (lambda: hr.read.files("in", format="json", nme="x"), "`name`"),  # type: ignore[call-arg]
    "option of a sink": (lambda: charges.write.files("out", format="json", partition_bye="card"), "`partition_by`"),  # type: ignore[call-arg]
    "option of a lookup": (lambda: hr.lookup.files("in", format="json", schema="a int", cash="1 hour"), "`cache`"),  # type: ignore[call-arg]
    "format": (lambda: hr.read.files("in", format="parket", schema="a int"), "'parquet'"),
    "output": (lambda: charges.watermark("ts", "1 minute").key_by("card").process(Cells).output("lage"), "`large`"),
    "setting of a file": (toml, "`partitions`"),
    "source of --path": (lambda: planned_job("j").with_paths({"row": "x"}), "`rows`"),
    "table of state": (lambda: (_ for _ in ()).throw(unknown_table("smal", {"small": None})), "`small`"),  # type: ignore[dict-item]
    "statement": (script("SELCT 1"), "SELECT"),
    "thing to create": (script("CREATE SORCE x"), "SOURCE"),
    "name in a script": (
        script("DROP VIEW IF EXISTS v; CREATE SINK alerts WITH (connector = 'console'); INSERT INTO alert SELECT 1"),
        "alerts",
    ),
    "setting in a script": (script("SET checkpont = x"), "checkpoint"),
    "section of YAML": (yaml("sorces: {}\nsinks: {}\n"), "`sources`"),
    "option in YAML": (yaml("sources:\n  rows: {connector: files, pth: in}\nsinks: {}\n"), "`path`"),
    "connector in YAML": (yaml("sources:\n  rows: {connector: fils}\nsinks: {}\n"), "`files`"),
    "verb in YAML": (
        yaml(SOURCE + "views:\n  v: {from: rows, steps: [{filtr: a > 1}]}\nsinks:\n  o: {connector: console, from: v}\n"),
        "`filter`",
    ),
    "view in YAML": (yaml(SOURCE + "sinks:\n  o: {connector: console, from: row}\n"), "`rows`"),
    "command": (command("explan", "job.py"), "explain"),
    "option of a command": (command("run", "job.py", "--fesh"), "--fresh"),
    "error code": (command("error", "NO_WATERMRK"), "`NO_WATERMARK`"),
    "package": (command("packages", "add", "kafak"), "`kafka`"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_was_meant(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    wrong, meant = CASES[case]
    output = ""
    try:
        wrong()
    except (hr.HeadraceError, AttributeError, SystemExit) as error:
        output = str(error)
    output += capsys.readouterr().err
    assert f"did you mean {meant}?" in output, output
