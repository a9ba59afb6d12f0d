"""Streams that cannot be read one after the other."""

from __future__ import annotations

import headrace as hr
from tests.unit.errors import check_error

SCHEMA = "id int, ts timestamp"


def stream(name: str, delay: str = "1 hour", *, follow: bool = False) -> hr.Stream:
    return hr.read.files(f"/{name}", format="json", schema=SCHEMA, name=name, follow=follow).watermark("ts", delay)


archive, live, endless = stream("archive"), stream("live"), stream("endless", follow=True)
slow = stream("slow", "2 hours")
plain = hr.read.files("/plain", format="json", schema=SCHEMA, name="plain")


def test_history_without_an_end() -> None:
    check_error(
        """
        BAD_HYBRID: these streams cannot be read one after the other: endless never ends, so what follows would never be read
          at test_hybrid.py:*: lambda: hr.read.hybrid(endless, then=live),
          hint: leave follow=True out, or give it an end
          more: headrace error BAD_HYBRID
        """,
        lambda: hr.read.hybrid(endless, then=live),
    )


def test_state_before_the_seam() -> None:
    check_error(
        """
        BAD_HYBRID: these streams cannot be read one after the other: top(archive) keeps state, and may still send rows when its sources have ended
          at test_hybrid.py:*: lambda: hr.read.hybrid(archive.dedupe(on="id"), then=live),
          hint: read the sources first, then do the rest: hr.read.hybrid(history, then=live).dedupe(...)
          more: headrace error BAD_HYBRID
        """,
        lambda: hr.read.hybrid(archive.dedupe(on="id"), then=live),
    )


def test_one_source_in_both() -> None:
    check_error(
        """
        BAD_HYBRID: these streams cannot be read one after the other: archive is both history and live
          at test_hybrid.py:*: lambda: hr.read.hybrid(archive, then=archive.filter("id > 1")),
          hint: give two sources: hr.read.hybrid(history, then=live)
          more: headrace error BAD_HYBRID
        """,
        lambda: hr.read.hybrid(archive, then=archive.filter("id > 1")),
    )


def test_watermarks_that_differ() -> None:
    check_error(
        """
        BAD_HYBRID: these streams cannot be read one after the other: archive and slow have different watermarks
          at test_hybrid.py:*: lambda: hr.read.hybrid(archive, then=slow),
          hint: give both the same delay and idle time: .watermark("ts", "5 minutes")
          more: headrace error BAD_HYBRID
        """,
        lambda: hr.read.hybrid(archive, then=slow),
    )


def test_a_cut_without_event_time() -> None:
    other = hr.read.files("/other", format="json", schema=SCHEMA, name="other")
    check_error(
        """
        NO_WATERMARK: plain has no event time, by which it could be cut
          at test_hybrid.py:*: lambda: hr.read.hybrid(plain, then=other, at="2026-01-01"),
          hint: set a watermark on both sources: .watermark("ts", "5 minutes")
          more: headrace error NO_WATERMARK
        """,
        lambda: hr.read.hybrid(plain, then=other, at="2026-01-01"),
    )


def test_a_cut_that_is_no_time() -> None:
    check_error(
        """
        BAD_HYBRID: these streams cannot be read one after the other: 'yesterday' is not a time
          at test_hybrid.py:*: lambda: hr.read.hybrid(archive, then=live, at="yesterday"),
          hint: write it so: at="2026-01-01 00:00:00"
          more: headrace error BAD_HYBRID
        """,
        lambda: hr.read.hybrid(archive, then=live, at="yesterday"),
    )


def test_something_else() -> None:
    check_error(
        """
        BAD_INPUT: read.hybrid expects a stream, got 'live'
          at test_hybrid.py:*: lambda: hr.read.hybrid(archive, then="live"),  # type: ignore[arg-type]
          hint: hr.read.hybrid(history, then=live)
          more: headrace error BAD_INPUT
        """,
        lambda: hr.read.hybrid(archive, then="live"),  # type: ignore[arg-type]
    )
