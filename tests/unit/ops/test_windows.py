"""Windows of time: what is refused, which columns close, and what is known of what stands behind."""

from __future__ import annotations

import pytest

import headrace as hr
from headrace.ops import closing, groups, kind_of
from headrace.plan import Plan, facts
from headrace.syntax import Emit, streaming
from tests.unit.errors import check_error

charges = hr.read.memory([], "card string, ts timestamp, amount int", name="charges").watermark("ts", "5 minutes")
plain = hr.read.memory([], "card string, ts timestamp, amount int", name="plain")
hours = charges.window(hr.tumble("ts", "1 hour"))
closed = charges.window(hr.tumble("ts", "1 hour"), emit="close", lateness="1 minute")
spent = hours.group_by("card", "window_end").agg(spent="sum(amount)")
once = closed.group_by("card", "window_end").agg(spent="sum(amount)")
early = charges.window(hr.tumble("ts", "1 hour"), emit="close", early="1 minute", lateness="1 minute")
soon = early.group_by("card", "window_end").agg(spent="sum(amount)")
DELAY, AFTER = "EMIT WITH DELAY INTERVAL '{}' MINUTE BEFORE WATERMARK", ", WITHOUT DELAY AFTER WATERMARK"
LATER = "timestampadd(MICROSECOND, 3600000000L, {})"


def closes(stream: hr.Stream) -> dict[str, str]:
    return {name: str(close.at) for name, close in closing([stream._node])[stream._node].items()}


CLOSING = {
    "a watermark": (charges, {"ts": "{}"}),
    "no watermark": (plain.window(hr.tumble("ts", "1 hour")), {}),
    "windows": (hours, {"ts": "{}", "window_start": LATER, "window_end": "{}", "window_time": "timestampadd(MILLISECOND, 1L, {})"}),
    "windows of another column": (charges.with_columns(at="ts + INTERVAL 1 HOUR").window(hr.tumble("at", "1 hour")), {"ts": "{}"}),
    "another name": (hours.select("card", until="window_end"), {"until": "{}"}),
    "a computed column": (hours.select(until="window_end + INTERVAL 1 HOUR"), {}),
    "groups": (spent, {"window_end": "{}"}),
    "groups of something else": (hours.group_by("card").agg(n="count(*)"), {}),
    "first rows": (spent.top(1, by="spent", per="window_end"), {"window_end": "{}"}),
    "first rows of all": (spent.top(1, by="spent"), {}),
    "window functions": (spent.with_columns(n=hr.f.rank().over(per="window_end", by="spent")), {"window_end": "{}"}),
    "a join": (spent.join(once.rename({"spent": "s"}), on=["card", "window_end"]), {"window_end": "{}"}),
    "a join of another key": (spent.join(once.rename({"spent": "s", "window_end": "e"}), on="card"), {}),
    "a join with a table": (spent.join(plain.select("card", a="amount"), on="card"), {}),
    "a union": (spent.union(spent.filter("spent > 1")), {"window_end": "{}"}),
    "a union with rows that came otherwise": (hours.select("window_end").union(spent.select("window_end")), {}),
    "windows of windows": (
        spent.select(at="window_end - INTERVAL 1 HOUR", end="window_end").window(hr.tumble("end", "1 day")).select("window_end"),
        {"window_end": "{}"},
    ),
    "the last row of each key": (hours.upserts("card"), {}),
}


@pytest.mark.parametrize("name", CLOSING)
def test_which_columns_close(name: str) -> None:
    stream, expected = CLOSING[name]
    assert closes(stream) == expected


KINDS = {
    "changes": (spent, "changes"),
    "closed": (once, "append"),
    "first rows of closed ones": (once.top(1, by="spent", per="window_end"), "append"),
    "first rows of all closed ones": (once.top(1, by="spent"), "changes"),
    "a full join of closed ones": (once.join(once.rename({"spent": "s"}), on=["card", "window_end"], how="full"), "append"),
    "a left join of one that is and one that is not": (
        once.join(spent.rename({"spent": "s"}), on=["card", "window_end"], how="left"),
        "changes",
    ),
    "late rows": (once.output("late"), "append"),
    "early results": (soon, "changes"),
    "first rows of early results": (soon.top(1, by="spent", per="window_end"), "changes"),
    "windows of early results": (
        soon.select(end="window_end").window(hr.tumble("end", "1 day"), emit="close").group_by("window_end").agg(n="count(*)"),
        "append",
    ),
}


@pytest.mark.parametrize("name", KINDS)
def test_whether_rows_are_taken_away(name: str) -> None:
    stream, kind = KINDS[name]
    assert kind_of(stream._node) == kind


