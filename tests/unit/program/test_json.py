"""A stored program is read exactly: nothing unknown is passed over, nothing missing is guessed."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import headrace as hr
from headrace.program import Traced, trace
from tests.unit.errors import check_error


class P(hr.Program):
    n = hr.Value("int", was="m")
    wake = hr.Timer()

    def on_event(self, e):
        with hr.when(self.n.exists()):
            hr.emit(n=self.n.get())
        with hr.otherwise():
            self.n.set(e.n)
            self.wake.set(e.ts)

    def on_wake(self, at):
        self.n.clear()


STORED = trace(P, name="p", key=("k",), inputs={"event": ("k", "n", "ts")}).to_json()


def test_an_unknown_field() -> None:
    check_error(
        """
        PLAN_UNKNOWN_FIELD: this version of headrace does not know the field `expires` of a cell of a state program
          hint: install the newer headrace that wrote the plan; if the plan was edited by hand, correct the name
          more: headrace error PLAN_UNKNOWN_FIELD
        """,
        lambda: Traced.from_json({**STORED, "cells": [{**STORED["cells"][0], "expires": "1 day"}]}),
    )


def test_an_expression_instead_of_a_name() -> None:
    class Later(P):
        more = hr.Value("int", was=hr.col("n") + 1)
        again = hr.Timer(was=hr.expr("wake"))

        def on_again(self, at):
            self.more.set(1)

    traced = trace(Later, name="p", key=("k",), inputs={"event": ("k", "n", "ts")})
    cells = {cell["name"]: cell for cell in traced.to_json()["cells"]}
    assert [cells[name].get("computed") for name in ("n", "more", "again", "wake")] == [None, "n + 1", "wake", None]
    assert {name: cell.get("was") for name, cell in cells.items()} == {"n": "m", "more": None, "again": None, "wake": None}
    assert Traced.from_json(traced.to_json()) == traced


def test_an_unknown_statement() -> None:
    check_error(
        """
        PLAN_BROKEN: a statement of a state program cannot be read: unknown statement 'loop'
          hint: create the plan again: headrace plan FILE, or Job.plan.to_json()
          more: headrace error PLAN_BROKEN
        """,
        lambda: Traced.from_json({**STORED, "handlers": [{"on": "event", "kind": "input", "body": [{"do": "loop"}]}]}),
    )


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths to all objects in a JSON value."""
    if isinstance(value, dict):
        return [path, *(place for name, item in value.items() for place in places(item, (*path, name)))]
    if isinstance(value, list):
        return [place for number, item in enumerate(value) for place in places(item, (*path, number))]
    return []


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


@pytest.mark.parametrize("path", places(STORED), ids=str)
def test_every_object_is_read_exactly(path: tuple[Any, ...]) -> None:
    stored = copy.deepcopy(STORED)
    at(stored, path)["more"] = 1
    with pytest.raises(hr.PlanError, match="PLAN_UNKNOWN_FIELD"):
        Traced.from_json(stored)
    for name in at(STORED, path):
        stored = copy.deepcopy(STORED)
        at(stored, path)[name] = 17
        with pytest.raises(hr.PlanError, match="PLAN_BROKEN"):
            Traced.from_json(stored)
        stored = copy.deepcopy(STORED)
        del at(stored, path)[name]
        if name in ("site", "sites", "was", "clock"):  # may be absent
            Traced.from_json(stored)
        else:
            with pytest.raises(hr.PlanError, match="PLAN_BROKEN"):
                Traced.from_json(stored)


@pytest.mark.parametrize("value", [None, 1, "x", [], [1]])
def test_what_is_no_program(value: Any) -> None:
    with pytest.raises(hr.PlanError, match="PLAN_BROKEN"):
        Traced.from_json(value)


def test_it_reads_what_it_wrote() -> None:
    assert Traced.from_json(STORED).to_json() == STORED
