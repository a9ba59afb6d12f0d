"""What is wrong with a job in YAML, and where: whole texts, with line and column."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import headrace as hr
from headrace.spec.build import build
from headrace.spec.document import document
from headrace.spec.verbs import verbs
from tests.installed import READABLE
from tests.unit.errors import check_error
from tests.unit.spec.conftest import Write

CHARGES = 'job: fraud\nsources:\n  charges: {connector: memory, rows: [], schema: "card string, amount int, ts timestamp"}\n'
SINKS = "sinks: {out: {from: charges, connector: console}}\n"
Builder = Callable[[str], Callable[[], object]]


@pytest.fixture
def job(write: Write) -> Builder:
    """What makes a job of a text; without a line for its sinks it gets one."""

    def builder(text: str) -> Callable[[], object]:
        path = write(text if "sinks:" in text else text + SINKS)
        return lambda: build(document(path, {"EMPTY": ""}))

    return builder


def view(text: str) -> str:
    return f"{CHARGES}views:\n  v: {text}\n"


def step(*lines: str) -> str:
    return f"{CHARGES}views:\n  v:\n    from: charges\n    steps:\n" + "".join(f"      - {line}\n" for line in lines)


def source(text: str) -> str:
    return f"job: fraud\nsources:\n  charges: {text}\n"


def test_no_yaml(job: Builder) -> None:
    check_error(
        """
        YAML_SYNTAX: this cannot be read: mapping values are not allowed here
          at job.yaml:1:7: job: a: b
          hint: text that contains `: `, ` #` or, inside {...}, `${` needs quotes, or `|` and lines of its own
          more: headrace error YAML_SYNTAX
        """,
        job("job: a: b\n"),
    )


def test_a_tab_is_no_indent(job: Builder) -> None:
    for text, line, column in (
        ("job: fraud\nsources:\n\tcharges: {connector: files}\n", 3, 1),
        ("job: fraud\nsources:\n  charges:\n    connector: files\n  \tpath: in\n", 5, 3),
        ("job: fraud\nsources:\n  charges:\tfiles\n", 3, 11),
        ("job: fraud\nchecks:\n  -\tview: v\n", 3, 4),
    ):
        with pytest.raises(hr.HeadraceError) as raised:
            job(text)()
        assert raised.value.hint == "YAML allows no tabs before keys, values and list markers: replace the tab with spaces"
        assert raised.value.site is not None and (raised.value.site.line, raised.value.site.column) == (line, column)
    check_error(
        """
        YAML_SYNTAX: this cannot be read: while scanning for the next token, found character '\\t' that cannot start any token
          at job.yaml:2:1: path: in
          hint: YAML allows no tabs before keys, values and list markers: replace the tab with spaces
          more: headrace error YAML_SYNTAX
        """,
        job("job:\n\tpath: in\n"),
    )


def test_a_file_that_is_empty(write: Write) -> None:
    path = write("# nothing\n")
    check_error(
        """
        YAML_SYNTAX: job.yaml is empty
          at job.yaml:1
          hint: a job begins with its name: `job: fraud`
          more: headrace error YAML_SYNTAX
        """,
        lambda: document(path),
    )


def test_a_key_that_is_there_twice(job: Builder) -> None:
    check_error(
        """
        YAML_SYNTAX: this cannot be read: `job` appears twice, first in line 1
          at job.yaml:2:1: job: b
          hint: `headrace docs yaml` describes the format of a job
          more: headrace error YAML_SYNTAX
        """,
        job("job: a\njob: b\n"),
    )


def test_a_tag(job: Builder) -> None:
    check_error(
        """
        YAML_SYNTAX: this cannot be read: the tag tag:yaml.org,2002:python/name:os.system is not supported
          at job.yaml:1:6: job: !!python/name:os.system x
          hint: `headrace docs yaml` describes the format of a job
          more: headrace error YAML_SYNTAX
        """,
        job("job: !!python/name:os.system x\n"),
    )


def test_a_value_that_has_itself_in_it(job: Builder) -> None:
    check_error(
        """
        YAML_SYNTAX: this cannot be read: a value contains itself
          at job.yaml:1:6: job: &a [*a]
          hint: `headrace docs yaml` describes the format of a job
          more: headrace error YAML_SYNTAX
        """,
        job("job: &a [*a]\n"),
    )


def test_two_documents(job: Builder) -> None:
    check_error(
        """
        YAML_SYNTAX: this cannot be read: expected a single document in the stream, but found another document
          at job.yaml:2:1: ---
          hint: text that contains `: `, ` #` or, inside {...}, `${` needs quotes, or `|` and lines of its own
          more: headrace error YAML_SYNTAX
        """,
        job("job: a\n---\njob: b\n"),
    )


def test_a_key_that_is_no_text(job: Builder) -> None:
    check_error(
        """
        YAML_SYNTAX: this cannot be read: a key must be text
          at job.yaml:2:3: ? [x]
          hint: `headrace docs yaml` describes the format of a job
          more: headrace error YAML_SYNTAX
        """,
        job("job: a\n? [x]\n: b\n"),
    )


def test_a_job_that_is_a_list(job: Builder) -> None:
    check_error(
        """
        YAML_TYPE: a job in job.yaml must be a mapping, not a list
          at job.yaml:1:1: - sinks: x
          more: headrace error YAML_TYPE
        """,
        job("- sinks: x\n"),
    )


def test_an_unknown_section(job: Builder) -> None:
    check_error(
        """
        YAML_KEY: a job has no `sorces`
          at job.yaml:2:1: sorces:
          hint: did you mean `sources`? It takes: job, settings, include, sources, lookups, views, sinks, checks
          more: headrace error YAML_KEY
        """,
        job(CHARGES.replace("sources", "sorces")),
    )


def test_a_job_without_a_name(job: Builder) -> None:
    check_error(
        """
        YAML_KEY: a job needs `job`
          at job.yaml:1:1: sinks: {}
          hint: it takes: job, settings, include, sources, lookups, views, sinks, checks
          more: headrace error YAML_KEY
        """,
        job("sinks: {}\n"),
    )


def test_a_job_without_sinks(job: Builder) -> None:
    check_error(
        """
        YAML_KEY: the job has no sinks
          at job.yaml:4:1: sinks:
          hint: sinks: {out: {from: view, connector: console}}
          more: headrace error YAML_KEY
        """,
        job(CHARGES + "sinks:\n"),
    )


def test_a_source_without_a_connector(job: Builder) -> None:
    check_error(
        """
        YAML_KEY: the source charges needs `connector`
          at job.yaml:3:3: charges: {path: in}
          hint: name one, for example `connector: files`
          more: headrace error YAML_KEY
        """,
        job(source("{path: in}")),
    )


def test_a_connector_that_does_not_exist(job: Builder) -> None:
    check_error(
        f"""
        UNKNOWN_CONNECTOR: there is no connector `fils`
          at job.yaml:3:24: charges: {{connector: fils, path: in}}
          hint: did you mean `files`? hr.read has: {READABLE}
          more: headrace error UNKNOWN_CONNECTOR
        """,
        job(source("{connector: fils, path: in}")),
    )


def test_an_option_that_does_not_exist(job: Builder) -> None:
    check_error(
        """
        YAML_KEY: the source charges has no `rows_per_secnd`
          at job.yaml:3:30: charges: {connector: rate, rows_per_secnd: 3}
          hint: did you mean `rows_per_second`? It takes: connector, rows_per_second, watermark
          more: headrace error YAML_KEY
        """,
        job(source("{connector: rate, rows_per_secnd: 3}")),
    )


def test_an_option_that_lacks(job: Builder) -> None:
    check_error(
        """
        YAML_KEY: the source charges needs `rows_per_second`
          at job.yaml:3:3: charges: {connector: rate}
          hint: it takes: connector, rows_per_second, watermark
          more: headrace error YAML_KEY
        """,
        job(source("{connector: rate}")),
    )


def test_a_value_that_the_connector_refuses(job: Builder) -> None:
    check_error(
        """
        BAD_OPTION: read.files: format cannot be 'jsn'
          at job.yaml:3:3: charges: {connector: files, path: in, format: jsn}
          hint: did you mean 'json'? It is one of: json, csv, parquet, orc, avro
          more: headrace error BAD_OPTION
        """,
        job(source("{connector: files, path: in, format: jsn}")),
    )


def test_a_flag_of_yaml_1_1(job: Builder) -> None:
    check_error(
        """
        YAML_TYPE: `follow` of the source charges must be true or false, not `yes`
          at job.yaml:3:63: charges: {connector: files, path: in, format: json, follow: yes}
          more: headrace error YAML_TYPE
        """,
        job(source("{connector: files, path: in, format: json, follow: yes}")),
    )


def test_a_number_that_is_none(job: Builder) -> None:
    check_error(
        """
        YAML_TYPE: `rows_per_second` of the source charges must be a whole number, not `010`
          at job.yaml:3:47: charges: {connector: rate, rows_per_second: 010}
          more: headrace error YAML_TYPE
        """,
        job(source("{connector: rate, rows_per_second: 010}")),
    )


def test_a_path_that_is_left_empty(job: Builder) -> None:
    check_error(
        """
        YAML_TYPE: `path` of the source charges must be a string, not nothing
          at job.yaml:3:36: charges: {connector: files, path: , format: json}
          more: headrace error YAML_TYPE
        """,
        job(source("{connector: files, path: , format: json}")),
    )


def test_a_schema_that_cannot_be_read(job: Builder) -> None:
    check_error(
        """
        BAD_TYPE: the schema `card strng` cannot be read: no type `strng`, did you mean `string`?
          at job.yaml:3:3: charges: {connector: memory, rows: [], schema: card strng}
          hint: a schema looks like "card string, amount decimal(10,2), ts timestamp"
          more: headrace error BAD_TYPE
        """,
        job(source("{connector: memory, rows: [], schema: card strng}")),
    )


def test_a_function_of_python(job: Builder) -> None:
    check_error(
        """
        YAML_TYPE: `function` of the sink out must be a Python function, not `send`
          at job.yaml:5:60: out: {from: charges, connector: foreach_batch, function: send}
          hint: write the job in Python
          more: headrace error YAML_TYPE
        """,
        job(CHARGES + "sinks:\n  out: {from: charges, connector: foreach_batch, function: send}\n"),
    )


def test_a_mode_that_does_not_exist(job: Builder) -> None:
    check_error(
        """
        BAD_OPTION: write.console: mode cannot be 'chnges'
          at job.yaml:5:3: out: {from: charges, connector: console, mode: chnges}
          hint: it is one of: append, upsert, changes
          more: headrace error BAD_OPTION
        """,
        job(CHARGES + "sinks:\n  out: {from: charges, connector: console, mode: chnges}\n"),
    )


def test_a_sink_of_nothing(job: Builder) -> None:
    check_error(
        """
        YAML_NAME: there is no source or view `spend`
          at job.yaml:5:15: out: {from: spend, connector: console}
          hint: there are: charges
          more: headrace error YAML_NAME
        """,
        job(CHARGES + "sinks:\n  out: {from: spend, connector: console}\n"),
    )


def test_independent_mistakes_are_reported_at_once(job: Builder) -> None:
    views = """