def test_when_a_group_closes() -> None:
    group = groups([once._node])[once._node]
    assert (group.text(["card", "two words"]), group.judged) == ("timestampadd(MILLISECOND, 60000L, `two words`)", (True,))
    both = closed.group_by("ts", "window_start").agg(n="count(*)")._node
    assert groups([both])[both].text(["ts", "window_start"]) == (
        "least(timestampadd(MILLISECOND, 60000L, ts), "
        "timestampadd(MILLISECOND, 60000L, timestampadd(MICROSECOND, 3600000000L, window_start)))"
    )
    joined = closed.select("window_end").join(once.rename({"window_end": "e"}), on="window_end = e")._node
    assert groups([joined])[joined].judged == (True, False)


def test_when_early_results_are_sent() -> None:
    group = groups([soon._node])[soon._node]
    assert (group.early_ms, group.text(["card", "window_end"], late=False)) == (60_000, "window_end")
    behind = soon.top(1, by="spent", per="window_end")._node
    assert (groups([behind])[behind].emit, groups([behind])[behind].early_ms) == ("changes", 0)
    assert early._node.describe() == "tumble ts by 1 hour, emit=close, early every 1 minute, lateness 1 minute"
    assert fact_text(soon, "rows") == (
        "insertions and retractions, when the watermark passes a multiple of 1 minute or the end of their group, and after that in each epoch"
    )


def fact_text(stream: hr.Stream, fact: str) -> str:
    plan = Plan.of("job", [stream.write.memory(name="out")._use()])
    return list(facts(plan, fact).values())[-1].text


def test_explain_says_when_rows_are_sent() -> None:
    assert fact_text(once, "rows") == "insertions only, once, when their group closes"
    assert hours._node.describe() == "tumble ts by 1 hour, emit=changes"
    moved = charges.window(hr.hop("ts", "1 hour", "5 minutes", offset="1 minute"), lateness="2 minutes")
    assert moved._node.describe() == "hop ts by 1 hour every 5 minutes from 1 minute on, emit=changes, lateness 2 minutes"


def test_an_output_for_late_rows_is_there_where_rows_are_judged() -> None:
    assert once.output("late").columns == closed.columns
    check_error(
        """
        UNKNOWN_OUTPUT: top(aggregate(charges)) has no output `late`
          at test_windows.py:*: lambda: once.top(1, by="spent", per="window_end").output("late"),
          hint: it has: dead_letter
          more: headrace error UNKNOWN_OUTPUT
        """,
        lambda: once.top(1, by="spent", per="window_end").output("late"),
    )


def test_windows_that_are_none() -> None:
    check_error(
        """
        BAD_INPUT: window expects a window, got '1 hour'
          at test_windows.py:*: lambda: charges.window("1 hour"),  # type: ignore[arg-type]
          hint: write .window(hr.tumble("ts", "10 seconds")), or use hr.hop, hr.cumulate or hr.sessions
          more: headrace error BAD_INPUT
        """,
        lambda: charges.window("1 hour"),  # type: ignore[arg-type]
    )
    check_error(
        """
        BAD_DURATION: the size cannot be '0 seconds'
          at test_windows.py:*: lambda: hr.tumble("ts", "0 seconds"),
          hint: a window lasts at least a millisecond
          more: headrace error BAD_DURATION
        """,
        lambda: hr.tumble("ts", "0 seconds"),
    )
    check_error(
        """
        BAD_DURATION: the step cannot be '2 hours': rows between windows of 1 hour would be in none
          at test_windows.py:*: lambda: hr.hop("ts", "1 hour", "2 hours"),
          hint: use a step of at most the size
          more: headrace error BAD_DURATION
        """,
        lambda: hr.hop("ts", "1 hour", "2 hours"),
    )
    check_error(
        """
        BAD_DURATION: the size cannot be '1 hour': it is not a multiple of the step, 25 minutes
          at test_windows.py:*: lambda: hr.cumulate("ts", "1 hour", "25 minutes"),
          hint: use a multiple of the step
          more: headrace error BAD_DURATION
        """,
        lambda: hr.cumulate("ts", "1 hour", "25 minutes"),
    )
    check_error(
        """
        BAD_INPUT: window: `emit` cannot be 'never'
          at test_windows.py:*: lambda: charges.window(hr.tumble("ts", "1 hour"), emit="never"),
          hint: it is "changes" or "close"
          more: headrace error BAD_INPUT
        """,
        lambda: charges.window(hr.tumble("ts", "1 hour"), emit="never"),
    )
    check_error(
        """
        BAD_INPUT: window: early='1 minute' has no meaning with emit='changes', which sends each change at once
          at test_windows.py:*: lambda: charges.window(hr.tumble("ts", "1 hour"), early="1 minute"),
          hint: leave early out, or hold changes back: emit="close", early="1 minute"
          more: headrace error BAD_INPUT
        """,
        lambda: charges.window(hr.tumble("ts", "1 hour"), early="1 minute"),
    )
    check_error(
        """
        BAD_DURATION: early cannot be '0 seconds'
          at test_windows.py:*: lambda: charges.window(hr.tumble("ts", "1 hour"), emit="close", early="0 seconds"),
          hint: use at least a millisecond; for each change at once, emit="changes"
          more: headrace error BAD_DURATION
        """,
        lambda: charges.window(hr.tumble("ts", "1 hour"), emit="close", early="0 seconds"),
    )
    check_error(
        """
        DUPLICATE_COLUMN: the result of window would have two columns `window_start`
          at test_windows.py:*: lambda: hours.window(hr.tumble("ts", "1 hour")),
          hint: give one of them another name
          more: headrace error DUPLICATE_COLUMN
        """,
        lambda: hours.window(hr.tumble("ts", "1 hour")),
    )


