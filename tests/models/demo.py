"""What the demo's programs find, recomputed in plain Python: lists, dictionaries and one pass per aircraft."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

Event = dict[str, Any]
HOUR, REACH, GONE, LATE = timedelta(hours=1), timedelta(hours=10), timedelta(days=30), 15


def enriched(flights: list[Event], weather: list[Event]) -> list[Event]:
    """Each flight beside the report of the full hour that it left in: a join, not a replay."""
    reports = {(report["origin"], report["hour"]): report for report in weather}
    nothing = dict.fromkeys(("temp", "wind_speed", "precip", "visib"))
    joined = []
    for flight in flights:
        report = reports.get((flight["origin"], flight["at"].replace(minute=0, second=0, microsecond=0)), nothing)
        joined.append({**flight, **{name: report[name] for name in nothing}})
    return joined


def followed(flights: list[Event], until: datetime) -> tuple[list[Event], list[Event], list[Event]]:
    """Turns, chains and vanished aircraft: pairs of departures first, then the runs among them."""
    turns, chains, vanished = [], [], []
    by_tail: dict[str, list[Event]] = {}
    for flight in flights:
        if flight["dep_delay"] is not None:
            by_tail.setdefault(flight["tailnum"], []).append(flight)
    for tail, flown in by_tail.items():
        flown.sort(key=lambda flight: flight["at"])
        run: list[Event] = []
        for before, after in zip(flown, [*flown[1:], None], strict=True):
            pause = None if after is None else after["at"] - before["at"]
            turn = None
            if after is not None and pause is not None and pause <= REACH:
                brought = before["arr_delay"] if before["arr_delay"] is not None and before["arr_delay"] >= LATE else 0
                inherited = max(0, min(brought, after["dep_delay"]))
                handed = {"arrived_late": before["arr_delay"], "inherited": inherited, "recovered": brought - inherited}
                turn = {**after, "previous": before["at"], **handed}
                turns.append(turn)
            if turn is not None and turn["arrived_late"] is not None and turn["arrived_late"] >= LATE and turn["dep_delay"] >= LATE:
                run.append(turn)
            elif run:
                chains.append(
                    {
                        "tailnum": tail,
                        "began": run[0]["previous"],
                        "ended": run[-1]["at"],
                        "flights": len(run) + 1,
                        "inherited": sum(link["inherited"] for link in run),
                        "recovered": sum(link["recovered"] for link in run),
                    }
                )
                run = []
            noticed = before["at"] + GONE
            if (pause is None or pause > GONE) and noticed <= until:
                vanished.append({"tailnum": tail, "last_seen": before["at"], "dest": before["dest"], "noticed": noticed})
    return turns, chains, vanished
