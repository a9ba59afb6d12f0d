"""Which columns close, where that is for Spark to read: the texts are more than names. tests/unit/ops/test_windows.py has the others."""

from __future__ import annotations

import pytest

import headrace as hr
from headrace.analysis.clocks import clocks
from headrace.ops import closing, groups, kind_of
from headrace.plan import Plan

pytestmark = pytest.mark.usefixtures("spark")

charges = hr.read.memory([], "card string, ts timestamp, amount int", name="charges").watermark("ts", "5 minutes")
plain = hr.read.memory([], "card string, ts timestamp, amount int", name="plain")
hours = charges.window(hr.tumble("ts", "1 hour"))
closed = charges.window(hr.tumble("ts", "1 hour"), emit="close", lateness="1 minute")
visits = charges.window(hr.sessions("ts", "10 minutes", per="card"))
spent = hours.group_by("card", "window_end").agg(spent="sum(amount)")
once = closed.group_by("card", "window_end").agg(spent="sum(amount)")
windowed = hours.select(w="named_struct('start', window_start, 'end', window_end)", of="window_end")
NEXT = "timestampadd(MICROSECOND, 1L, {})"
LATER = "timestampadd(MICROSECOND, 3600000000L, {})"


def closes(stream: hr.Stream) -> dict[str, str]:
    return {name: str(one.at) for name, one in closing([stream._node])[stream._node].items()}


CLOSING = {
    "a full join": (spent.join(once.rename({"spent": "s"}), on=["card", "window_end"], how="full"), {"window_end": "{}"}),
    "the time of epochs": (plain.with_columns(at="current_timestamp()", seen="NOW( )"), {"at": NEXT, "seen": NEXT}),
    "windows of the time of epochs": (
        plain.with_columns(at=hr.f.now()).window(hr.tumble("at", "1 hour")).select("window_start", "window_end"),
        {"window_start": LATER, "window_end": "{}"},
    ),
    "a struct": (hours.select(w="named_struct('start', window_start, 'end', window_end)"), {"w": "{}.`end`"}),
    "a group of Spark's own": (
        hours.select(window="named_struct('start', window_start, 'end', window_end)")
        .group_by(hr.expr("window").alias("window"))
        .agg(n="1"),
        {"window": "{}.`end`"},
    ),
    "its end": (
        hours.select(w="named_struct('start', window_start, 'end', window_end)").select(e="`w`.`end`", s="w.start"),
        {"e": "{}", "s": LATER},
    ),
    "its time": (
        hours.select(w="named_struct('start', window_start, 'end', window_end)").select(t="timestamp_micros(unix_micros(w.`end`) - 1L)"),
        {"t": "timestampadd(MICROSECOND, 1L, {})"},
    ),
    "a struct of a session": (
        visits.select("card", w="named_struct('start', window_start, 'end', window_end)").select("w", s="w.start", e="w.`end`"),
        {"w": "{}.`end`", "e": "{}"},
    ),
}


@pytest.mark.parametrize("name", CLOSING)
def test_which_columns_close(name: str) -> None:
    stream, expected = CLOSING[name]
    assert closes(stream) == expected


SPELLINGS = {
    "the current time": (
        plain,
        NEXT,
        ("current_timestamp()", "current_timestamp", "CURRENT_TIMESTAMP ( )", "(now())", "Now /* now */ ( )", "now() -- now"),
    ),
    "a column": (
        hours,
        "{}",
        ("window_end", "`window_end`", " Window_End ", "(window_end)", "window_end -- the end", "/* the */ window_end"),
    ),
    "the end": (windowed, "{}", ("w.end", "w.`end`", "( w.end )", "W.END", "w . end", "w /* its */ . `END`", "w['end']", "(w).end")),
    "the start": (windowed, LATER, ("w.start", "`w`.`start`", "W.Start", "(w.start)", "w /**/ .start")),
    "a struct": (
        hours,
        "{}.`end`",
        (
            "named_struct('start', window_start, 'end', window_end)",
            "NAMED_STRUCT( 'start',window_start, 'end' , `window_end` )",
            'named_struct("start", (window_start), "end", window_end)',
            "struct(window_start AS start, window_end AS `end`)",
        ),
    ),
    "a field of a struct": (
        hours,
        "{}",
        ("named_struct('start', window_start, 'end', window_end).end", "( named_struct('start', window_start, 'end', window_end) ).`END`"),
    ),
    "the last moment": (
        windowed,
        NEXT,
        (
            "timestamp_micros(unix_micros(w.end) - 1L)",
            "TIMESTAMP_MICROS( unix_micros( w.`end` )-1 )",
            "timestamp_micros((unix_micros(of) - 1L))",
            "window_time(w)",
        ),
    ),
    "one of two": (windowed, "{}", ("coalesce(of, of)", "COALESCE( `of`, (w.end) )", "coalesce(of, /* or */ of)")),
}
"""Of each fact some texts that say it, over the columns of a stream."""


@pytest.mark.parametrize("name", SPELLINGS)
def test_how_a_text_is_spelt_makes_no_difference(name: str) -> None:
    stream, at, texts = SPELLINGS[name]
    named = {f"c{number}": text for number, text in enumerate(texts)}
    assert closes(stream.select(**named)) == dict.fromkeys(named, at)


SILENT = (
    "`current_timestamp`",
    "(`current_timestamp`)",
    "now",
    "localtimestamp()",
    "window_end + INTERVAL 1 HOUR",
    "coalesce(of, now())",
    "window_end.end",
    "w.until",
    "named_struct('end', of, 'start', ts)",
    "named_struct('start', of, 'end', w)",
    "timestamp_micros(unix_micros(of) - 2)",
    "least(of, of)",
)


def test_texts_that_close_nothing() -> None:
    every = hours.with_columns(
        w="named_struct('start', window_start, 'end', window_end)", of="window_end", now="card", current_timestamp="card"
    )
    named = {f"c{number}": text for number, text in enumerate(SILENT)}
    assert closes(every.select(**named)) == {}


def test_the_start_of_a_struct_closes_as_its_end_does_or_not_at_all() -> None:
    mixed = hours.select(w="named_struct('start', current_timestamp(), 'end', window_end)")
    assert closes(mixed.select(s="w.start", e="w.end")) == {"e": "{}"}


def test_which_columns_close_decides_the_kind() -> None:
    windows = closed.select("card", w="named_struct('start', window_start, 'end', window_end)")
    for text in ("w.end", "( W . `end` )"):
        assert kind_of(windows.group_by("card", hr.expr(text).alias("until")).agg(n="count(*)")._node) == "append"


def test_which_clock_a_group_closes_by() -> None:
    timed = charges.with_columns(at="current_timestamp()").window(hr.tumble("at", "1 hour"), emit="close")
    by_clock = timed.group_by("window_end").agg(n="count(*)")
    group = groups([by_clock._node])[by_clock._node]
    assert (group.clocks, group.judged, group.final) == ({"processing"}, (False,), True)
    met = by_clock.join(once.select(e="window_end"), on="window_end = e")._node
    assert met not in groups([met]), "one side goes by another clock"


def test_windows_of_the_time_of_epochs_close_with_their_input() -> None:
    now = plain.with_columns(at="current_timestamp()")
    stream = now.window(hr.tumble("at", "1 hour")).group_by("window_end").agg(n="count(*)")
    [clock] = clocks(Plan.of("job", [stream.write.memory()._use()])).values()
    assert (clock.name, clock.final) == ("processing", True)