def test_one_row_for_each_key_of_what() -> None:
    check_error(
        """
        BAD_ORDER: plain has no event time to tell its last row
          at test_windows.py:*: lambda: plain.dedupe(on="card", keep="last"),
          hint: give an order: .dedupe(on="card", keep="last", by="version")
          more: headrace error BAD_ORDER
        """,
        lambda: plain.dedupe(on="card", keep="last"),
    )
    check_error(
        """
        NO_WATERMARK: dedupe: within needs event time, and plain has none
          at test_windows.py:*: lambda: plain.dedupe(on="card", within="1 hour"),
          hint: give the source a watermark: .watermark("ts", "5 minutes")
          more: headrace error NO_WATERMARK
        """,
        lambda: plain.dedupe(on="card", within="1 hour"),
    )
    check_error(
        """
        BAD_INPUT: dedupe: within requires keep='first' and no by
          at test_windows.py:*: lambda: charges.dedupe(on="card", keep="last", within="1 hour"),
          hint: leave within out, or take the first row by event time
          more: headrace error BAD_INPUT
        """,
        lambda: charges.dedupe(on="card", keep="last", within="1 hour"),
    )
    assert kind_of(charges.dedupe(on="card", within="1 hour")._node) == "append"


@pytest.mark.parametrize(
    ("query", "text", "emit"),
    [
        ("SELECT 1", "SELECT 1", None),
        ("SELECT a FROM t EMIT ON WINDOW CLOSE;", "SELECT a FROM t                     ;", Emit()),
        ("SELECT 'TUMBLE(TABLE t' -- EMIT ON WINDOW CLOSE", "SELECT 'TUMBLE(TABLE t' -- EMIT ON WINDOW CLOSE", None),
        ("SELECT * FROM hop(DATA => TABLE a, x => (1))", "SELECT * FROM hop(DATA =>       a, x => (1))", None),
        ("SELECT * FROM TABLE(cumulate(TABLE (a), 1)) b", "SELECT * FROM       cumulate(TABLE (a), 1)  b", None),
        ("SELECT tumble, `HOP` FROM emit", "SELECT tumble, `HOP` FROM emit", None),
        (f"SELECT 1 {DELAY.format('1')}", f"SELECT 1 {' ' * len(DELAY.format('1'))}", Emit("1 MINUTE")),
        (f"SELECT 1 {DELAY.format('1')}{AFTER};", f"SELECT 1 {' ' * len(DELAY.format('1') + AFTER)};", Emit("1 MINUTE")),
        ("SELECT 1 emit with delay interval '90 s' before watermark", f"SELECT 1 {' ' * 48}", Emit("90 s")),
        ("SELECT proctime() AS t, 'PROCTIME()', proctime FROM t", "SELECT now     () AS t, 'PROCTIME()', proctime FROM t", None),
        ("SELECT 1 EMIT WITH DELAY '1' BEFORE WATERMARK", "SELECT 1 EMIT WITH DELAY '1' BEFORE WATERMARK", None),
        ("SELECT * FROM session(TABLE a PARTITION BY k, 1)", "SELECT * FROM session(      a ,            k, 1)", None),
        (
            "SELECT * FROM SESSION(DATA => TABLE a PARTITION  BY (k, (l)), GAP => 1)",
            "SELECT * FROM SESSION(DATA =>       a ,              k, (l) , GAP => 1)",
            None,
        ),
        (
            "SELECT * FROM SESSION(TABLE (SELECT max(x) OVER (PARTITION BY y)) PARTITION BY (k) + 1)",
            "SELECT * FROM SESSION(TABLE (SELECT max(x) OVER (PARTITION BY y)) ,            (k) + 1)",
            None,
        ),
        ("SELECT * FROM TUMBLE(TABLE (a) PARTITION BY k, 1)", "SELECT * FROM TUMBLE(TABLE (a) PARTITION BY k, 1)", None),
    ],
)
def test_what_spark_does_not_read(query: str, text: str, emit: Emit | None) -> None:
    assert streaming(query) == (text, emit)
