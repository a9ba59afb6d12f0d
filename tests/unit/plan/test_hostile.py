"""Plans, scripts and checkpoints that somebody has changed: each is read as what it is, or refused with a code."""

from __future__ import annotations

import json
import time
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.durable.sums import read
from headrace.errors import HeadraceError
from headrace.spark.checkpoint.folder import stored_in
from tests import golden
from tests.unit.errors import check_error
from tests.unit.plan.hostile import hostile, plans


def plan() -> dict[str, Any]:
    charges = hr.read.files("in/", format="json", schema="card string, ts timestamp", name="charges").watermark("ts", "1 minute")
    data = hr.Plan.of("copy", [charges.filter("card > 'a'").write.files("out/", format="json", name="out")._use()]).to_json()
    return json.loads(json.dumps(data))  # type: ignore[no-any-return]


def changed(place: str, value: Any) -> dict[str, Any]:
    """A plan with another value at a place, such as `nodes.0.name`."""
    data: Any = plan()
    *way, last = (int(part) if part.isdigit() else part for part in place.split("."))
    inner = data
    for part in way:
        inner = inner[part]
    inner[last] = value
    return data  # type: ignore[no-any-return]


def load(folder: Path, text: str | bytes, name: str = "plan.json") -> hr.Job:
    file = folder / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return hr.load(file)


def test_a_plan_as_it_is_written_is_read(tmp_path: Path) -> None:
    assert load(tmp_path, json.dumps(plan())).name == "copy"


@pytest.mark.parametrize("name", ["../../evil1", "/etc/cron.d/x", "a\0b", "a\nb", "..", ".hidden", " a", "", None, 7, "x" * 201, "a/b"])
@pytest.mark.parametrize("place", ["job", "nodes.0.name", "nodes.2.name"])
def test_names_are_names(tmp_path: Path, place: str, name: Any) -> None:
    if place != "job" and isinstance(name, str) and len(name) > 200:
        return  # one that is made by rule may be as long
    with pytest.raises(HeadraceError) as raised:
        load(tmp_path, json.dumps(changed(place, name)))
    assert raised.value.code in ("BAD_NAME", "PLAN_BROKEN")
    assert "\0" not in str(raised.value)


def test_the_text_for_a_name(tmp_path: Path) -> None:
    check_error(
        """
        BAD_NAME: '../../evil1' cannot be a name
          at test_hostile.py:*: return hr.load(file)
          hint: names begin with a letter or digit and have only letters, digits, spaces, `_`, `-` and `.`
          more: headrace error BAD_NAME
        """,
        lambda: load(tmp_path, json.dumps(changed("job", "../../evil1"))),
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"spark.sql.streaming.checkpointFileManagerClass": "evil.Manager"},
            "a plan cannot have the setting 'spark.sql.streaming.checkpointFileManagerClass'",
        ),
        ({"spark.sql.ansi.enabled": "perhaps"}, "spark.sql.ansi.enabled cannot be 'perhaps'"),
        ({"spark.sql.ansi.enabled": True}, "spark.sql.ansi.enabled cannot be 'True'"),
        ([], "the settings of a plan are not an object"),
    ],
)
def test_settings_are_those_that_change_meaning(tmp_path: Path, settings: Any, message: str) -> None:
    with pytest.raises(hr.ConfigError) as raised:
        load(tmp_path, json.dumps(changed("settings", settings)))
    assert (raised.value.code, raised.value.message) == ("BAD_SETTING", message)


