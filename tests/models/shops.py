"""What each card spent in each shop: the program and its model."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from typing import ClassVar

import headrace as hr
from tests.models.machine import Model, Row

SCHEMA = "card string, shop string, amount decimal(10,2), ts timestamp"


class Shops(hr.Program):
    """Refunds count against a shop, which is forgotten at 0. A shop named `sale` halves what was spent from b on and before e."""

    gone = hr.Output()

    spent = hr.Map("string", "decimal(12,2)")

    def on_event(self, e):
        with hr.when(e.shop == "sale"):
            with hr.each(self.spent.range("b", "e")) as it:
                with hr.when(it.value < 1):
                    it.remove()
                with hr.otherwise():
                    it.set((it.value / 2).cast("decimal(12,2)"))
        with hr.elsewhen(e.shop == "end"):
            self.spent.clear()
        with hr.otherwise():
            known = self.spent.has(e.shop)
            left = hr.f.coalesce(self.spent.get(e.shop), hr.expr("0.00BD")) + e.amount
            with hr.when(left <= 0):
                self.spent.remove(e.shop)
                with hr.when(known):
                    self.gone.emit(card=self.key.card, shop=e.shop, at=e.ts)
            with hr.otherwise():
                self.spent.set(e.shop, left)
        first, last = self.spent.first(), self.spent.last()
        hr.emit(card=self.key.card, n=self.spent.size(), first=first.key, least=first.value, last=last.key, most=last.value, at=e.ts)


@dataclass
class ShopsModel(Model):
    inputs: ClassVar = {"event": (0, 3)}
    spent: dict[str, Decimal] = field(default_factory=dict)

    def on_event(self, row: Row) -> None:
        _, shop, amount, ts = row
        if shop == "sale":
            for name in [name for name in self.spent if "b" <= name < "e"]:
                spent = self.spent.pop(name)
                if spent >= 1:
                    self.spent[name] = (spent / 2).quantize(Decimal("0.01"), ROUND_HALF_UP)
        elif shop == "end":
            self.spent = {}
        elif amount is not None:
            left = self.spent.pop(shop, None)
            if (left or 0) + amount > 0:
                self.spent[shop] = (left or 0) + amount
            elif left is not None:
                self.emit(self.key, shop, ts, to="gone")
        else:
            self.spent.pop(shop, None)  # what is not known is set: nothing is left
        names = sorted(self.spent)
        ends = (names[0], self.spent[names[0]], names[-1], self.spent[names[-1]]) if names else (None,) * 4
        self.emit(self.key, len(names), *ends, ts)
