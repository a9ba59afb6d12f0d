"""The call into the kernel that writes the stores of a query from the state of stored queries."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from headrace.errors import HeadraceError
from headrace.jvm.frames import java_session
from headrace.jvm.session import jvm, session
from headrace.ports.paths import escaped
from headrace.spark.checkpoint.offsets import Offsets, next_watermark
from headrace.spark.checkpoint.record import Totals
from headrace.spark.compile.identity import QueryIdentity
from headrace.spark.deploy.parts import (
    ChangeText,
    ContinuedText,
    DeploymentText,
    OriginText,
    PortableText,
    StoresText,
    StoreText,
    TakenText,
)
from headrace.spark.run.failures import of_java

Counts = Mapping[str, Mapping[str, int]]
"""The size of the state by operator: keys, entries, held rows, bytes."""


@dataclass(frozen=True)
class Origin:
    """A stored query as of its last committed epoch: its identity, its folder, that epoch, and the number of partitions of its state.

    `rebuilt`: of a shadow run, the operators whose state is taken. Its stores have a snapshot of each epoch.
    """

    query: QueryIdentity
    folder: Path
    epoch: int
    partitions: int
    rebuilt: frozenset[int] | None = None

    @property
    def watermark(self) -> int:
        """Return the watermark after the epoch, in milliseconds."""
        return next_watermark(self.folder, self.epoch)

    @property
    def handled(self) -> int:
        """Return the watermark up to which the epoch has handled time, in milliseconds; `watermark` is for the next one."""
        return Offsets.read(self.folder, self.epoch).watermark

    def is_taken(self, op: int, here: Collection[int]) -> bool:
        """Return whether the state of an operator, of those that are among `here`, is taken from these stores."""
        return op in here and (self.rebuilt is None or op in self.rebuilt)

    def text(self, here: set[int]) -> OriginText:
        """Return the state of its operators that are among `here`, for the kernel."""
        taken = [entry for entry in self.query.entries if entry.shape.keeps and not entry.retired and self.is_taken(entry.op, here)]
        operators = tuple(TakenText(op=entry.op, level=entry.shape.level) for entry in taken)
        return StoresText(folder=str(self.folder), epoch=self.epoch, partitions=self.partitions, operators=operators)


@dataclass(frozen=True)
class Files:
    """The state in a portable savepoint: its folder, and the operators that have some; `paged`: those with pages of bags."""

    folder: Path
    operators: tuple[int, ...]
    paged: tuple[int, ...]

    def text(self, here: set[int]) -> OriginText:
        """Return the state of its operators that are among `here`, for the kernel."""
        taken = tuple(op for op in self.operators if op in here)
        return PortableText(folder=escaped(self.folder), operators=taken, paged=tuple(op for op in self.paged if op in here))


def write_stores(
    query: QueryIdentity,
    origins: Sequence[Origin | Files],
    to: Path,
    *,
    continued: Mapping[int, ContinuedText] = MappingProxyType({}),
    epoch: int,
    watermark: int,
    partitions: int,
    settings: Mapping[str, str],
    changes: Iterable[ChangeText],
    log: Path,
) -> Counts:
    """Write the state of a query's operators to its folder `to`, which has the offsets of the epoch, and commit the epoch there.

    The state of an operator is taken from the origin that has it. `continued`: as `continuable` returns it. `log` gets the Java trace of a
    failure.
    """
    here = {entry.op for entry in query.entries if entry.shape.keeps and not entry.retired}
    request = DeploymentText(
        from_=tuple(origin.text(here) for origin in origins),
        to=str(to),
        epoch=epoch,
        watermark=watermark,
        partitions=partitions,
        clock=query.clock,
        settings=dict(settings),
        levels=tuple(StoreText(operators=_operators(query, level), continued=continued.get(level)) for level in range(1, query.levels + 1)),
        changes=tuple(changes),
    )
    names = {entry.op: entry.shape.name for entry in query.entries}
    counted = json.loads(_kernel(json.dumps(request.to_json()), log))
    return {names[one["op"]]: {kind: n for kind, n in one.items() if kind not in ("op", "pages")} for one in counted}


def continuable(
    query: QueryIdentity, origins: Sequence[tuple[Origin, Totals]], *, partitions: int, changed: Collection[int]
) -> Mapping[int, ContinuedText]:
    """Return the stores that a query can continue in place, by level, if its epoch is the one after that of all `origins`: rows of other
    operators are added to them and removed, the others stay. It continues those with the most keys that stay, if fewer are removed. The
    origins have their counts. `changed`: the operators whose rows change.
    """
    last = max(origin.epoch for origin, _ in origins if origin.rebuilt is None)
    continued: dict[int, ContinuedText] = {}
    for level in range(1, query.levels + 1):
        here, most = set(_operators(query, level)), -1
        for place, (origin, totals) in enumerate(origins):
            stored = {entry.op for entry in origin.query.entries if entry.shape.keeps and entry.shape.level == level}
            kept = {op for op in _operators(origin.query, level) if origin.is_taken(op, here)}
            alike = (origin.partitions, origin.query.clock) == (partitions, query.clock)
            stay, gone = (totals.of_operators(ops, "keys") for ops in (kept, stored - kept))
            named = origin.epoch == last or origin.rebuilt is not None
            if alike and named and kept and kept.isdisjoint(changed) and stay >= gone and stay > most:
                continued[level], most = ContinuedText(origin=place, others=stored != kept), stay
    return continued


def _operators(query: QueryIdentity, level: int) -> tuple[int, ...]:
    return tuple(entry.op for entry in query.entries if entry.shape.keeps and not entry.retired and entry.shape.level == level)


def _kernel(request: str, log: Path) -> str:
    spark = session()
    try:
        answer: str = jvm(spark).headrace.deploy.Deploy.run(java_session(spark), request)
        return answer
    except Exception as problem:
        error = of_java(problem, log)
        if error is None:
            raise
        if error.code == "RUN_FAILED":
            hint = f"nothing was changed. The Java stack trace is in {log}"
            raise HeadraceError(error.code, error.message, hint=hint) from None
        if str(log) not in (error.hint or ""):
            with suppress(OSError):
                log.unlink()
        raise error from None
