"""What a reader of a sink sees while a job runs, and what the sink leaves."""

from __future__ import annotations

import headrace as hr
from headrace.plan import Plan, explain, facts

rows = hr.read.memory([("a", 1)], "k string, n int", name="rows")


def test_explain_shows_the_steps_of_sinks_that_do_not_show_whole_epochs() -> None:
    plan = Plan.of(
        "job",
        [
            rows.write.files("out", format="json", name="files")._use(),
            rows.write.kafka("t", servers="a:9092", name="topic")._use(),
            rows.write.http("http://a/b", name="service")._use(),
            rows.write.foreach_batch(print, name="function")._use(),
        ],
    )
    assert {name: fact.value for name, fact in facts(plan, "readers see").items()} == {"topic": "task", "service": "row"}
    assert set(facts(plan, "leaves")) == {"files", "topic", "function"}
    assert set(facts(plan, "restored checkpoint")) == {"service", "function"}
    text = str(explain(plan, only=("readers see", "restored checkpoint", "leaves"), verbose=True))
    assert "restored checkpoint: not noticed, as the sink does not record its epochs: rows" in text
    assert "readers see: the rows of one task at a time: an epoch appears in as many steps as it has tasks" in text
    assert "leaves: a transactional id and a consumer group for each task" in text


def test_explain_says_where_all_sinks_can_be_rewound() -> None:
    files = rows.write.files("out", format="json", name="files")._use()
    delta = rows.write.delta("table", name="delta")._use()
    screen = rows.write.console(name="screen")._use()
    table = rows.write.jdbc("sqlite:t.db", "t", name="table")._use()
    assert {name: fact.value for name, fact in facts(Plan.of("job", [files, delta, screen]), "restored checkpoint").items()} == {
        "files": True,
        "delta": True,
        "screen": False,
    }
    text = str(explain(Plan.of("job", [files]), only=("restored checkpoint",), verbose=True))
    assert "restored checkpoint: refused, as the sink holds later epochs; `headrace rewind` restores it" in text
    assert facts(Plan.of("job", [files, table]), "restored checkpoint") == {}
