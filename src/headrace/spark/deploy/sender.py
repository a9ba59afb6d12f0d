"""A deploy to a running job, on the side of its sender.

cut ─► check ─► shadow run up to the cut ─► another cut, until little is left ─► the command `deploy`, which switches (`receiver.py`)

All that takes time happens here, beside the job, in the folder `candidate` of its checkpoint (`checkpoint/candidate.py`).
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from headrace.errors import HeadraceError
from headrace.points import point
from headrace.spark.checkpoint import candidate
from headrace.spark.checkpoint.channel import Command
from headrace.spark.checkpoint.lease import Holder, newest_term
from headrace.spark.deploy.deployment import Deployment, restored
from headrace.spark.deploy.request import OVERTAKEN, Request
from headrace.spark.run.commands import CUT, DEPLOY, give

_SHORT = 3.0
"""The seconds of a cut that a shadow run may be behind when the job switches."""

_LITTLE = 1.0
"""The seconds of reading that may be left for the switch, at the speed of the first round."""

_SHORTER = 0.7
"""How much shorter a round has to be than the one before, for another one to be of use."""

_ROUNDS = 8
"""How often a shadow run follows the job before the switch, if the job is as fast as it is."""

_ATTEMPTS = 3
"""How often a candidate is made that turns out to be for another purpose: an operator may drop its first late row meanwhile."""


class Sender:
    """Deploys to the process that `works` on a checkpoint. `look` is called with a line for each step."""

    def __init__(self, request: Request, folder: Path, works: Callable[[], Holder | None], look: Callable[[str], object]) -> None:
        self._request, self._folder, self._works, self._look = request, folder, works, look

    def deploy(self, *, dry_run: bool) -> Deployment | None:
        """Deploy, and return the report; None if the process that ran the job has ended."""
        began = time.monotonic()
        with candidate.claim(self._folder) as place:
            attempts = 0
            while True:
                attempts += 1
                term = newest_term(self._folder)
                purpose = self._prepared(place, began, dry_run=dry_run)
                if purpose is None or isinstance(purpose, Deployment):
                    return purpose
                point("before the command")
                self._look("switching")
                try:
                    result = give(self._folder, Command.make(DEPLOY, purpose=purpose, term=term, **self._request.to_json()), self._works)
                except HeadraceError as problem:
                    if problem.code != OVERTAKEN or attempts == _ATTEMPTS:
                        raise
                    self._look("preparing again, because the job has changed meanwhile")
                    continue
                if result is None:
                    return None
                report = {**result["report"], "seconds": time.monotonic() - began, "pause_seconds": result.get("pause_seconds")}
                return restored(report)

    def _prepared(self, place: Path, began: float, *, dry_run: bool) -> str | Deployment | None:
        """Prepare the switch, and return what it is for; the report if there is nothing to switch; None if the job has ended."""
        shadow = place / candidate.SHADOW
        purpose, last = "", float("inf")
        speed, reached = 0.0, 0
        for _ in range(_ROUNDS):
            if give(self._folder, Command.make(CUT), self._works) is None:
                return None
            point("after a cut")
            since = time.monotonic()
            with self._request.opened(place / candidate.CUT, home=self._folder) as replacement:
                notices, refusals = replacement.check(starts=True, cut=True, dry_run=dry_run)
                if dry_run or not replacement.is_other:
                    preview = replacement.report(notices, time.monotonic() - began, refusals=refusals, dry_run=dry_run)
                    return replace(preview, unchanged=preview.unchanged and not replacement.is_other)
                begins = replacement.purpose != purpose or last == float("inf")
                purpose = replacement.purpose
                if not purpose:
                    return purpose
                rows = replacement.comparison.old.rows
                if not begins and rows - reached < speed * _LITTLE:
                    break
                if begins:
                    shutil.rmtree(shadow, ignore_errors=True)
                self._look(replacement.task if begins else "following the job")
                replacement.shadow(shadow, self._look).advance(replacement.comparison.old.totals)
            seconds = time.monotonic() - since
            speed, reached = rows / seconds if begins else speed, rows
            if seconds < _SHORT or seconds > last * _SHORTER:
                break
            last = seconds
        return purpose
