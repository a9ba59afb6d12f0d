"""Who may write to a place: the rule that sinks share."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from headrace import ports
from headrace.errors import HeadraceError
from headrace.ports import Held, Holder, Mark, Ownership
from headrace.schema import parse_schema
from tests.unit.errors import check_error


def own(shared: bool = False, **changes: Any) -> Ownership:
    known = {"job": "job", "name": "best", "checkpoint": Path(), "checkpoint_id": "c", "term": 2, "session": cast(Any, None)}
    return Ownership(ports.SinkContext(schema=parse_schema("a int"), **{**known, **changes}), "the table best", shared=shared)


def code(ownership: Ownership, held: Held, epoch: int = 5, identity: str = "e5") -> Any:
    try:
        return ownership.admits(held, epoch, identity)
    except HeadraceError as error:
        return error.code


def test_a_start_takes_over_from_a_smaller_term_alone() -> None:
    ownership = own()
    ownership.claim(Held(Mark(4, "e4"), 1))
    assert ownership.last == Mark(4, "e4")
    check_error(
        """
        SINK_FENCED: best: start 3 of this job has taken over the table best from start 2
          hint: nothing more of this epoch was written; the process that took over continues with it
          more: headrace error SINK_FENCED
        """,
        lambda: own().claim(Held(Mark(4, "e4"), 3)),
    )


def test_the_sink_of_another_plan_is_named_without_a_hash() -> None:
    message = own().owned(Holder("other", "upserts-3e4becd6.jdbc", "old"), alone=True).message
    assert message == f"{own().place} was written by the sink upserts.jdbc of the job other, from another checkpoint or query"


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        (Held(Mark(4, "e4"), 2), True),
        (Held(Mark(5, "e5"), 2), False),
        (Held(Mark(5), 2), False),  # a version without identities wrote it
        (Held(Mark(4), 2), True),
        (Held(Mark(5, "other"), 2), "CHECKPOINT_BEHIND"),
        (Held(Mark(6, "e6"), 2), "CHECKPOINT_BEHIND"),
        (Held(Mark(3, "e3"), 2), "TABLE_REPLACED"),
        (Held(Mark(4, "other"), 2), "TABLE_REPLACED"),
        (Held(), "TABLE_REPLACED"),
        (Held(Mark(exists=False)), "TABLE_MISSING"),
        (Held(Mark(5, "e5"), 3), "SINK_FENCED"),
    ],
)
def test_an_epoch(held: Held, expected: Any) -> None:
    ownership = own()
    ownership.claim(Held(Mark(4, "e4"), 1))
    assert code(ownership, held) == expected


def test_epochs_one_after_the_other() -> None:
    ownership = own()
    ownership.claim(Held())
    for epoch in (0, 1, 4):
        before = Held(ownership.last, 2)
        assert ownership.admits(before, epoch, f"e{epoch}")
        ownership.wrote(epoch, f"e{epoch}")
    assert ownership.last == Mark(4, "e4")


def test_two_sinks_of_one_start() -> None:
    check_error(
        """
        FOLDER_OWNED: the sinks other and best both write to the table best
          hint: give each sink its own table; combine streams that have the same columns with union
          more: headrace error FOLDER_OWNED
        """,
        lambda: own().refuse_twice([Holder("job", "other", "c", term=2)]),
    )
    own().refuse_twice([Holder("job", "other", "c", term=1), Holder("job", "other", "d", term=2), Holder("job", "best", "c", term=2)])


MINE, EARLIER, FOREIGN = Holder("job", "best", "c"), Holder("job", "best", "old"), Holder("guest", "best", "g")


@pytest.mark.parametrize(
    ("holders", "shared", "fresh", "expected"),
    [
        ([], False, False, False),
        ([MINE], False, True, False),
        ([EARLIER], False, False, "TABLE_OWNED"),
        ([EARLIER], False, True, True),
        ([Holder("job", "best", "c", "other")], False, True, True),
        ([Holder("job", "best", "old", made=False)], False, True, "TABLE_OWNED"),
        ([FOREIGN], False, True, "TABLE_OWNED"),
        ([FOREIGN], True, False, False),
        ([FOREIGN, EARLIER], True, True, "TABLE_OWNED"),
    ],
)
def test_what_others_wrote(holders: list[Holder], shared: bool, fresh: bool, expected: Any) -> None:
    outcome: Any
    try:
        outcome = own(shared, fresh=fresh).empties(holders)
    except HeadraceError as error:
        outcome = error.code
    assert outcome == expected


def test_another_checkpoint() -> None:
    check_error(
        """
        TABLE_OWNED: the table best was written by the sink best of the job guest, from another checkpoint or query
          hint: write to another table, continue from the checkpoint that wrote it, or empty it by hand: fresh=True does not, because it is not only this job's
          more: headrace error TABLE_OWNED
        """,
        lambda: own().empties([FOREIGN]),
    )
