"""What explain says of each operator, against what its state has and what comes out of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import pytest

from headrace.ops import closing, event_time, kind_of
from headrace.ops.facts.keys import known_keys
from headrace.ops.facts.state import BOUNDED, ENTRIES, GROUPS, GROWS, KEYS, RELEASED
from headrace.ops.operator import operator
from headrace.ops.relational import Relational
from headrace.plan import order
from headrace.plan.node import REGISTRY, Role
from tests.spark.facts.inputs import LATE, MORE, PASSED, SAME, START
from tests.spark.facts.run import HELD, Ran

WATERMARKS = [datetime(2026, 1, day, hour, minute, tzinfo=UTC) for day, hour, minute in ((1, 0, 1), (1, 0, 11), (1, 0, 21), (2, 23, 59))]
"""After each epoch: a minute behind the other rows, which are the last ones to bring time on."""

NOTHING, LATER, ANEW, ONCE = "keeps nothing", "are late", "starts it over", ", once, when their group closes"


def test_every_operator_has_a_case(runs: list[Ran]) -> None:
    covered = {op for ran in runs for op in ran.ops.values()}
    # every sink has a case in front of it
    assert set(REGISTRY) - covered == {op for op, cls in REGISTRY.items() if cls.role is Role.SINK}


def test_every_row_of_the_stores_is_known_to_the_layout_of_its_operator(runs: list[Ran]) -> None:
    for ran in runs:
        for state in ran.states:
            assert {name: (kept.stored, kept.known) for name, kept in state.items() if kept.stored != kept.known} == {}
            assert "" not in state or state[""].stored == 0
        # and every operator with state has had some that its tables show
        shown = {op for case, op in ran.ops.items() if ran.owners[case] in ran.operators and any(kept.rows for kept in ran.state(case))}
        assert shown == {op for case, op in ran.ops.items() if ran.owners[case] in ran.operators} - {"consolidate"}


def test_the_bags_of_wrappers_are_known(runs: list[Ran]) -> None:
    _, ran = runs
    bags = {case: {bag for kept in ran.state(case) for bag in kept.pages} for case in ran.stateful()}
    first, second, third, fourth = (str((1 << 20) + n) for n in range(4))
    # rows that wait to be added, and to be taken away, and when they have to go
    assert bags["places in windows, once"] == {first}
    assert bags["windows of groups, early"] == {first, second, third}
    # the rows of a side that has retractions
    assert bags["groups that expire, changing"] == {third}
    assert bags["join that expires, changing"] == {fourth}


@pytest.mark.full
def test_every_page_of_a_large_bag_is_known_and_read(again: Ran) -> None:
    [state] = again.states
    assert {name: (kept.stored, kept.known) for name, kept in state.items() if kept.stored != kept.known} == {}
    bags: dict[str, set[str]] = {}
    for case in again.stateful():
        kept = state[again.owners[case]]
        bags.setdefault(again.ops[case], set()).update(kept.pages)
        # the many rows are in a table, or those of them that tie
        assert sum(kept.tables.values()) >= 100 or not {"0", "1"} & set(kept.pages), case
    sides = {"0", "1"}
    assert {op: bags[op] & sides for op in bags if bags[op] & sides} == {
        "aggregate": {"0"},
        "join": sides,
        "join_asof": sides,
        "partition": {"0"},
        "top": {"0"},
        "sessions": sides,
        "program": sides,
    }


def test_state_grows_and_ends_as_its_fact_says(runs: list[Ran]) -> None:
    wrong = [problem for ran in runs for case in ran.stateful() for problem in _growth(ran, case)]
    assert not wrong, "\n".join(wrong)


def _growth(ran: Ran, case: str) -> Iterable[str]:
    fact = ran.facts["state"][ran.owners[case]]
    rows = [kept.rows for kept in ran.state(case)]
    if NOTHING in fact.text:
        holds = fact.value == BOUNDED and all(kept.stored == 0 for kept in ran.state(case))
    elif fact.value == BOUNDED:
        holds = rows[START] == rows[SAME] == rows[MORE] > 0
    elif fact.value in (GROUPS, KEYS):
        # rows of the same groups make no more of them, twice as many groups do
        holds = rows[SAME] <= rows[START] and rows[MORE] > rows[SAME] and (rows[SAME] < rows[START] or rows[MORE] == 2 * rows[SAME])
    elif fact.value in (GROWS, ENTRIES):
        # what is put into an aggregate is no row
        sizes = rows if fact.value == GROWS else [kept.bytes for kept in ran.state(case)]
        holds = sizes[START] < sizes[SAME] < sizes[MORE]
    else:
        # late rows are not kept, and those of a group that begins anew are what is kept of it
        after = ran.state(case)[LATE]
        holds = (
            fact.value == RELEASED
            and ran.state(case)[MORE].stored > 0 == ran.state(case)[PASSED].stored
            and (after.stored > 0) == (ANEW in fact.text)
        )
    if ran.last[case] is not None:
        holds = rows[PASSED] == ran.last[case] and "released" in fact.text
    elif fact.value not in (RELEASED, BOUNDED) and "released" not in fact.text:
        holds = holds and rows[PASSED] >= rows[MORE]
    if not holds:
        yield f"{case}: {rows} is not: {fact.text}"


def test_without_keys_right_rows_are_kept_in_every_partition(runs: list[Ran]) -> None:
    _, ran = runs
    assert "each right row is kept in every partition" in ran.facts["state"][ran.owners["join without keys"]].text
    tables = [kept.tables for kept in ran.state("join without keys")]
    assert [(one["left"], one["right"]) for one in tables] == [(8, 2 * 2), (16, 2 * 6), (24, 2 * 10), (24, 2 * 10), (25, 2 * 11)]


def test_when_a_session_closed_is_kept_for_a_gap(runs: list[Ran]) -> None:
    _, ran = runs
    assert "by the end of the last session, which is kept for 1 day more" in ran.facts["state"][ran.owners["sessions, wide"]].text
    kept = ran.state("sessions, wide")[PASSED]
    assert (kept.rows, kept.stored) == (0, 4)


def test_rows_are_retracted_where_a_fact_says_so_and_nowhere_else(runs: list[Ran]) -> None:
    for ran in runs:
        taken = {case for case, epochs in ran.outs.items() if any(weight < 0 for changes in epochs for _, weight in changes)}
        changing = {case for case, end in ran.ends.items() if kind_of(end) == "changes"}
        assert taken == changing - ran.monotone


def test_rows_that_are_sent_once_are_sent_when_time_has_passed(runs: list[Ran]) -> None:
    early = [
        case
        for ran in runs
        for case in ran.stateful()
        if case in ran.whole
        and (fact := ran.facts["rows"].get(ran.owners[case])) is not None
        and ONCE in fact.text
        and any(ran.outs[case][:PASSED])
    ]
    assert early == []


def test_rows_are_late_where_a_fact_says_so_and_nowhere_else(runs: list[Ran]) -> None:
    for ran in runs:
        queries = {name for name, node in ran.operators.items() if isinstance(node, Relational)}
        expected = {name for name in queries if LATER in ran.facts["state"][name].text}
        assert {name for name in queries if ran.late[name]} == expected


def test_what_is_held_is_what_the_watermark_has_not_passed(runs: list[Ran]) -> None:
    _, ran = runs
    for case in ran.stateful():
        fact = ran.facts["order"].get(ran.owners[case])
        held = [sum(rows for table, rows in kept.tables.items() if table == f"{HELD}event") for kept in ran.state(case)]
        if fact is not None and fact.value["order"] == "time":
            assert (fact.value["delay_ms"], held) == (60_000, [6, 4, 4, 0, 0]), case
        else:
            assert held == [0] * 5, case


def test_nothing_comes_behind_the_close_of_its_column(runs: list[Ran]) -> None:
    _, ran = runs
    closings = closing(ran.ends.values())
    wrong, covered = [], set()
    for case, end in ran.ends.items():
        for name, closes in closings[end].items():
            # of rows that come straight from a source some may be late
            if closes.straight:
                continue
            covered.add(ran.ops[case])
            at = [column.lower() for column in end.columns].index(name)
            for epoch in (SAME, MORE, PASSED, LATE):
                values = [row[at] for row, _ in ran.outs[case][epoch] if row[at] is not None]
                ends = [value[-1] if closes.at.field else value for value in values]
                more = timedelta(microseconds=closes.at.later_us, milliseconds=closes.lateness_ms)
                wrong += [f"{case}, epoch {epoch}: {name} {end}" for end in ends if end + more <= WATERMARKS[epoch - 1]]
    assert wrong == []
    assert covered >= {"aggregate", "join", "partition", "top", "sessions", "program"}


def test_event_time_is_ahead_of_the_watermark_behind_operators(runs: list[Ran]) -> None:
    _, ran = runs
    wrong, covered = [], set()
    for case in ran.stateful():
        end = ran.ends[case]
        order = ran.facts["order"].get(ran.owners[case])
        time = event_time(end)
        if time is not None and (order is None or order.value["order"] == "time"):
            covered.add(ran.ops[case])
            at = end.columns.index(time)
            rows = [(epoch, row[at]) for epoch in (SAME, MORE, PASSED, LATE) for row, _ in ran.outs[case][epoch]]
            wrong += [f"{case}, epoch {epoch}: {moment}" for epoch, moment in rows if moment <= WATERMARKS[epoch - 1]]
    assert wrong == []
    assert covered == {"join_asof", "program"}


def test_keys_are_unique(runs: list[Ran]) -> None:
    twice = []
    for ran in runs:
        for case, end in ran.ends.items():
            columns = [name.lower() for name in end.columns]
            for key in known_keys(end):
                for epoch in (START, SAME, MORE, PASSED, LATE):
                    times: Counter[tuple[object, ...]] = Counter()
                    for row, n in ran.there(case, epoch).items():
                        times[tuple(row[columns.index(name)] for name in sorted(key))] += n
                    # of a group that was forgotten and begins anew there are two rows
                    if any(n > 1 for n in times.values()) and not (epoch == LATE and ran.forgets(case)):
                        twice.append(f"{case}, epoch {epoch}: {sorted(key)}")
    assert twice == []


def test_the_order_of_arrival_matters_where_a_fact_says_so_and_nowhere_else(runs: list[Ran], again: Ran) -> None:
    _, ran = runs
    other = {case for case in ran.ends for epoch in range(5) if ran.there(case, epoch) != again.there(case, epoch)}
    with_caveat = {case for case in ran.ends if any(operator(node).caveat is not None for node in order([ran.ends[case]]))}
    assert other - with_caveat == set()
    assert "last rows" in other


def test_operators_without_state_have_no_place_in_a_level(runs: list[Ran]) -> None:
    for ran in runs:
        stateless = {str(node.name) for end in ran.ends.values() for node in order([end]) if operator(node).role is not Role.STATEFUL}
        assert stateless.isdisjoint(ran.states[-1]) and stateless.isdisjoint(ran.facts["state"])


@pytest.mark.parametrize("cls", [cls for cls in REGISTRY.values() if cls.role is Role.STATEFUL])
def test_each_operator_with_state_has_a_case_of_its_own(cls: type, runs: list[Ran]) -> None:
    """Each has a case in which its state has a fact of its own."""
    assert any(op == cls.op and ran.owners[case] in ran.facts["state"] for ran in runs for case, op in ran.ops.items())  # type: ignore[attr-defined]
