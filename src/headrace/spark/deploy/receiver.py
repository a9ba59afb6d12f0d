"""A deploy to a running job, on the side of the process that runs it.

The version is compiled while the queries go on. Between two epochs the checkpoint then switches to it, and its queries start where those of
the old version have ended. Until the old queries are stopped, right before the switch, a failure leaves the old version running.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.errors import HeadraceError
from headrace.masking import leaving
from headrace.plan import displayed
from headrace.points import point
from headrace.spark.checkpoint import candidate
from headrace.spark.checkpoint.channel import Command
from headrace.spark.deploy.request import Request
from headrace.spark.run.start import begin_on
from headrace.spark.run.started import Started


class Receiver:
    """Carries out deploys to the queries of a run, whose epochs begin `every` so many milliseconds.

    `accept` reads the command while the queries go on, `switch` replaces them between two epochs.
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
            replacement = request.replacement(checkpoint)
            notices = replacement.refuse()
            if not replacement.changed:
                return None, {"report": replacement.report(notices, 0.0).to_json()}
            shadow = None
            if replacement.purpose:
                shadow = candidate.taken(checkpoint.folder) if command.arguments.get("purpose") == replacement.purpose else None
                if shadow is None:
                    return None, {}
            counts = replacement.switch(shadow, ready=self._end)
            report = replacement.report(notices, 0.0, counts=counts)
            point("before the new queries start")
            checkpoint.reload()
            # sinks know the terms of starts, and this is one
            checkpoint.lease.skip(1)
            self._started = begin_on(replacement.job, checkpoint, every=self._every, partitions=replacement.partitions)
        self.has_ended = False
        return self._started, {"report": report.to_json()}

    def _end(self) -> None:
        point("before the old queries end")
        self.has_ended = True
        self._started.end()


def _at_its_end() -> HeadraceError:
    return HeadraceError(
        "CHECKPOINT_SEALED",
        "the job has read its bounded input, and is handling held rows, windows and timers",
        hint="nothing was changed: wait until the run has ended, then deploy",
    )
