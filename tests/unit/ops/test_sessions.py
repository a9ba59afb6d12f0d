"""Sessions: what they are told, which columns close behind them, what explain says, and what is refused."""

from __future__ import annotations

import pytest

import headrace as hr
from headrace.ops import Sessions, closing, event_time, groups, kind_of
from headrace.ops.unclosed import require_closing
from headrace.optimize.narrow import narrow_inputs
from headrace.plan import Plan, facts
from tests.unit.errors import check_error

charges = hr.read.memory([], "card string, ts timestamp, amount int", name="charges").watermark("ts", "5 minutes")
plain = hr.read.memory([], "card string, ts timestamp, amount int", name="plain")
BY_CARD = hr.sessions("ts", "10 minutes", per="card")
visits = charges.window(BY_CARD)
closed = charges.window(BY_CARD, emit="close", lateness="1 minute")
hours = charges.window(hr.tumble("ts", "1 hour")).group_by("card", "window_end").agg(n="count(*)")


def closes(stream: hr.Stream) -> dict[str, tuple[str, int, str, bool]]:
    columns = closing([stream._node])[stream._node]
    return {name: (str(one.at), one.lateness_ms, one.emit, one.straight) for name, one in columns.items()}


def test_the_end_closes_and_not_the_start_nor_the_time_of_a_row() -> None:
    assert closes(visits) == {
        "window_end": ("{}", 0, "changes", False),
        "window_time": ("timestampadd(MILLISECOND, 1L, {})", 0, "changes", False),
    }
    assert {(lateness, emit) for _, lateness, emit, _ in closes(closed).values()} == {(60_000, "close")}
    assert closes(plain.window(BY_CARD)) == {}
    assert closes(charges.with_columns(at="ts + INTERVAL 1 HOUR").window(hr.sessions("at", "1 hour", per=()))) == {}
    assert event_time(visits._node) is None


def test_sessions_of_windows_close_when_no_window_can_come_that_touches_them() -> None:
    again = hours.rename({"window_end": "e"}).window(hr.sessions("e", "2 hours", per="card"))
    assert closes(again)["window_end"] == ("{}", 0, "changes", False)
    behind = charges.window(hr.tumble("ts", "1 hour")).select("card", at="window_time").window(hr.sessions("at", "2 hours", per="card"))
    assert closes(behind)["window_end"] == ("{}", 1, "changes", False)
    assert hours.rename({"window_end": "e"}).window(hr.sessions("e", "1 hour", per="card")).columns[-3:] == (
        "window_start",
        "window_end",
        "window_time",
    )


def test_groups_behind_them_are_not_judged_again() -> None:
    spent = closed.group_by("card", "window_start", "window_end").agg(spent="sum(amount)")
    group = groups([spent._node])[spent._node]
    assert ([number for number, _ in group.keys], group.judged, group.emit) == ([2], (False,), "close")


def test_whether_rows_are_taken_away() -> None:
    assert [kind_of(one._node) for one in (visits, closed)] == ["changes", "append"]


def test_only_what_is_read_is_kept_unless_it_has_to_be_known_whether_a_row_was_there() -> None:
    changing = hr.read.files(
        "in", format="json", schema="card string, ts timestamp, amount int, op string", name="changing", change_column="op"
    )
    for stream, kept in (
        (charges, ("card", "ts")),
        (plain, ("card", "ts")),
        (changing.watermark("ts", "5 minutes"), ("card", "ts", "amount")),
    ):
        counted = stream.window(BY_CARD).group_by("card", "window_end").agg(n="count(*)")
        plan = narrow_inputs(Plan.of("job", [counted.write.memory(name="out", mode="changes")._use()]))
        [sessions] = [node for node in plan.nodes.values() if isinstance(node, Sessions)]
        assert sessions.input.columns == kept


def fact_text(stream: hr.Stream, fact: str) -> str:
    plan = Plan.of("job", [stream.write.memory(name="out")._use()])
    return next(answer.text for name, answer in facts(plan, fact).items() if name.startswith("sessions"))