views:
  large: {from: charges, steps: [{filter: amout > 3}]}
  larger: {from: large, steps: [{filter: amount > 7}]}
  cards: {from: charges, steps: [{select: [crad]}]}
"""
    check_error(
        """
        UNKNOWN_COLUMN: no column `amout` in charges
          at job.yaml:6:43: large: {from: charges, steps: [{filter: amout > 3}]}
          hint: did you mean `amount`? It has: card, amount, ts
          more: headrace error UNKNOWN_COLUMN

        UNKNOWN_COLUMN: no column `crad` in charges
          at job.yaml:8:43: cards: {from: charges, steps: [{select: [crad]}]}
          hint: did you mean `card`? It has: card, amount, ts
          more: headrace error UNKNOWN_COLUMN

        BAD_OPTION: write.console: mode cannot be 'chnges'
          at job.yaml:12:3: bad: {from: charges, connector: console, mode: chnges}
          hint: it is one of: append, upsert, changes
          more: headrace error BAD_OPTION
        """,
        job(
            f"{CHARGES}{views}sinks:\n  out: {{from: larger, connector: console}}\n"
            "  good: {from: charges, connector: console}\n  bad: {from: charges, connector: console, mode: chnges}\n"
        ),
    )


def test_mistakes_in_sections_are_reported_at_once(job: Builder) -> None:
    check_error(
        """
        YAML_KEY: there is no verb `where`
          at job.yaml:5:31: v: {from: charges, steps: [{where: amount > 3}]}
          hint: did you mean `filter`? There are: VERBS
          more: headrace error YAML_KEY

        YAML_KEY: the sink out needs `connector`
          at job.yaml:7:3: out: {from: v}
          hint: name one, for example `connector: files`
          more: headrace error YAML_KEY
        """.replace("VERBS", ", ".join(verbs())),
        job(f"{CHARGES}views:\n  v: {{from: charges, steps: [{{where: amount > 3}}]}}\nsinks:\n  out: {{from: v}}\n"),
    )


def test_unknown_names_are_reported_at_once(job: Builder) -> None:
    check_error(
        """
        YAML_NAME: there is no source or view `charge`
          at job.yaml:5:13: v: {from: charge, steps: []}
          hint: did you mean `charges`? There are: charges, v
          more: headrace error YAML_NAME

        YAML_NAME: there is no source or view `spend`
          at job.yaml:7:15: out: {from: spend, connector: console}
          hint: there are: charges, v
          more: headrace error YAML_NAME
        """,
        job(f"{CHARGES}views:\n  v: {{from: charge, steps: []}}\nsinks:\n  out: {{from: spend, connector: console}}\n"),
    )


def test_a_verb_that_does_not_exist(job: Builder) -> None:
    check_error(
        """
        YAML_KEY: there is no verb `fliter`
          at job.yaml:8:9: - fliter: amount > 3
          hint: did you mean `filter`? There are: VERBS
          more: headrace error YAML_KEY
        """.replace("VERBS", ", ".join(verbs())),
        job(step("fliter: amount > 3")),
    )


def test_windows_that_do_not_exist(job: Builder) -> None:
    check_error(
        """
        YAML_TYPE: unknown kind of window `tumbling`
          at job.yaml:8:17: - window: {kind: tumbling, time: ts, size: 1 hour}
          hint: the kinds are tumble, hop, cumulate and sessions: `window: {kind: tumble, time: ts, size: 10 seconds}`
          more: headrace error YAML_TYPE
        """,
        job(step("window: {kind: tumbling, time: ts, size: 1 hour}")),
    )
    check_error(
        """
        YAML_KEY: `window` of the kind hop needs `step`
          at job.yaml:8:17: - window: {kind: hop, time: ts, size: 1 hour}
          hint: besides kind and time it has: size, step, offset, emit, lateness
          more: headrace error YAML_KEY
        """,
        job(step("window: {kind: hop, time: ts, size: 1 hour}")),
    )
    check_error(
        """
        YAML_KEY: `window` of the kind sessions has no `size`
          at job.yaml:8:17: - window: {kind: sessions, time: ts, gap: 1 hour, per: card, size: 1 hour}
          hint: besides kind and time it has: gap, per, emit, lateness
          more: headrace error YAML_KEY
        """,
        job(step("window: {kind: sessions, time: ts, gap: 1 hour, per: card, size: 1 hour}")),
    )


def test_a_column_that_does_not_exist(job: Builder) -> None:
    check_error(
        """
        UNKNOWN_COLUMN: no column `amout` in charges.select
          at job.yaml:9:17: - filter: amout > 3
          hint: did you mean `amount`? It has: card, amount
          more: headrace error UNKNOWN_COLUMN
        """,
        job(step("select: [card, amount]", "filter: amout > 3")),
    )


def test_two_verbs_in_a_step(job: Builder) -> None:
    check_error(
        """
        YAML_TYPE: a step must be one verb with its arguments, not a mapping
          at job.yaml:8:9: - {filter: a, select: b}
          hint: each step is an item of the list: `- filter: amount > 500`
          more: headrace error YAML_TYPE
        """,
        job(step("{filter: a, select: b}")),
    )


def test_an_argument_that_does_not_exist(job: Builder) -> None:
    check_error(
        """
        YAML_KEY: `join` has no `one`
          at job.yaml:8:31: - join: {with: charges, one: card}
          hint: did you mean `on`? It takes: with, on, how, expires, emit
          more: headrace error YAML_KEY
        """,
        job(step("join: {with: charges, one: card}")),
    )


def test_an_argument_that_lacks(job: Builder) -> None:
    check_error(
        """
        YAML_KEY: `join` needs `on`
          at job.yaml:8:9: - join: {with: charges}
          hint: it takes: with, on, how, expires, emit
          more: headrace error YAML_KEY
        """,
        job(step("join: {with: charges}")),
    )


def test_arguments_that_are_no_mapping(job: Builder) -> None:
    check_error(
        """
        YAML_TYPE: the arguments of `join` must be a mapping, not `charges`
          at job.yaml:8:15: - join: charges
          hint: it takes: with, on, how, expires, emit
          more: headrace error YAML_TYPE
        """,
        job(step("join: charges")),
    )


def test_arguments_of_a_verb_without(job: Builder) -> None:
    check_error(
        """
        YAML_TYPE: `changes` takes no arguments
          at job.yaml:8:18: - changes: true
          hint: write it alone: `- changes`
          more: headrace error YAML_TYPE
        """,
        job(step("changes: true")),
    )


def test_no_arguments(job: Builder) -> None:
    check_error(
        """
        YAML_TYPE: `select` needs an argument
          at job.yaml:8:9: - select
          hint: each step is an item of the list: `- filter: amount > 500`
          more: headrace error YAML_TYPE
        """,
        job(step("select")),
    )


def test_an_argument_of_another_type(job: Builder) -> None:
    check_error(
        """
        YAML_TYPE: `n` of `top` must be a whole number, not `three`
          at job.yaml:8:18: - top: {n: three, by: amount}
          more: headrace error YAML_TYPE
        """,
        job(step("top: {n: three, by: amount}")),
    )


def test_a_stream_that_does_not_exist(job: Builder) -> None:
    check_error(
        """
        YAML_NAME: there is no source or view `charge`
          at job.yaml:8:22: - join: {with: charge, on: card}
          hint: did you mean `charges`? There are: charges, v
          more: headrace error YAML_NAME
        """,
        job(step("join: {with: charge, on: card}")),
    )


def test_a_watermark_behind_a_filter(job: Builder) -> None:
    check_error(
        """
        WATERMARK_PLACE: a watermark must be set on a source, and charges.filter is not one
          at job.yaml:9:20: - watermark: {column: ts, delay: 5 minutes}
          hint: call it first: hr.read.<connector>(...).watermark("ts", "5 minutes"), then filter, select and so on
          more: headrace error WATERMARK_PLACE
        """,
        job(step("filter: amount > 3", "watermark: {column: ts, delay: 5 minutes}")),
    )


def test_a_table_that_does_not_exist(job: Builder) -> None:
    check_error(
        """
        YAML_NAME: there is no source or view `chargs`
          at job.yaml:5:20: v: SELECT * FROM chargs
          hint: did you mean `charges`? There are: charges, v
          more: headrace error YAML_NAME
        """,
        job(view("SELECT * FROM chargs")),
    )


def test_a_table_that_does_not_exist_in_a_block(job: Builder) -> None:
    check_error(
        """
        YAML_NAME: there is no source or view `Card`
          at job.yaml:7:23: FROM charges JOIN Card USING (card)
          hint: there are: charges, v
          more: headrace error YAML_NAME
        """,
        job(view("|\n    SELECT *\n    FROM charges JOIN Card USING (card)")),
    )


def test_views_in_a_circle(job: Builder) -> None:
    check_error(
        """
        YAML_CYCLE: the views read each other in a cycle: a -> b -> c -> a
          at job.yaml:5:3: a: SELECT * FROM b
          hint: a view cannot read its own result: remove one of them from the cycle
          more: headrace error YAML_CYCLE
        """,
        job(CHARGES + "views:\n  a: SELECT * FROM b\n  b: {from: c, steps: [distinct]}\n  c: SELECT * FROM a\n"),
    )


def test_a_view_of_itself(job: Builder) -> None:
    check_error(
        """
        YAML_CYCLE: the views read each other in a cycle: v -> v
          at job.yaml:5:3: v: SELECT * FROM v
          hint: a view cannot read its own result: remove one of them from the cycle
          more: headrace error YAML_CYCLE
        """,
        job(view("SELECT * FROM v")),
    )


def test_a_name_for_two_things(job: Builder) -> None:
    check_error(
        """
        YAML_NAME: `Charges` is defined twice, first at job.yaml:3:3
          at job.yaml:5:3: Charges: SELECT 1
          hint: give sources, lookups, views and sinks distinct names; case is ignored
          more: headrace error YAML_NAME
        """,
        job(CHARGES + "views:\n  Charges: SELECT 1\n"),
    )


def test_a_sink_with_the_name_of_a_source(job: Builder) -> None:
    check_error(
        """
        YAML_NAME: `charges` is defined twice, first at job.yaml:3:3
          at job.yaml:5:3: charges: {from: charges, connector: console}
          hint: give sources, lookups, views and sinks distinct names; case is ignored
          more: headrace error YAML_NAME
        """,
        job(CHARGES + "sinks:\n  charges: {from: charges, connector: console}\n"),
    )


def test_a_name_that_cannot_be_one(job: Builder) -> None:
    check_error(
        """
        BAD_NAME: '_c' cannot be a name
          at job.yaml:3:3: _c: {connector: memory, rows: [], schema: "card string, amount int, ts timestamp"}
          hint: names begin with a letter or digit and have only letters, digits, spaces, `_`, `-` and `.`
          more: headrace error BAD_NAME
        """,
        job(CHARGES.replace("charges", "_c") + "sinks: {out: {from: _c, connector: console}}\n"),
    )


def test_a_view_that_is_a_list(job: Builder) -> None:
    check_error(
        """
        YAML_TYPE: the view v must be a SQL query, or a mapping of `from` and `steps`, not a list
          at job.yaml:5:6: v: [a]
          more: headrace error YAML_TYPE
        """,
        job(view("[a]")),
    )


def test_a_view_with_an_unknown_key(job: Builder) -> None:
    check_error(
        """
        YAML_KEY: the view v has no `stops`
          at job.yaml:5:22: v: {from: charges, stops: []}
          hint: did you mean `steps`? It takes: from, steps
          more: headrace error YAML_KEY
        """,
        job(view("{from: charges, stops: []}")),
    )


def test_an_unknown_setting(job: Builder) -> None:
    check_error(
        """
        YAML_KEY: `spark.sql.session.timezone` is not a setting of a job
          at job.yaml:1:12: settings: {spark.sql.session.timezone: UTC}
          hint: did you mean `spark.sql.session.timeZone`? The settings that change a job's results are: spark.sql.ansi.enabled, spark.sql.session.timeZone, spark.sql.timestampType, spark.sql.caseSensitive
          more: headrace error YAML_KEY
        """,
        job("settings: {spark.sql.session.timezone: UTC}\n" + CHARGES),
    )


def test_a_variable_that_is_not_set(job: Builder) -> None:
    check_error(
        """
        YAML_VARIABLE: the environment variable NONE is not set
          at job.yaml:8:34: - filter: card = '$${NONE} ${NONE}'
          hint: set it, or give a default: ${NONE:-...}
          more: headrace error YAML_VARIABLE
        """,
        job(step("filter: card = '$${NONE} ${NONE}'")),
    )


def test_a_variable_that_is_none(job: Builder) -> None:
    check_error(
        """
        YAML_VARIABLE: `${secret:X}` is not an environment variable
          at job.yaml:1:6: job: ${secret:X}
          hint: write ${NAME} or ${NAME:-default}, and the characters themselves as $${
          more: headrace error YAML_VARIABLE
        """,
        job("job: ${secret:X}\n"),
    )


def test_a_variable_without_an_end(job: Builder) -> None:
    check_error(
        """
        YAML_VARIABLE: `${JOB` is not closed
          at job.yaml:3:3: ${JOB
          hint: write a variable as ${NAME}, and the characters themselves as $${
          more: headrace error YAML_VARIABLE
        """,
        job("job: |\n  a\n  ${JOB\n"),
    )


def test_a_variable_that_is_empty(job: Builder) -> None:
    check_error(
        """
        BAD_OPTION: read.files: format cannot be ''
          at job.yaml:3:3: charges: {connector: files, path: in, format: "${EMPTY}"}
          hint: It is one of: json, csv, parquet, orc, avro
          more: headrace error BAD_OPTION
        """,
        job(source('{connector: files, path: in, format: "${EMPTY}"}')),
    )


def test_a_check_of_nothing(job: Builder) -> None:
    check_error(
        """
        YAML_KEY: a check needs either `require` or `schema`
          at job.yaml:4:10: checks: [{view: charges}]
          hint: - {view: spend, require: exactly once}
          more: headrace error YAML_KEY
        """,
        job(CHARGES + "checks: [{view: charges}]\n"),
    )


def test_a_check_that_does_not_exist(job: Builder) -> None:
    check_error(
        """
        YAML_TYPE: `exactly twice` cannot be required
          at job.yaml:4:20: checks: [{require: exactly twice}]
          hint: did you mean `exactly once`? It is one of: exactly once, bounded state
          more: headrace error YAML_TYPE
        """,
        job(CHARGES + "checks: [{require: exactly twice}]\n"),
    )


def test_a_check_of_two_things(job: Builder) -> None:
    check_error(
        """
        YAML_KEY: a check takes a view or a sink, not both
          at job.yaml:4:10: checks: [{require: exactly once, sink: out, view: charges}]
          hint: split it into two checks
          more: headrace error YAML_KEY
        """,
        job(CHARGES + "checks: [{require: exactly once, sink: out, view: charges}]\n"),
    )


def test_a_schema_of_no_view(job: Builder) -> None:
    check_error(
        """
        YAML_KEY: a schema check needs a view
          at job.yaml:4:10: checks: [{sink: out, schema: a int}]
          hint: - {view: spend, schema: "card string"}
          more: headrace error YAML_KEY
        """,
        job(CHARGES + "checks: [{sink: out, schema: a int}]\n"),
    )


def test_a_file_that_is_no_text(write: Write) -> None:
    path = write("")
    path.write_bytes(b"job: \xff\n")
    check_error(
        """
        YAML_SYNTAX: job.yaml cannot be read: invalid start byte
          at job.yaml:1
          hint: save it as UTF-8 text
          more: headrace error YAML_SYNTAX
        """,
        lambda: document(path),
    )


def include(write: Write, name: str, other: str = "") -> Callable[[], object]:
    write(other, "parts/other.yaml")
    path = write(f"job: fraud\ninclude:\n  - {name}\n" + CHARGES.removeprefix("job: fraud\n") + SINKS)
    return lambda: document(path)


def test_a_file_that_is_not_there(write: Write, tmp_path: Path) -> None:
    check_error(
        """
        YAML_INCLUDE: there is no file parts/none.yaml
          at job.yaml:3:5: - parts/none.yaml
          hint: paths are relative to the including file: this one resolves to <folder>/parts/none.yaml
          more: headrace error YAML_INCLUDE
        """,
        include(write, "parts/none.yaml"),
        hide={str(tmp_path): "<folder>"},
    )


def test_files_that_include_each_other(write: Write) -> None:
    check_error(
        """
        YAML_INCLUDE: ../job.yaml includes itself
          at parts/other.yaml:1:11: include: [../job.yaml]
          hint: move what both files need into a third one
          more: headrace error YAML_INCLUDE
        """,
        include(write, "parts/other.yaml", "include: [../job.yaml]\n"),
    )


def test_an_included_file_with_sinks(write: Write) -> None:
    check_error(
        """
        YAML_INCLUDE: the included file other.yaml has `sinks`
          at parts/other.yaml:1:1: sinks: {}
          hint: an included file can have: include, sources, lookups, views; move `sinks` to the file of the job
          more: headrace error YAML_INCLUDE
        """,
        include(write, "parts/other.yaml", "sinks: {}\n"),
    )


def test_an_included_file_with_an_unknown_key(write: Write) -> None:
    check_error(
        """
        YAML_KEY: other.yaml has no `source`
          at parts/other.yaml:1:1: source: {}
          hint: did you mean `sources`? It takes: include, sources, lookups, views
          more: headrace error YAML_KEY
        """,
        include(write, "parts/other.yaml", "source: {}\n"),
    )


def test_a_name_in_two_files(write: Write) -> None:
    check_error(
        """
        YAML_NAME: `charges` is defined twice, first at parts/other.yaml:2:3
          at job.yaml:5:3: charges: {connector: memory, rows: [], schema: "card string, amount int, ts timestamp"}
          hint: give sources, lookups, views and sinks distinct names; case is ignored
          more: headrace error YAML_NAME
        """,
        include(write, "parts/other.yaml", "views:\n  CHARGES: SELECT 1\n"),
    )
