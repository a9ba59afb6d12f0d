"""Transfers between accounts, corrected and called off: the total of all accounts, over a join and two aggregates, is the same after every
epoch in every sink, and never seen otherwise by who reads meanwhile."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.testing import Harness
from tests.spark.sql.changing import Change, Net

pytestmark = pytest.mark.usefixtures("spark")

ACCOUNTS = "account int, opened decimal(12,2)"
TRANSFERS = "id int, giver int, taker int, amount decimal(12,2)"
BALANCES = """
SELECT a.account, a.opened + coalesce(sum(m.amount), 0) AS balance
FROM accounts a
LEFT JOIN (SELECT taker AS account, amount FROM transfers UNION ALL SELECT giver, -amount FROM transfers) m ON m.account = a.account
GROUP BY a.account, a.opened
"""
TOTAL = "SELECT sum(balance) AS total, count(*) AS accounts FROM balances"

MANY, EPOCHS = 12, 8
OPENED = [(number, Decimal(100 * number)) for number in range(MANY)]
SUM = sum((opened for _, opened in OPENED), Decimal(0))


def epochs(seed: int) -> Iterator[list[Change]]:
    """Transfers that come, go, and get another amount or taker."""
    chance = random.Random(seed)
    net = Net()
    for number in range(EPOCHS):
        there = net.rows()
        chance.shuffle(there)
        changes: list[Change] = [("+", (number * 100 + n, *_drawn(chance))) for n in range(chance.randint(0, 12))]
        for row in there[:4]:
            changes += [("-", row), ("+", (row[0], *_drawn(chance)))]
        changes += [("-", row) for row in there[4:7]]
        net.apply(changes)
        yield changes


def _drawn(chance: random.Random) -> tuple[int, int, Decimal]:
    return chance.randrange(MANY), chance.randrange(MANY), Decimal(chance.randint(1, 9999)) / 100


def test_the_total_never_changes() -> None:
    with Harness() as h:
        accounts, transfers = h.source("accounts", ACCOUNTS, changes=True), h.source("transfers", TRANSFERS, changes=True)
        balances = hr.sql(BALANCES, accounts=accounts, transfers=transfers)
        each, total = h.collect(balances), h.collect(hr.sql(TOTAL, balances=balances))
        for number, changes in enumerate(epochs(1)):
            h.commit({"transfers": changes} | ({"accounts": [("+", row) for row in OPENED]} if number == 0 else {}))
            assert total.rows() == [(SUM, MANY)]
            assert sum(balance for _, balance in each.rows()) == SUM
            if number == EPOCHS // 2:
                h.restart()
        assert len({commit for commit, _, _ in each.changes()}) > EPOCHS // 2
        # what does not change is not said again; before there were accounts their sum was null
        assert [row for _, sign, row in total.changes() if sign == "+" and row[0] is not None] == [(SUM, MANY)]


class Reader(threading.Thread):
    """Reads a folder of changes again and again while it is written, and keeps every total that it saw."""

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self.seen: set[Decimal] = set()
        self.times = 0
        self._folder = folder
        self._done = threading.Event()

    def run(self) -> None:
        while not self._done.wait(0.02):
            rows = changes_of(self._folder)
            self.times += 1
            self.seen.add(worth(rows))

    def end(self) -> None:
        self._done.set()
        self.join()


def changes_of(folder: Path) -> list[dict[str, Any]]:
    if not folder.exists():
        return []
    files = hr.committed_files(folder)
    return [json.loads(line, parse_float=Decimal, parse_int=Decimal) for file in files for line in file.read_text().splitlines()]


def worth(rows: list[dict[str, Any]]) -> Decimal:
    return sum((row["balance"] if row["_change"] == "insert" else -row["balance"] for row in rows), Decimal(0))


@pytest.mark.full
def test_every_sink_holds_the_total_at_every_epoch(tmp_path: Path) -> None:
    put(tmp_path / "accounts", "0.json", [("+", row) for row in OPENED], ("account", "opened"))
    all_epochs = list(epochs(2))
    steps: list[Decimal] = []

    def step(frame: Any, _: int) -> None:
        rows = [row.asDict() for row in frame.collect()]
        steps.append(worth(rows))

    accounts = hr.read.files(tmp_path / "accounts", format="json", schema=f"{ACCOUNTS}, op string", change_column="op", name="accounts")
    put_transfers(tmp_path, all_epochs, 0, EPOCHS // 2)
    transfers = hr.read.files(
        tmp_path / "transfers", format="json", schema=f"{TRANSFERS}, op string", change_column="op", files_per_epoch=1, name="transfers"
    )
    balances = hr.sql(BALANCES, accounts=accounts, transfers=transfers).named("balances")
    total = hr.sql(TOTAL, balances=balances).named("total")
    out = tmp_path / "out"
    kept, kept_total = balances.write.memory(name="kept"), total.write.memory(name="kept_total")
    job = hr.job(
        "transfers",
        balances.write.files(out, format="json", mode="changes", name="files"),
        balances.write.foreach_batch(step, mode="changes", name="steps"),
        kept,
        kept_total,
    )
    reader = Reader(out)
    reader.start()
    job.run(checkpoint=tmp_path / "checkpoint", flush=False, progress=False, partitions=2)
    put_transfers(tmp_path, all_epochs, EPOCHS // 2, EPOCHS)
    job.run(checkpoint=tmp_path / "checkpoint", flush=False, progress=False, partitions=2)
    reader.end()
    assert reader.times > 0
    assert reader.seen <= {Decimal(0), SUM}
    assert worth(changes_of(out)) == SUM
    # the accounts come with the first epoch; from then on each epoch moves money and adds none
    assert steps[0] == SUM and set(steps[1:]) <= {Decimal(0)} and len(steps) > EPOCHS // 2
    assert sum(balance for _, balance in kept.rows()) == SUM
    by_epoch: dict[int, Decimal] = {}
    for epoch, sign, (_, balance) in kept.changes():
        by_epoch[epoch] = by_epoch.get(epoch, Decimal(0)) + (balance if sign == "+" else -balance)
    assert [by_epoch[epoch] for epoch in sorted(by_epoch)] == [SUM] + [Decimal(0)] * (len(by_epoch) - 1)
    assert kept_total.rows() == [(SUM, MANY)]


def put_transfers(folder: Path, all_epochs: list[list[Change]], first: int, end: int) -> None:
    for number in range(first, end):
        put(folder / "transfers", f"{number}.json", all_epochs[number], ("id", "giver", "taker", "amount"))


def put(folder: Path, name: str, changes: list[Change], columns: tuple[str, ...]) -> None:
    folder.mkdir(exist_ok=True)
    lines = [json.dumps(dict(zip(columns, map(_text, row), strict=True)) | {"op": sign}) for sign, row in changes]
    (folder / name).write_text("".join(f"{line}\n" for line in lines))


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, Decimal) else value