def test_explain_says_when_state_is_released() -> None:
    rows = "until then: the rows in the order of time, of each partition of card"
    late = "later rows are late, by the end of the last session, which is kept for 10 minutes more"
    assert fact_text(visits, "state") == f"released when the watermark passes the end of a session; {late}; {rows}"
    assert fact_text(closed, "state") == (f"released when the watermark passes the end of a session and 1 minute more; {late}; {rows}")
    assert fact_text(plain.window(hr.sessions("ts", "1 hour", per=())), "state") == (
        "grows with the rows, as a later row may join two sessions: the rows in the order of time"
    )
    assert (fact_text(visits, "rows"), fact_text(closed, "rows")) == (
        "insertions and retractions, all of a session when its bounds change",
        "insertions only, once, when their session closes",
    )
    assert closed._node.describe() == "spans from ts on per card, 10 minutes long, emit=close, lateness 1 minute"
    assert plain.window(hr.sessions("ts", "1 hour", per=()))._node.describe() == "spans from ts on, 1 hour long, emit=changes"


def test_an_output_for_late_rows_is_there_where_rows_are_judged() -> None:
    assert closed.output("late").columns == charges.columns
    again = hours.rename({"window_end": "e"}).window(hr.sessions("e", "2 hours", per="card"))
    check_error(
        """
        UNKNOWN_OUTPUT: sessions(aggregate(charges)) has no output `late`
          at test_sessions.py:*: lambda: again.output("late"),
          hint: it has: dead_letter
          more: headrace error UNKNOWN_OUTPUT
        """,
        lambda: again.output("late"),
    )


def test_sessions_need_per() -> None:
    check_error(
        """
        BAD_KEY: hr.sessions needs `per`: the columns that have sessions of their own
          at test_sessions.py:*: lambda: hr.sessions("ts", "10 minutes"),
          hint: name them, hr.sessions('ts', '10 minutes', per="card"); for sessions of the whole stream: per=()
          more: headrace error BAD_KEY
        """,
        lambda: hr.sessions("ts", "10 minutes"),
    )
    check_error(
        """
        BAD_DURATION: the gap cannot be '0 seconds'
          at test_sessions.py:*: lambda: hr.sessions("ts", "0 seconds", per="card"),
          hint: a window lasts at least a millisecond
          more: headrace error BAD_DURATION
        """,
        lambda: hr.sessions("ts", "0 seconds", per="card"),
    )
    check_error(
        """
        UNKNOWN_COLUMN: no column `crd` in charges
          at test_sessions.py:*: lambda: charges.window(hr.sessions("ts", "1 hour", per="crd")),
          hint: did you mean `card`? It has: card, ts, amount
          more: headrace error UNKNOWN_COLUMN
        """,
        lambda: charges.window(hr.sessions("ts", "1 hour", per="crd")),
    )


def test_rows_of_sessions_are_not_sent_early() -> None:
    check_error(
        """
        BAD_INPUT: window: sessions cannot be sent early
          at test_sessions.py:*: lambda: charges.window(BY_CARD, emit="close", early="1 minute"),
          hint: emit each change, emit="changes", or once, emit="close"
          more: headrace error BAD_INPUT
        """,
        lambda: charges.window(BY_CARD, emit="close", early="1 minute"),
    )


def test_what_is_sent_once_needs_a_watermark() -> None:
    once = plain.window(BY_CARD, emit="close").named("once")
    check_error(
        """
        NO_WATERMARK: once sends the rows of a session when it closes, but `ts` is not event time, so none ever does
          at test_sessions.py:*: once = plain.window(BY_CARD, emit="close").named("once")
          hint: give the source a watermark, .watermark("ts", "5 minutes"), or emit each change: emit="changes"
          more: headrace error NO_WATERMARK
        """,
        lambda: require_closing([once.write.memory(name="out")._use()]),
    )


@pytest.mark.parametrize(
    "stream",
    [
        closed,
        closed.group_by("card").agg(n="count(*)"),
        charges.window(hr.tumble("ts", "1 hour"), emit="close")
        .rename({"window_start": "s", "window_end": "e", "window_time": "t"})
        .window(hr.sessions("e", "2 hours", per="card"), emit="close"),
    ],
)
def test_rows_of_sessions_wait_by_themselves(stream: hr.Stream) -> None:
    require_closing([stream.write.memory(name="out")._use()])
