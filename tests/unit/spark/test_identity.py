"""Identity: what a checkpoint keeps, gives new numbers to, or refuses, case by case."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headrace.errors import HeadraceError
from headrace.spark.compile.identity import Identity, identify
from headrace.spark.compile.layout import Cell
from headrace.spark.compile.relocation import relocate
from headrace.spark.compile.shapes import InputShape, QueryShape, Shape
from tests.unit.errors import check_error

EVENT = InputShape("card string, amount int, ts timestamp", ("card", "card of charges"), ("ts of charges",))
ALERTS = Shape(
    "alerts",
    "program",
    1,
    "card string",
    "time",
    "event",
    {"event": EVENT},
    (Cell("n", "value", "int"), Cell("forget", "timer", "timestamp")),
)
COUNTS = replace(ALERTS, name="counts", order="arrival", clock="none")
SECOND = replace(ALERTS, name="second", level=2)
OUT = Shape("out", "sink")


def query(
    *shapes: Shape, name: str = "main", sources: tuple[str, ...] = ("charges",), levels: int | None = None, clock: str = "event"
) -> QueryShape:
    depth = max((shape.level for shape in shapes), default=0)
    return QueryShape(name, sources, depth if levels is None else levels, clock, shapes)


def first(*queries: QueryShape) -> Identity:
    return identify(Identity(), queries)[0]


def again(stored: Identity, *queries: QueryShape) -> Identity:
    """As after a restart: what was stored has been through JSON."""
    return identify(Identity.from_json(stored.to_json()), queries)[0]


def numbers(identity: Identity, name: str = "main") -> dict[str, int]:
    return {name: entry.op for name, entry in identity.query(name).live().items()}


def test_numbers_are_given_once() -> None:
    stored = first(query(ALERTS, OUT))
    assert numbers(stored) == {"alerts": 1, "out": 2}
    assert again(stored, query(ALERTS, OUT)) == again(again(stored, query(ALERTS, OUT)), query(ALERTS, OUT))
    assert numbers(again(stored, query(ALERTS, OUT))) == {"alerts": 1, "out": 2}


def test_operators_and_sinks_may_be_added_and_removed() -> None:
    stored = first(query(ALERTS, OUT))
    more = again(stored, query(COUNTS, ALERTS, Shape("other", "sink"), OUT))
    assert numbers(more) == {"alerts": 1, "out": 2, "counts": 3, "other": 4}
    fewer = again(more, query(ALERTS, OUT))
    assert numbers(fewer) == {"alerts": 1, "out": 2}


def test_a_number_is_never_used_again() -> None:
    both = first(query(ALERTS, COUNTS, OUT))
    without = again(both, query(ALERTS, OUT))
    back = again(without, query(ALERTS, COUNTS, OUT))
    assert numbers(both)["counts"] == 2
    assert numbers(back)["counts"] == 4
    assert [entry.op for entry in back.query("main").entries if entry.retired] == [2]
    assert (back.query("main").retired(1), back.query("main").retired(2)) == ([2], [])


def test_what_happens_behind_and_beside_programs_does_not_matter() -> None:
    stored = first(query(ALERTS, OUT))
    assert numbers(again(stored, query(ALERTS, Shape("new", "sink")))) == {"alerts": 1, "new": 3}


def test_rows_that_are_not_held_may_change() -> None:
    stored = first(query(COUNTS, OUT))
    wider = replace(COUNTS, inputs={"event": replace(EVENT, schema="card string, amount int, ts timestamp, shop string", time=())})
    assert numbers(again(stored, query(wider, OUT))) == {"counts": 1, "out": 2}


def test_a_query_of_its_own_may_come_and_go() -> None:
    stored = first(query(ALERTS, OUT))
    other = query(replace(ALERTS, name="prices"), Shape("p", "sink"), name="p", sources=("prices",))
    both = again(stored, query(ALERTS, OUT), other)
    assert numbers(both, "p") == {"prices": 3, "p": 4}
    alone = again(both, query(ALERTS, OUT))
    # its state and its offsets stand still together, so it can go on
    assert numbers(again(alone, query(ALERTS, OUT), other), "p") == {"prices": 3, "p": 4}


def test_the_folder_of_a_query_follows_its_operators() -> None:
    other = query(replace(ALERTS, name="prices"), Shape("p", "sink"), name="p", sources=("prices",))
    stored = first(query(ALERTS, OUT), other)
    # the other view comes first in the job now
    _, names = identify(stored, [replace(other, name="main"), query(ALERTS, OUT, name="out")])
    assert names == {"main": "p", "out": "main"}


def changed(**changes: object) -> QueryShape:
    return query(replace(ALERTS, **changes), OUT)  # type: ignore[arg-type]


def held(**changes: object) -> QueryShape:
    return changed(inputs={"event": replace(EVENT, **changes)})  # type: ignore[arg-type]


CURE = "fresh=True starts over with an empty checkpoint; to keep the state, keep the earlier version of this part"


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        (changed(key="card bigint"), "alerts is now keyed by card bigint instead of card string"),
        (changed(order="arrival"), 'alerts has order="arrival" instead of "time"'),
        (changed(clock="processing"), "alerts has timers of processing time"),
        (held(schema="card string, amount string, ts timestamp"), "alerts may hold rows of its input event, which had the columns "
         "card string, amount int, ts timestamp and now has card string, amount string, ts timestamp"),
        (held(key=("card", "card = upper(card)", "card of charges")), "the key of alerts is computed differently for its input event"),
        (held(key=("card", "card of refunds")), "alerts has state of rows of charges, and its input event is now refunds"),
        (held(time=("at of charges",)), "the input event of alerts takes its event time from elsewhere"),
        (changed(inputs={"event": EVENT, "other": EVENT}), "alerts has the new input other"),
        (changed(inputs={"other": EVENT}), "alerts no longer has the input event, whose rows it may hold"),
        (changed(cells=(Cell("n", "value", "string"),)), "in alerts, the cell n was int and is now string"),
        (changed(cells=(Cell("n", "timer", "timestamp"),)), "in alerts, the cell n was a value and is now a timer"),
        (query(ALERTS, OUT, sources=("charges", "cards")), "the source cards is new in query main"),
        (query(ALERTS, OUT, sources=()), "the source charges is gone in query main"),
        (query(ALERTS, SECOND, OUT), "query main had 1 level of operators with state and now has 2: second is new"),
        (query(OUT), "query main had 1 level of operators with state and now has none: alerts is gone"),
        (query(ALERTS, OUT, clock="none"), "query main had a watermark and now has neither a watermark nor timers"),
        (query(ALERTS, OUT, clock="processing"), "query main had a watermark and now has timers of processing time"),
    ],
)  # fmt: skip
def test_what_state_cannot_follow_is_refused(now: QueryShape, reason: str) -> None:
    stored = first(query(ALERTS, OUT))
    with pytest.raises(HeadraceError) as raised:
        again(stored, now)
    assert (raised.value.code, raised.value.also) == ("STATE_CHANGED", ())
    assert raised.value.message == f"{reason}, but the checkpoint holds state of the earlier version"
    # a cell of another type or kind can be computed from what was kept
    cell = "`was=` computes it from what was kept: " if "the cell n was" in reason else CURE
    assert raised.value.hint is not None and raised.value.hint.startswith(cell) and raised.value.hint.endswith(CURE)


KEYED = replace(
    ALERTS,
    key="card int, day date",
    inputs={"event": replace(EVENT, schema="card int, day date", key=("card", "day", "card of charges", "day of charges"))},
    cells=(Cell("n", "value", "int"), Cell("xs", "list", "int"), Cell("m", "map", "float", key="float")),
)


def rekeyed(key: str, texts: tuple[str, ...], schema: str = "card int, day date") -> QueryShape:
    return query(replace(KEYED, key=key, inputs={"event": replace(EVENT, schema=schema, key=texts)}), OUT)


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        (rekeyed("card bigint, day date", KEYED.inputs["event"].key, "card bigint, day date"),
         "alerts is now keyed by card bigint, day date instead of card int, day date"),
        (rekeyed("day date, card int", ("day", "card", "card of charges", "day of charges")),
         "alerts is now keyed by day date, card int instead of card int, day date"),
        (rekeyed("card_id int, day date", ("card_id", "day", "card of charges", "card_id = card", "day of charges"), "card_id int, day date"),
         "alerts is now keyed by card_id int, day date instead of card int, day date"),
        (query(replace(KEYED, cells=(Cell("xs", "list", "bigint"),)), OUT), "in alerts, the cell xs was a list of int and is now a list of bigint"),
        (query(replace(KEYED, cells=(Cell("m", "map", "double", key="float"),)), OUT),
         "in alerts, the cell m was a map of float by float and is now a map of double by float"),
        (rekeyed("card int, day date", KEYED.inputs["event"].key, "card int, day date, shop string"),
         "alerts may hold rows of its input event, which had the columns card int, day date and now has card int, day date, shop string"),
    ],
)  # fmt: skip
def test_what_a_deploy_can_follow(now: QueryShape, reason: str) -> None:
    stored = first(query(KEYED, OUT))
    with pytest.raises(HeadraceError) as raised:
        again(stored, now)
    assert raised.value.message == f"{reason}, but the checkpoint holds state of the earlier version"
    entry = relocate(stored, [now]).identity.query("main").live()["alerts"]
    # it goes on under its number, and all its layouts are known still
    assert (entry.op, entry.shape, entry.layouts[0]) == (1, now.shapes[0], stored.query("main").live()["alerts"].layouts[0])


@pytest.mark.parametrize(
    "now",
    [
        rekeyed("card string, day date", KEYED.inputs["event"].key, "card string, day date"),
        rekeyed("card int", ("card", "card of charges")),
        rekeyed("card int, day date", ("card", "day", "card = abs(card)", "card of charges", "day of charges")),
        # whether it is another column or the same by another name cannot be told
        rekeyed("card int, day date", KEYED.inputs["event"].key, "card int, date date"),
        rekeyed("card_id int, day date", ("card_id", "day", "card_id of charges", "day of charges"), "card_id int, day date"),
        # each of the two names has been the other's on the way
        rekeyed("card int, day date", ("card", "day", "card = day", "card of charges", "day = card", "day of charges")),
        query(replace(KEYED, cells=(Cell("m", "map", "float", key="double"),)), OUT),
        query(replace(KEYED, cells=(Cell("xs", "list", "string"),)), OUT),
    ],
)
def test_what_no_deploy_can_follow(now: QueryShape) -> None:
    stored = first(query(KEYED, OUT))
    relocation = relocate(stored, [now])
    error = relocation.errors["alerts"]
    assert (error.code, error.hint is not None and error.hint.endswith(CURE)) == ("STATE_CHANGED", True)
    # it is another operator, which never gets the state of the one before
    assert relocation.identity.query("main").live()["alerts"].op >= stored.next


def test_a_query_without_state_may_change_its_clock() -> None:
    stored = first(query(OUT, clock="none"))
    assert again(stored, query(OUT)).query("main").clock == "event"


def test_an_operator_that_moved_is_refused() -> None:
    stored = first(query(ALERTS, SECOND, OUT))
    with pytest.raises(HeadraceError, match="second moved from level 2 to level 1"):
        again(stored, query(ALERTS, replace(SECOND, level=1), replace(SECOND, name="third"), OUT))


def test_queries_that_meet_or_part_are_refused() -> None:
    other = query(replace(ALERTS, name="prices"), name="p", sources=("prices",))
    both = query(ALERTS, replace(ALERTS, name="prices"), sources=("charges", "prices"))
    with pytest.raises(HeadraceError, match="the queries main and p were merged"):
        again(first(query(ALERTS), other), both)
    with pytest.raises(HeadraceError, match="the query main was split in two"):
        again(first(both), query(ALERTS), other)


DEAD = Shape("#dead_letters", "sink")
KEPT = Shape("kept", "sink")


def test_a_stateless_query_whose_source_was_renamed_is_refused() -> None:
    stored = first(query(OUT, DEAD))
    check_error(
        """
        STATE_CHANGED: the source charges is gone and the source payments is new in query main, but the checkpoint holds state of the earlier version
          hint: fresh=True starts over with an empty checkpoint; to keep the state, keep the earlier version of this part
          more: headrace error STATE_CHANGED
        """,
        lambda: again(stored, query(OUT, DEAD, sources=("payments",))),
    )


def test_a_sink_that_another_query_wrote_is_refused() -> None:
    prices = query(Shape("p", "sink"), DEAD, name="p", sources=("prices",))
    stored = first(query(OUT, KEPT, DEAD), prices)
    moved = query(Shape("p", "sink"), OUT, DEAD, name="p", sources=("prices",))
    check_error(
        """
        STATE_CHANGED: the sink out was written by query main and would now be written by query p, but the checkpoint holds state of the earlier version
          hint: fresh=True starts over with an empty checkpoint; to keep the state, keep the earlier version of this part
          more: headrace error STATE_CHANGED
        """,
        lambda: again(stored, query(KEPT, DEAD), moved),
    )
    # what it wrote then is there still, however long it was away
    without = again(stored, query(KEPT, DEAD), prices)
    with pytest.raises(HeadraceError, match="the sink out was written by query main"):
        again(without, query(KEPT, DEAD), moved)
    assert numbers(again(without, query(OUT, KEPT, DEAD), prices))["out"] == 6


def test_dead_letters_are_no_sink_that_two_queries_share() -> None:
    # by two clocks, the same source is read by two queries
    timers = replace(ALERTS, name="timers", clock="processing", order="arrival")
    stored = first(query(ALERTS, OUT, DEAD), query(timers, KEPT, DEAD, name="kept"))
    _, names = identify(stored, [query(replace(timers, name="others"), KEPT, DEAD)])
    assert names == {"main": "kept"}


def test_all_reasons_are_given_at_once() -> None:
    stored = first(query(ALERTS, COUNTS, OUT))
    check_error(
        """
        STATE_CHANGED: alerts is now keyed by shop string instead of card string, but the checkpoint holds state of the earlier version
          hint: fresh=True starts over with an empty checkpoint; to keep the state, keep the earlier version of this part
          more: headrace error STATE_CHANGED

        STATE_CHANGED: counts has order="time" instead of "arrival", but the checkpoint holds state of the earlier version
          hint: fresh=True starts over with an empty checkpoint; to keep the state, keep the earlier version of this part
          more: headrace error STATE_CHANGED
        """,
        lambda: again(stored, query(replace(ALERTS, key="shop string"), replace(COUNTS, order="time"), OUT)),
    )


def test_cells_come_go_widen_and_are_renamed() -> None:
    stored = first(query(ALERTS, OUT))
    cells = (Cell("forget", "timer", "timestamp"), Cell("total", "value", "bigint", was="n"), Cell("last", "value", "timestamp"))
    entry = again(stored, query(replace(ALERTS, cells=cells), OUT)).query("main").live()["alerts"]
    assert [layout.number for layout in entry.layouts] == [1, 2]
    assert [(cell.id, cell.name, cell.type) for cell in entry.layouts[1].cells] == [
        (2, "forget", "timestamp"),
        (1, "total", "bigint"),
        (3, "last", "timestamp"),
    ]


def test_the_refusal_names_the_operator_whose_rows_a_program_reads() -> None:
    """What stands in front of an operator without a name is a part of what it computes: it has another name then."""
    old, new = (held(key=("card", f"card of sums-{number}")) for number in ("1a2b3c4d", "5e6f7a8b"))
    message = "alerts has state of rows of sums, which computes something different, but the checkpoint holds state of"
    with pytest.raises(HeadraceError, match=message):
        again(first(old), new)


def test_state_cannot_begin_late() -> None:
    with pytest.raises(HeadraceError) as raised:
        again(first(query(OUT)), query(ALERTS, OUT))
    assert raised.value.message == "query main kept no state and now has operators with state: alerts is new"
    assert raised.value.hint == CURE


def test_another_content_under_the_same_name_is_refused() -> None:
    spent = Shape("spent", "aggregate", 1, "card string", inputs={"input": InputShape("card string, amount int", (), ())}, content="sum")
    stored = first(query(spent, OUT, clock="none"))
    assert numbers(again(stored, query(spent, OUT, clock="none"))) == numbers(stored)
    check_error(
        """
        STATE_CHANGED: spent computes something different, but the checkpoint holds state of the earlier version
          hint: fresh=True starts over with an empty checkpoint; to keep the state, keep the earlier version of this part
          more: headrace error STATE_CHANGED
        """,
        lambda: again(stored, query(replace(spent, content="max"), OUT, clock="none")),
    )
