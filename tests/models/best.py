"""The three best of each player and the last four values: an ordered map and a list; the programs and their models."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import ClassVar

import headrace as hr
from tests.models.machine import Model, Row

SCHEMA = "player string, score int, game int, ts timestamp"


class BestThree(hr.Program):
    """Tells what a game drives out of the best three; a quarter of an hour after a first game it shows them, from the best down."""

    out = hr.Output()

    best = hr.Map("struct<score: int, game: int>", "timestamp")
    show = hr.Timer()

    def on_event(self, e):
        self.best.set(hr.struct(score=e.score, game=e.game), e.ts)
        with hr.when(self.best.size() > 3):
            worst = self.best.first()
            self.out.emit(player=self.key.player, score=worst.key.score, game=worst.key.game, since=worst.value, by=e.game)
            self.best.remove(worst.key)
        with hr.when(self.show.at().is_null()):
            self.show.set(e.ts + hr.minutes(15))

    def on_show(self, at):
        with hr.each(self.best, reverse=True) as it:
            hr.emit(player=self.key.player, rank=it.index + 1, score=it.key.score, game=it.key.game, at=at)
        # those with less than 30 are not shown again
        with hr.each(self.best.range(None, hr.struct(score=30, game=0))) as it:
            it.remove()


@dataclass
class BestModel(Model):
    inputs: ClassVar = {"event": (0, 3)}
    timers: ClassVar = ("show",)
    best: list[tuple[int, int, dt.datetime]] = field(default_factory=list)

    def on_event(self, row: Row) -> None:
        _, score, game, ts = row
        others = [one for one in self.best if one[:2] != (score, game)]
        self.best = sorted([*others, (score, game, ts)])
        if len(self.best) > 3:
            self.emit(self.key, *self.best.pop(0), game, to="out")
        if self.at("show") is None:
            self.set("show", ts + dt.timedelta(minutes=15))

    def on_show(self, at: dt.datetime) -> None:
        for rank, (score, game, _) in enumerate(reversed(self.best), 1):
            self.emit(self.key, rank, score, game, at)
        self.best = [one for one in self.best if one[0] >= 30]


class LastFour(hr.Program):
    """The last four scores with their sum and the longest rise among them; a score of 0 starts anew, one of 1 drops the odd ones."""

    scores = hr.List("int")

    def on_event(self, e):
        with hr.when(e.score == 0):
            self.scores.clear()
        with hr.elsewhen(e.score == 1):
            self.scores.set(hr.f.filter(self.scores.get(), hr.expr("x -> x IS NULL OR x % 2 = 0")))
        with hr.otherwise():
            self.scores.append(e.score)
        with hr.when(self.scores.size() > 4):
            with hr.each(self.scores) as it:
                with hr.when(it.index == 0):
                    it.remove()
                with hr.elsewhen(it.value == e.score - 1):
                    it.set(None)
        total = hr.let(0, "bigint")
        before = hr.let(None, "int")
        rise = hr.let(0)
        longest = hr.let(0)
        with hr.each(self.scores, reverse=True) as it:
            total.set(total.get() + hr.f.coalesce(it.value, 0))
            with hr.when(it.value < before.get()):
                rise.set(rise.get() + 1)
            with hr.otherwise():
                rise.set(0)
            longest.set(hr.f.greatest(longest.get(), rise.get()))
            before.set(it.value)
        hr.emit(player=self.key.player, scores=self.scores.get(), n=self.scores.size(), total=total.get(), rise=longest.get(), at=e.ts)


@dataclass
class LastModel(Model):
    inputs: ClassVar = {"event": (0, 3)}
    scores: list[int | None] = field(default_factory=list)

    def on_event(self, row: Row) -> None:
        _, score, _, ts = row
        if score == 0:
            self.scores = []
        elif score == 1:
            self.scores = [one for one in self.scores if one is None or one % 2 == 0]
        else:
            self.scores = [*self.scores, score]
        if len(self.scores) > 4:
            self.scores = [None if score is not None and one == score - 1 else one for one in self.scores[1:]]
        rises = [0]
        for before, after in zip(self.scores, self.scores[1:], strict=False):
            rises.append(rises[-1] + 1 if before is not None and after is not None and before < after else 0)
        self.emit(self.key, tuple(self.scores), len(self.scores), sum(one or 0 for one in self.scores), max(rises), ts)