@pytest.mark.parametrize(
    ("place", "value", "code", "says"),
    [
        ("nodes.0.options.pasword", "x", "BAD_OPTION", "read.files: its options in the plan cannot be read: TypeError"),
        ("nodes.0.options.format", "exe", "BAD_OPTION", "read.files: format cannot be 'exe'"),
        ("nodes.0.options.path", "in\0side", "BAD_OPTION", "the path cannot be"),
        ("nodes.0.options.path", "s3a://key:s3cret@bucket/in", "BAD_OPTION", "`path` has a password in it"),
        ("nodes.2.options.path", 7, "BAD_OPTION", "the path cannot be 7"),
        ("nodes.2.options.path", "ü" * 128, "BAD_OPTION", "the path is too long, it begins with üüü"),
        ("nodes.0.options.path", "in/" * 1400, "BAD_OPTION", "the path is too long, it begins with in/"),
        ("nodes.0.connector", "evil", "UNKNOWN_CONNECTOR", "there is no connector `evil`"),
        ("nodes.0.watermark.delay_ms", -1, "PLAN_BROKEN", "`watermark` of node `charges`"),
        ("nodes.0.watermark.column", "none", "PLAN_BROKEN", "node `charges` does not fit its inputs"),
        ("nodes.0.schema", "array<" * 500, "BAD_TYPE", ""),
        ("nodes.2.mode", "destroy", "PLAN_BROKEN", "`mode` of node `out` is 'destroy', not one of: append, upsert, changes"),
        ("nodes.1.input", "out", "PLAN_BROKEN", "`input` of node `charges.filter` is `out`, but the plan has no earlier node of this name"),
        ("sinks", ["charges"], "PLAN_BROKEN", "no sinks, or lists other nodes as sinks"),
        ("sinks", [], "PLAN_BROKEN", "no sinks, or lists other nodes as sinks"),
        ("nodes", {}, "PLAN_BROKEN", "`nodes` is {}, not a list"),
        ("nodes.1", 1, "PLAN_BROKEN", "1 is not a node"),
        ("nodes.0.site", "/dev/zero:1", "", ""),
        ("format", [1], "PLAN_VERSION", "the plan has format [1]"),
    ],
)
def test_what_no_verb_writes(tmp_path: Path, place: str, value: Any, code: str, says: str) -> None:
    if not code:
        assert str(load(tmp_path, json.dumps(changed(place, value))).plan.nodes["charges"].site) == value
        return
    with pytest.raises(HeadraceError) as raised:
        load(tmp_path, json.dumps(changed(place, value)))
    assert raised.value.code == code
    assert says in raised.value.message and "s3cret" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "PLAN_BROKEN"),
        (b"\xff\xfe", "PLAN_BROKEN"),
        ("[" * 100_000, "FILE_FAILED"),
        ('{"a":' * 300 + "1" + "}" * 300, "PLAN_BROKEN"),
        (json.dumps(plan())[:-1] + ', "format": 1}', "PLAN_BROKEN"),
        (json.dumps(changed("nodes.1.where", ["\ud800"])), "PLAN_BROKEN"),
        (json.dumps(changed("nodes.0.options.x", float("nan"))), "PLAN_BROKEN"),
        (json.dumps(changed("nodes.0.options.x", [])).replace("[]", "[" * 400 + "]" * 400), "PLAN_BROKEN"),
        ("9" * 10_000, "PLAN_BROKEN"),
    ],
)
def test_texts_that_are_no_plan(tmp_path: Path, text: str | bytes, code: str) -> None:
    with pytest.raises(HeadraceError) as raised:
        load(tmp_path, text)
    assert raised.value.code == code


