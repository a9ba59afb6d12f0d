"""headrace, handling rows in the order of arrival or of time."""

from __future__ import annotations

from dataclasses import dataclass

import headrace as hr
from bench.state.contenders.contender import Answer, timed
from bench.state.inputs import Events
from bench.state.nothing import write_nothing
from bench.state.workloads import Workload
from bench.state.workloads.workload import END


@dataclass(frozen=True)
class Kernel:
    name: str
    order: str
    share: float = 1.0

    def lacks(self, workload: Workload) -> None:
        return None

    def prepare(self, workload: Workload) -> None:
        pass

    def seconds(self, workload: Workload, events: Events) -> float:
        job = made(workload, events, self.order)
        return timed(lambda checkpoint: job.run(checkpoint=checkpoint, progress=False, partitions=2))

    def answer(self, workload: Workload, events: Events) -> Answer:
        stream = processed(workload, events, self.order)
        rows = hr.collect(stream.select(**{f"c{i}": text for i, text in enumerate(workload.sum_texts)})).rows()
        return Answer(len(rows), tuple(map(sum, zip(*rows, strict=True))))


def made(workload: Workload, events: Events, order: str, files_per_epoch: int | None = None) -> hr.Job:
    return hr.job(workload.name, write_nothing(processed(workload, events, order, files_per_epoch).named("out")))


def processed(workload: Workload, events: Events, order: str, files_per_epoch: int | None = None) -> hr.Stream:
    timed = workload.reads_time(order)
    keyed = {}
    for name, input in workload.inputs.items():
        schema = input.schema(timed=timed)
        stream = hr.read.files(events.path(name), format="parquet", schema=schema, name=name, files_per_epoch=files_per_epoch)
        if timed:
            stream = stream.watermark("ts", "0 seconds")
        if workload.timed:
            stream = stream.filter(f"ts < TIMESTAMP '{END}'")
        keyed[name] = stream.key_by("k")
    return keyed.pop("event").process(workload.program, order=order, **keyed)
