"""The offline rewrite of a checkpoint, for a version of its job that cannot start from it.

The new checkpoint keeps the id, the epochs, the record and the offsets of the old one, so the job continues where it was, exactly once.
It is made under another name and renamed once it is complete.
"""

from __future__ import annotations

import errno
import json
import shutil
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from headrace.durable import atomic, private
from headrace.durable.sums import text_of
from headrace.errors import HeadraceError
from headrace.jvm.frames import java_session
from headrace.jvm.session import jvm, session
from headrace.spark.checkpoint.compare import identified, read_otherwise, refuse_in_mid_epoch, with_frozen_schemas
from headrace.spark.checkpoint.folder import MIGRATED, Checkpoint, Stored, migrated, unusable
from headrace.spark.checkpoint.lease import Lease, is_lock
from headrace.spark.checkpoint.relocation import mend
from headrace.spark.checkpoint.succession import refuse_mixed_results
from headrace.spark.compile.computed import check_computed
from headrace.spark.compile.identity import Identity
from headrace.spark.compile.job import SparkJob
from headrace.spark.migrate import copies
from headrace.spark.migrate.migration import Migrated, Migration
from headrace.spark.migrate.parts import MigrationText
from headrace.spark.migrate.rewrite import Rewrite, rewrites
from headrace.spark.run.failures import full, of_java
from headrace.spark.run.holders import holders
from headrace.spark.run.outlets import each, outlets_of, provide

Json = dict[str, Any]


def migrate(job: SparkJob, old: Path, new: Path, *, dry_run: bool = False) -> Migration:
    """Make the checkpoint `new` for this version of a job from `old`, which stays unchanged except for a mark that it was migrated.

    Changes that cannot be followed, or that need no rewrite, are refused before anything is written.
    """
    began = time.monotonic()
    old, new = old.absolute(), new.absolute()
    if new.exists():
        raise HeadraceError("CHECKPOINT_EXISTS", f"{new} already exists", hint="name a folder that does not exist")
    if new.is_relative_to(old):
        raise HeadraceError("CHECKPOINT_EXISTS", f"{new} is inside the old checkpoint {old}", hint="name a folder outside it")
    if not old.is_dir():
        raise _nothing(f"{old} is not a folder", "set checkpoint= to the checkpoint of an earlier version of the job")
    checkpoint = Checkpoint(old)
    with closing(checkpoint):
        to = checkpoint.migrated
        # a mark without its checkpoint is from a rewrite that was killed at its very end
        if to is not None and to.exists():
            raise migrated(old, to)
        if checkpoint.stored is None or not checkpoint.begun:
            raise _nothing(f"no run has been started in {old}", "run the job with this checkpoint")
        stored = checkpoint.stored
        job = with_frozen_schemas(job, stored)
        identity, names = identified(job, stored, old, offline=True)
        totals = {query.name: checkpoint.record(query.name).totals for query in stored.identity.queries}
        refuse_mixed_results(job, stored, identity, names, totals)
        check_computed(job, [identity.query(name) for name in names.values()])
        _refuse_in_mid_epoch(job, checkpoint, stored, identity, names)
        by_query = {query.name: rewrites(stored.identity, identity, query) for query in stored.identity.queries}
        programs = [Migrated(one.name, one.rewritten, one.projected) for rewritten in by_query.values() for one in rewritten]
        if not any(one.rewritten for one in programs):
            raise _nothing(f"this version of the job can continue from {old}", "run the job with this checkpoint")
        if not dry_run:
            counts = _Making(job, stored, identity, old, checkpoint.lease.term, new, by_query).run()
            programs = [replace(program, **counts.get(program.program, {})) for program in programs]
        return Migration(job.plan.job, old, new, tuple(programs), dry_run, time.monotonic() - began)


def _refuse_in_mid_epoch(job: SparkJob, checkpoint: Checkpoint, stored: Stored, identity: Identity, names: Mapping[str, str]) -> None:
    """Refuse a rewrite if a sink holds an interrupted epoch: the version that began it must finish it."""
    if all(checkpoint.unfinished(name) is None for name in names.values()):
        return
    provide(job)
    outlets = {name: outlets_of(job, query, checkpoint.dead_letters(name)) for query, name in each(job, names)}
    holding = holders(job, checkpoint, stored, names, outlets)
    refuse_in_mid_epoch(job.plan, stored.plan, holding, read_otherwise(stored.identity, identity))


