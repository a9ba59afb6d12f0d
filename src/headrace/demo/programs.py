"""The two programs of the demo: the weather a flight leaves in, and the delay its aircraft hands on."""

from __future__ import annotations

from datetime import datetime

import headrace as hr

LATE = 15  # minutes from which American statistics call a flight late
REACH = hr.hours(10)  # the longest time between departures of a chain; a longer pause is a night's rest
GONE = hr.days(30)


class HourOfWeather(hr.Program):
    """Adds to each flight the weather of the hour in which it leaves, per airport.

    The reports are the main input because at equal times rows of the main input come first: a flight at 10:00 finds the report of 10:00.
    A report holds for its own hour. Where the next one is missing, flights go on without.
    """

    report = hr.Value("struct<hour timestamp, temp double, wind_speed double, precip double, visib double>")

    def on_event(self, report: hr.Row) -> None:
        self.report.set(
            hr.struct(hour=report.hour, temp=report.temp, wind_speed=report.wind_speed, precip=report.precip, visib=report.visib)
        )

    def on_flight(self, flight: hr.Row) -> None:
        report = self.report.get()
        now = hr.case((flight.at < report.hour + hr.hours(1), report))
        hr.emit(flight, temp=now.temp, wind_speed=now.wind_speed, precip=now.precip, visib=now.visib)


class DelayChain(hr.Program):
    """Follows how a delay is passed on from flight to flight, per aircraft.

    An aircraft that arrived late flies back to New York (a leg that these tables do not show), is made ready and leaves again. Its next
    flight inherits the delay that remains; the rest was recovered. Flights that leave late after a late arrival form a chain with the
    first late flight. A chain ends with a flight that leaves on time, or when the aircraft rests.
    """

    chains = hr.Output()
    vanished = hr.Output()

    last = hr.Value("struct<at timestamp, dest string, late int>")
    began = hr.Value("timestamp")
    flights = hr.Value("int")
    inherited = hr.Value("int")
    recovered = hr.Value("int")
    rests = hr.Timer()
    missing = hr.Timer()

    def __init__(self, until: datetime) -> None:
        self.until = until  # the end of the tables, after which nothing is known of an aircraft

    def on_event(self, e: hr.Row) -> None:
        last = self.last.get()
        with hr.when(e.at <= last.at + REACH):
            late = hr.case((last.late >= LATE, last.late), otherwise=0)
            inherited = hr.f.greatest(0, hr.f.least(late, e.dep_delay))
            recovered = late - inherited
            hr.emit(e, previous=last.at, arrived_late=last.late, inherited=inherited, recovered=recovered)
            with hr.when((late > 0) & (e.dep_delay >= LATE)):
                self.began.set(hr.f.coalesce(self.began.get(), last.at))
                self.flights.set(hr.f.coalesce(self.flights.get(), 1) + 1)
                self.inherited.set(hr.f.coalesce(self.inherited.get(), 0) + inherited)
                self.recovered.set(hr.f.coalesce(self.recovered.get(), 0) + recovered)
            with hr.otherwise():
                self.end_chain()
        self.last.set(hr.struct(at=e.at, dest=e.dest, late=e.arr_delay))
        self.rests.set(e.at + REACH)
        self.missing.set(e.at + GONE)

    def end_chain(self) -> None:
        with hr.when(self.began.exists()):
            totals = {"flights": self.flights.get(), "inherited": self.inherited.get(), "recovered": self.recovered.get()}
            self.chains.emit(tailnum=self.key.tailnum, began=self.began.get(), ended=self.last.get().at, **totals)
        for cell in (self.began, self.flights, self.inherited, self.recovered):
            cell.clear()

    def on_rests(self, at: hr.Column) -> None:
        self.end_chain()

    def on_missing(self, at: hr.Column) -> None:
        with hr.when(at <= self.until):
            last = self.last.get()
            self.vanished.emit(tailnum=self.key.tailnum, last_seen=last.at, dest=last.dest, noticed=at)
