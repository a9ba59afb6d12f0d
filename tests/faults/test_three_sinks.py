"""Three sinks of a job are equal after each crash, once the restart has ended the epoch that was cut off."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from headrace.certify.kills import OVER
from headrace.points import OF_SINKS, POINTS, VARIABLE
from tests.faults.three import SINKS, job
from tests.servers.kafka import Broker
from tests.servers.postgres import Postgres
from tests.unit.connectors.delta.tasks import rows_of

ROWS, SHOPS = 40, 6
PATIENCE = 300

Totals = list[tuple[str, int, int]]


def lay_out(folder: Path, epochs: int) -> list[Totals]:
    """Orders and shops, a file of each an epoch, and what the totals are after each of them. In each epoch a shop moves."""
    regions: dict[str, str] = {}
    orders: list[tuple[str, int]] = []
    totals: list[Totals] = [[]]
    for name in ("orders", "shops"):
        (folder / name).mkdir(parents=True)
    for epoch in range(epochs):
        moved = [f"shop {epoch % SHOPS}"] if epoch else [f"shop {shop}" for shop in range(SHOPS)]
        moves = [{"shop": shop, "region": regions[shop], "op": "delete"} for shop in moved if shop in regions]
        for shop in moved:
            regions[shop] = f"region {(epoch + int(shop[-1])) % 5}"
            moves.append({"shop": shop, "region": regions[shop], "op": "insert"})
        new_orders = [{"id": id, "shop": f"shop {id * 7 % SHOPS}", "amount": id % 97} for id in range(epoch * ROWS, (epoch + 1) * ROWS)]
        for name, rows in (("orders", new_orders), ("shops", moves)):
            (folder / name / f"{epoch:03}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
        orders += [(str(row["shop"]), int(str(row["amount"]))) for row in new_orders]
        amounts: dict[str, list[int]] = defaultdict(list)
        for shop, amount in orders:
            amounts[regions[shop]].append(amount)
        totals.append(sorted((region, sum(each), len(each)) for region, each in amounts.items()))
    return totals


class Three:
    """The job, its processes, and what readers of their own find in each of its sinks."""

    def __init__(self, folder: Path, broker: Broker, postgres: Postgres) -> None:
        self.folder = folder
        self.broker = broker
        self.postgres = postgres
        self.url = postgres.database()
        self.log = folder / "log"

    def run(self, point: str = "") -> int:
        """Run it until it ends or dies at the point."""
        environment = {**os.environ, "HEADRACE_MASTER": "local[2]", "SPARK_DRIVER_MEMORY": "1g", VARIABLE: point}
        command = [sys.executable, "-m", "tests.faults.three", str(self.folder), self.broker.servers, self.url]
        with self.log.open("ab") as out:
            child = subprocess.Popen(command, stdout=out, stderr=out, env=environment, start_new_session=True)
        try:
            return child.wait(PATIENCE)
        finally:
            # a JVM whose Python is dead takes a moment to notice
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)

    def killed(self, point: str) -> None:
        assert self.run(f"{point}:kill") == -signal.SIGKILL, (point, self.log.read_text()[-3000:])

    def topic(self) -> Totals:
        newest = {record.key: record.value for record in self.broker.consume(self.folder.name)}
        values: list[dict[str, Any]] = [json.loads(value) for value in newest.values() if value is not None]
        return sorted((value["region"], value["amount"], value["orders"]) for value in values)

    def lake(self) -> Totals:
        return sorted(rows_of(self.folder / "lake"))  # type: ignore[arg-type]  # of these types

    def table(self) -> Totals:
        return sorted(self.postgres.run(self.url, "SELECT region, amount, orders FROM totals"))  # type: ignore[arg-type]

    def held(self) -> Totals:
        """What all three hold."""
        topic, lake, table = self.topic(), self.lake(), self.table()
        assert topic == lake == table
        return table


@pytest.fixture
def three(tmp_path: Path, broker: Broker, postgres: Postgres) -> Three:
    return Three(tmp_path, broker, postgres)


@pytest.mark.full
@pytest.mark.usefixtures("spark")
def test_killed_between_two_of_them(three: Three) -> None:
    expected = lay_out(three.folder, 2)
    three.killed("after sink commit@lake#2")
    assert (three.topic(), three.lake(), three.table()) == (expected[2], expected[2], expected[1])
    job(three.folder, three.broker.servers, three.url).run(checkpoint=three.folder / "state", progress=False)
    assert three.held() == expected[2]


@pytest.mark.full
@pytest.mark.parametrize("sink", ["", *SINKS])
def test_killed_at_every_point(three: Three, sink: str) -> None:
    points = [f"{name}@{sink}" if sink else name for name in POINTS if (name in OF_SINKS) == bool(sink)]
    expected = lay_out(three.folder, len(points) + 3)
    ended = 0
    for point in points:
        three.killed(point)
        # This start ends the epoch that was cut off, or where it was over already the next one. Where the epoch was not logged, sources
        # that have noted what they chose for it choose more.
        three.killed("after the commit log")
        ended += 2 if point in (OVER, "before offsets are logged") else 1
        assert three.held() == expected[ended], point
    assert three.run() == 0, three.log.read_text()[-3000:]
    assert three.held() == expected[-1]