def _nothing(what: str, cure: str) -> HeadraceError:
    return HeadraceError("NOTHING_TO_MIGRATE", f"{what}, so there is nothing to migrate", hint=cure)


class _Making:
    """A checkpoint while it is made."""

    def __init__(
        self, job: SparkJob, stored: Stored, identity: Identity, old: Path, term: int, new: Path, by_query: Mapping[str, list[Rewrite]]
    ) -> None:
        self.job, self.stored, self.identity, self.old, self.term, self.new = job, stored, identity, old, term, new
        self.rewrites = {name: listed for name, listed in by_query.items() if any(one.change for one in listed)}
        self.all = [query.name for query in stored.identity.queries]
        self.place = copies.unfinished(new)
        self.log = new.with_name(f"{new.name}.errors.log")

    def run(self) -> dict[str, Json]:
        """Make it. Returns the counts of the programs by name; leaves nothing behind if it fails."""
        try:
            private.folder(self.place)
            # the sinks know the terms of the old one
            lease = Lease(self.place, after=self.term)
            try:
                for path in self.place.iterdir():
                    if not is_lock(path.name):
                        shutil.rmtree(path) if path.is_dir() else path.unlink()
                counts = self._fill()
                # Marked first, so that there are never two checkpoints that could both continue.
                atomic.replace(self.old / MIGRATED, f"{self.new}\n")
                self.place.rename(self.new)
                return counts
            except BaseException:
                (self.old / MIGRATED).unlink(missing_ok=True)
                shutil.rmtree(self.place, ignore_errors=True)
                raise
            finally:
                lease.release()
        except OSError as problem:
            # copying a folder reports all its errors in one text
            reason = problem.strerror or str(problem)
            no_room = problem.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT) or "No space left on device" in reason
            raise (full(f"{self.new} cannot be written: {reason}") if no_room else unusable(self.new, reason)) from None

    def _fill(self) -> dict[str, Json]:
        copies.copy(self.old, self.place, self.rewrites)
        for name in self.all:
            mend(self._query(self.place, name))
        counts: dict[str, Json] = {}
        for name, listed in self.rewrites.items():
            counts |= self._rewritten(name, listed)
        for name in self.all:
            mend(self._query(self.place, name), self._query(self.new, name))
        stored = Stored(
            self.stored.id, self.job.plan.job, self.job.plan.to_json(), self.job.settings, self.stored.partitions, self.identity
        )
        atomic.replace(self.place / "job.json", text_of(stored.to_json(), indent=1))
        return counts

    def _rewritten(self, name: str, listed: list[Rewrite]) -> dict[str, Json]:
        epoch = copies.last_epoch(self._query(self.old, name))
        if epoch is None:
            # its first epoch starts again from the beginning
            return {}
        # Spark finds the old state by the paths in its own metadata
        mend(self._query(self.old, name))
        request = MigrationText(
            from_=str(self._query(self.old, name)),
            to=str(self._query(self.place, name)),
            epoch=epoch,
            partitions=self.stored.partitions,
            settings=dict(self.job.settings),
            operators=tuple(one.change for one in listed if one.change),
        )
        names = {one.op: one.name for one in listed}
        counted = json.loads(self._kernel(json.dumps(request.to_json())))
        return {names[one["op"]]: {kind: n for kind, n in one.items() if kind != "op"} for one in counted if one["op"] in names}

    def _kernel(self, request: str) -> str:
        spark = session()
        try:
            answer: str = jvm(spark).headrace.migrate.Migrate.run(java_session(spark), request)
            return answer
        except Exception as problem:
            error = of_java(problem, self.log)
            if error is None:
                raise
            if error.code == "RUN_FAILED":
                hint = f"nothing was changed: {self.old} is as it was. The Java stack trace is in {self.log}"
                raise HeadraceError(error.code, error.message, hint=hint) from None
            if str(self.log) not in (error.hint or ""):
                with suppress(OSError):
                    self.log.unlink()
            raise error from None

    @staticmethod
    def _query(folder: Path, name: str) -> Path:
        return folder / "queries" / name
