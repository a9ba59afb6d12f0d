"""A deploy to a running job, or a comparison with it, on the side of the process that runs it.

The version is compiled while the queries go on. Between two epochs the checkpoint then switches to it, and its queries start where those of
the old version have ended. Until the old queries are stopped, right before the switch, a failure leaves the old version running.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from headrace.errors import HeadraceError
from headrace.masking import leaving
from headrace.plan import displayed
from headrace.plan.codec import typed
from headrace.points import point
from headrace.spark.checkpoint import candidate
from headrace.spark.checkpoint.channel import Command
from headrace.spark.deploy.held import copy_rows
from headrace.spark.deploy.request import OVERTAKEN, Request
from headrace.spark.run.commands import Work
from headrace.spark.run.start import begin_on
from headrace.spark.run.started import Started


class Receiver:
    """Carries out deploys to the queries of a run, whose epochs begin `every` so many milliseconds.

    `accept` reads the command while the queries go on, `switch` replaces them between two epochs. `held` copies the rows of sinks.
    """

    def __init__(self, started: Started, every: int) -> None:
        self._started, self._every = started, every
        self._request: Request | None = None
        self.has_ended = False
        """Whether the old queries were stopped, so that a failure ends the run."""

    @leaving()
    def accept(self, command: Command) -> None:
        """Read a command and compile its version."""
        try:
            self._request = Request.from_json(self._started.checkpoint.folder, command.arguments)
        except (KeyError, TypeError, ValueError) as problem:
            hint = "deploy with the version of headrace that runs the job"
            raise HeadraceError("UNKNOWN_COMMAND", f"the command cannot be read: {problem}", hint=hint) from None

    @leaving()
    def switch(self, command: Command) -> tuple[Started | None, Mapping[str, Any]]:
        """Switch to the version of the accepted command. Returns its queries, None if the old ones go on, and the result of the command."""
        request, checkpoint = self._request, self._started.checkpoint
        assert request is not None  # accepted
        with displayed(request.job.plan), request.displayed(checkpoint):
            if checkpoint.sealing:
                raise _at_its_end()
            if command.arguments.get("term") != checkpoint.lease.term:
                raise _overtaken(request, "another process runs it")
            replacement = request.replacement(checkpoint)
            notices = replacement.refuse(starts=True)
            if not replacement.is_other:
                return None, {"report": replacement.report(notices, 0.0).to_json()}
            if command.arguments.get("purpose") != replacement.purpose:
                raise _overtaken(request, "other parts have to be computed again")
            counts = replacement.switch(lambda place: self._taken_over(request, place), ready=self._end)
            report = replace(replacement.report(notices, 0.0, counts=counts), unchanged=False)
            point("before the new queries start")
            checkpoint.reload()
            # sinks know the terms of starts, and this is one
            checkpoint.lease.renew()
            self._started = begin_on(replacement.job, checkpoint, every=self._every, partitions=replacement.partitions)
        self.has_ended = False
        return self._started, {"report": report.to_json()}

    @property
    def held(self) -> Work:
        """How the rows of sinks are copied for a comparison."""
        return Work(self._copied, between=True, is_noted=False)

    @leaving()
    def _copied(self, command: Command) -> Mapping[str, Any]:
        began = time.monotonic()
        copy_rows(self._started.job, self._started.checkpoint.folder, [typed(name, str) for name in command.arguments["sinks"]])
        return {"pause_seconds": round(time.monotonic() - began, 3)}

    def _taken_over(self, request: Request, place: Path) -> None:
        if not candidate.take_over(self._started.checkpoint.folder, place):
            raise _overtaken(request, "what was prepared is gone")

    def _end(self) -> None:
        point("before the old queries end")
        self.has_ended = True
        self._started.end()


def _overtaken(request: Request, why: str) -> HeadraceError:
    return HeadraceError(
        OVERTAKEN,
        f"the job {request.job.plan.job} has changed while the deploy was prepared: {why}",
        hint="nothing was changed: deploy again; or stop the job, deploy, and start it",
    )


def _at_its_end() -> HeadraceError:
    return HeadraceError(
        "CHECKPOINT_SEALED",
        "the job has read bounded input to its end, and is handling held rows, windows and timers",
        hint="nothing was changed: wait until the run has ended, then deploy",
    )