def test_nodes_that_lead_to_no_sink(tmp_path: Path) -> None:
    data = plan()
    data["nodes"].append({**data["nodes"][0], "name": "more"})
    with pytest.raises(hr.PlanError, match="has nodes that lead to no sink"):
        load(tmp_path, json.dumps(data))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("job.yaml", "job: x\nsources: " + "[" * 3000 + "]" * 3000),
        ("job.yaml", "job: x\nsinks: {}\n" + "a: " * 500),
        ("job.yaml", "&a [*a]"),
        ("job.yaml", "job: [1, 2]\nsources: 7\nsinks: null"),
        ("job.yaml", "!!python/object/apply:os.system [ls]"),
        ("job.yaml", "job: ../../evil\nsources: {a: {connector: files, path: in, format: json, schema: a int}}\nsinks: {o: {from: a, connector: console}}"),
        ("job.yaml", "job: x\nsettings: {spark.sql.streaming.checkpointFileManagerClass: evil}\nsources: {}\nsinks: {}"),
        ("job.sql", "SELECT " + "(" * 3000 + "1" + ")" * 3000),
        ("job.sql", "CREATE SOURCE a (a int) WITH (connector = 'files', " + "(" * 3000),
        ("job.sql", "CREATE SOURCE a (a " + "array<" * 3000 + "int" + ">" * 3000 + ") WITH (connector = 'files', path = 'in', format = 'json')"),
        ("job.sql", "SET 'spark.sql.streaming.checkpointFileManagerClass' = 'evil'"),
        ("job.sql", "SET 'job' = '../../evil'"),
        ("job.sql", "\0\0\0"),
        ("job.sql", "CREATE SINK s WITH (connector = 'files', path = 'x" + "\0" + "', format = 'json') AS SELECT 1"),
    ],
)  # fmt: skip
def test_other_files_of_jobs_are_refused_with_a_code(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(HeadraceError):
        load(tmp_path, text, name)


def fuzzed(folder: Path, times: range) -> Counter[str]:
    """What becomes of the golden plans, each changed so often; another one changes nothing in these."""
    outcomes: Counter[str] = Counter()
    for number, (n, (name, plan)) in enumerate(product(times, plans().items())):
        text = hostile(f"{name} {n}", plan)
        began = time.thread_time()
        try:
            load(folder, text)
            outcomes["read"] += 1
        except HeadraceError as error:
            outcomes[error.code] += 1
            str(error).encode()
        # by the processor's time, after the connectors were imported: nothing in a text makes it slow
        assert time.thread_time() - began < 1 or number < 50, (name, n)
    return outcomes


def test_plans_that_somebody_changed(tmp_path: Path) -> None:
    outcomes = fuzzed(tmp_path, range(4))
    assert len(outcomes) > 8 and outcomes.total() / 30 < outcomes["read"] < outcomes.total() / 2


@pytest.mark.full
def test_many_plans_that_somebody_changed(tmp_path: Path) -> None:
    assert fuzzed(tmp_path, range(4, 120)).total() > 10_000


@pytest.mark.parametrize("job", sorted(golden.GOLDEN.glob("*/checkpoints/*/checkpoint/job.json")), ids=lambda file: file.parents[1].name)
def test_checkpoints_that_somebody_changed(tmp_path: Path, job: Path) -> None:
    # without its checksum, by which any change would be found
    known = read(job)
    assert stored_in(job.parent) is not None
    codes = set()
    for seed in range(60):
        (tmp_path / "job.json").write_bytes(hostile(str(seed), known))
        try:
            stored_in(tmp_path)
        except HeadraceError as error:
            codes.add(error.code)
    assert codes <= {"CHECKPOINT_UNREADABLE", "CHECKPOINT_FORMAT"}


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("job", "../evil"),
        ("id", "a/b"),
        ("settings", {"spark.x": "y"}),
        ("identity.queries.0.name", "../../x"),
        ("plan.nodes.0.name", "a\0b"),
    ],
)
def test_a_checkpoint_has_names(tmp_path: Path, place: str, value: Any) -> None:
    data: Any = read(next(golden.GOLDEN.glob("*/checkpoints/cells/checkpoint/job.json")))
    inner = data
    *way, last = (int(part) if part.isdigit() else part for part in place.split("."))
    for part in way:
        inner = inner[part]
    inner[last] = value
    (tmp_path / "job.json").write_text(json.dumps(data))
    with pytest.raises(hr.CheckpointError, match="CHECKPOINT_UNREADABLE"):
        stored_in(tmp_path)
