"""Joins that tell of rows without partners when none can come any more, where one always can: Spark reads their conditions."""

from __future__ import annotations

import pytest

import headrace as hr
from headrace.ops.unclosed import require_closing
from tests.unit.errors import check_error

pytestmark = pytest.mark.usefixtures("spark")

charges = hr.read.memory([], "card string, ts timestamp, amount int", name="charges").watermark("ts", "5 minutes")


def checked(stream: hr.Stream) -> None:
    require_closing([stream.write.memory(name="out")._use()])


refunds = hr.read.memory([], "number string, at timestamp, sum int", name="refunds")
timed = refunds.watermark("at", "5 minutes")


def test_unmatched_rows_that_are_never_known_to_be_unmatched() -> None:
    check_error(
        """
        NEVER_CLOSES: near sends an unmatched left row when no match can come any more, but its condition does not limit when one can
          at test_unclosed.py:*: return charges.join(timed, on=on, how=how, emit="close").named("near")
          hint: bound the times of both sides, `ts BETWEEN opened AND opened + INTERVAL 1 HOUR`, or emit each change: emit="changes"
          more: headrace error NEVER_CLOSES
        """,
        lambda: checked(together("card = number AND ts <= at", "left")),
    )
    check_error(
        """
        NEVER_CLOSES: near sends an unmatched right row when no match can come any more, but its condition does not limit when one can
          at test_unclosed.py:*: return charges.join(timed, on=on, how=how, emit="close").named("near")
          hint: bound the times of both sides, `ts BETWEEN opened AND opened + INTERVAL 1 HOUR`, or emit each change: emit="changes"
          more: headrace error NEVER_CLOSES
        """,
        lambda: checked(together("card = number AND ts >= at", "full")),
    )


def together(on: str, how: str) -> hr.Stream:
    return charges.join(timed, on=on, how=how, emit="close").named("near")


def test_rows_without_partners_where_time_is_missing() -> None:
    check_error(
        """
        NO_WATERMARK: near sends an unmatched left row when no match can come any more, but `at` of refunds is not event time, so one always can
          at test_unclosed.py:*: return charges.join(refunds, on="card = number AND ts BETWEEN at AND at + INTERVAL 1 HOUR", how="anti", emit="close").named("near")
          hint: give the source a watermark, .watermark("at", "5 minutes"), or emit each change: emit="changes"
          more: headrace error NO_WATERMARK
        """,
        lambda: checked(apart()),
    )


def apart() -> hr.Stream:
    return charges.join(refunds, on="card = number AND ts BETWEEN at AND at + INTERVAL 1 HOUR", how="anti", emit="close").named("near")


@pytest.mark.parametrize(
    "stream",
    [
        together("card = number AND ts >= at", "left"),
        together("card = number AND ts = at", "full"),
        together("card = number", "inner"),
        together("card = number AND ts <= at", "semi"),
    ],
)
def test_joins_that_tell_of_all_rows(stream: hr.Stream) -> None:
    checked(stream)


def test_a_query_without_anything_that_closes() -> None:
    check_error(
        """
        NEVER_CLOSES: EMIT ON WINDOW CLOSE needs a query with windows or an interval join
          at test_unclosed.py:*: lambda: hr.sql("SELECT card FROM charges EMIT ON WINDOW CLOSE", charges=charges),
          hint: add one to this query, or set it where it is defined: .window(..., emit="close") or .join(..., emit="close")
          more: headrace error NEVER_CLOSES
        """,
        lambda: hr.sql("SELECT card FROM charges EMIT ON WINDOW CLOSE", charges=charges),
    )
