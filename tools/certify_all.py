"""The fault matrix. Every job of tests/faults/jobs is killed at every point, made to fail there, and killed at random, as a whole or in one
executor. Servers are restarted or hang in the middle of an epoch. Checkpoints are restored from backups. Independent readers compare the
content of the sinks: tests/faults/readers.py.

Results are stored in docs/results/faults.json, cell by cell with date and commit, and shown in docs/concepts/faults.md. The next call
continues an interrupted one; `--again` starts over. Each call reports lost and doubled rows so far. `--page` only writes the table.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.faults.jobs.served import Servers

    from headrace.certify import Certificate, Tried

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

JOBS = ROOT / "tests" / "faults" / "jobs"
RESULTS = ROOT / "docs" / "results" / "faults.json"
PAGE = ROOT / "docs" / "concepts" / "faults.md"
BEGIN, END = "<!-- the matrix -->", "<!-- its end -->"

DRIVER, EXECUTOR = 20, 4
"""The random kills of each job: of the whole process, and of one executor."""
ON_EXECUTORS = ("in a task", "before state commit", "after state commit", "after staging")
RESTARTED, HUNG = "server restarted", "server hung"
AHEAD = (1, 4, 50)
"""The epochs by which sinks are ahead of a restored checkpoint, in one round each."""
OUT_AT = ("in a task", "before sink commit", "in sink commit")
"""The points at which a server is restarted or hangs."""

Cells = dict[str, dict[str, dict[str, Any]]]


def jobs() -> list[str]:
    """Return the files that define a job."""
    return sorted(file.stem for file in JOBS.glob("*.py") if "\njob = " in file.read_text(encoding="utf-8"))


def kept() -> Cells:
    try:
        cells: Cells = json.loads(RESULTS.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return cells


def keep(cells: Cells) -> None:
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(cells, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), cells), encoding="utf-8")


def run(name: str, cells: Cells, only: str = "") -> bool:
    """Try what is left of a job, or of its rounds with this prefix. Returns False if a round, now or stored, broke a promise."""
    from tests.faults.readers import READERS

    from headrace.certify import certify
    from headrace.certify.certificate import RESTORED
    from headrace.certify.kills import FAILED
    from headrace.certify.process import CLUSTER
    from headrace.points import POINTS

    mine = cells.setdefault(name, {})
    done = {cell["round"] for cell in mine.values()}
    rounds: list[tuple[str, dict[str, Any]]] = [
        ("points", {"points": list(POINTS)}),
        (FAILED, {"points": [], "fails": list(POINTS)}),
        ("at random", {"points": [], "random": DRIVER}),
        ("executors", {"points": [], "executors": EXECUTOR, "epochs": 4}),
        ("tasks of executors", {"points": ON_EXECUTORS, "master": CLUSTER, "epochs": 4}),
        *((f"{RESTORED} {epochs}", {"points": [], "restored": (epochs,)}) for epochs in AHEAD),
    ]
    module = importlib.import_module(f"tests.faults.jobs.{name}")
    fine = True
    opened: AbstractContextManager[Servers | None] = getattr(module, "servers", nullcontext)()
    with opened as servers:
        if servers is not None:
            outages = {RESTARTED: servers.restart, HUNG: servers.hang}
            rounds += [(what, {"points": OUT_AT, "outages": {what: outage}}) for what, outage in outages.items()]
        for what, options in rounds:
            if not what.startswith(only) or what in done:
                continue
            print(f"{name}: {what}", flush=True)
            addresses = {} if servers is None else servers.addresses
            certificate = certify(module.job, servers=addresses, readers=READERS, told=_report, **options)
            print(certificate, flush=True)
            # A reader that finds no rows would miss none either: that is no result.
            if not all(sink.rows for sink in certificate.sinks):
                fine = False
                continue
            fine = fine and certificate.holds
            mine.update(cells_of(certificate, what))
            keep(cells)
    return fine and not any(map(_broken, mine.values()))


def cells_of(certificate: Certificate, what: str) -> dict[str, dict[str, Any]]:
    """Return the cells of a round, by place."""
    executors = what in ("executors", "tasks of executors")
    common = {"round": what, "executors": executors, "date": certificate.date, "commit": commit()}
    on = " on an executor" if executors else ""
    return {f"{one.point}@{one.of}{on}": {**one.to_json(), **common} for one in _together(certificate.tried)}


def _report(text: str) -> None:
    print(f"  {text}", flush=True)


def _together(tried: Iterable[Tried]) -> Iterator[Tried]:
    """Join backups of one kind; those with which something went wrong stay separate."""
    from headrace.certify.backups import kind
    from headrace.certify.certificate import RESTORED, Tried

    alike: dict[tuple[str, str], list[Tried]] = {}
    for one in tried:
        if one.point.startswith(RESTORED) and not (one.lost or one.doubled or one.failed):
            alike.setdefault((one.point, kind(one.of)), []).append(one)
        else:
            yield one
    yield from (replace(Tried.sum(some), of=of) for (_, of), some in alike.items())


def commit() -> str:
    return subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def with_table(page: str, cells: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    """Return the page with the table of these results."""
    head, _, rest = page.partition(BEGIN)
    return f"{head}{BEGIN}\n{table(cells)}\n{END}{rest.partition(END)[2]}"


def table(cells: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    """Return a line for each point, a column for each job: kills, and the rows lost and doubled, if any."""
    from headrace.certify.certificate import RESTORED
    from headrace.certify.kills import FAILED
    from headrace.points import POINTS

    names = sorted(cells)
    if not names:
        return "No results yet."
    restored = {name: [cell for cell in cells[name].values() if cell["point"].startswith(RESTORED)] for name in names}
    killed = {name: [cell for cell in cells[name].values() if not cell["point"].startswith(RESTORED)] for name in names}
    lines = [("fault", *names), ("---", *["---"] * len(names))]
    for kind in (*POINTS, *map(_on_executor, ON_EXECUTORS), "at random", _on_executor("at random"), FAILED, RESTARTED, HUNG):
        row = [_cell([cell for cell in killed[name] if _kind(cell) == kind]) for name in names]
        if any(row):
            lines.append((kind, *row))
    all_of_them = [cell for name in names for cell in killed[name]]
    out = sum(cell["kills"] for cell in all_of_them if _kind(cell) in (RESTARTED, HUNG))
    servers = f", {out:,} of them of a server" if out else ""
    where = "Measured by `make certify`; `docs/results/faults.json` has each cell with its commit."
    text = f"{_summed(all_of_them, f'faults{servers}')} {where}\n\n{_lines(lines)}"
    return text + (f"\n\n{_restored(restored)}" if any(restored.values()) else "")


def _restored(cells: Mapping[str, list[Mapping[str, Any]]]) -> str:
    """Return a line for each distance between checkpoint and sinks, a column for each job: starts and their outcomes."""
    from headrace.certify.restored import UNNOTICED

    names = [name for name, mine in cells.items() if mine]
    points = sorted({cell["point"] for name in names for cell in cells[name]}, key=lambda point: [len(point), point])
    lines = [("", *names), ("---", *["---"] * len(names))]
    for point in points:
        outcomes = (_outcomes([cell for cell in cells[name] if cell["point"] == point]) for name in names)
        lines.append((point.replace("put back", "restored"), *outcomes))
    all_of_them = [cell for name in names for cell in cells[name]]
    codes: Counter[str] = Counter()
    for cell in all_of_them:
        codes.update(cell["outcomes"])
    summary = ", ".join(f"{what} {count:,}" for what, count in codes.most_common())
    why = "the sink stores no identity of its epochs, and received some rows again"
    unnoticed = f" Rows of the starts that were {UNNOTICED} are not counted: {why}." if codes[UNNOTICED] else ""
    return f"{_summed(all_of_them, 'starts on restored checkpoints')} Outcomes: {summary}.{unnoticed}\n\n{_lines(lines)}"


def _outcomes(cells: list[Mapping[str, Any]]) -> str:
    from headrace.certify.restored import EXACT, UNNOTICED

    if not cells:
        return ""
    starts: Counter[str] = Counter()
    for cell in cells:
        for what, count in cell["outcomes"].items():
            starts[what if what in (EXACT, UNNOTICED) else "refused"] += count
    failed = " **failed**" if any(map(_broken, cells)) else ""
    return ", ".join(f"{starts[what]} {what}" for what in ("refused", EXACT, UNNOTICED) if starts[what]) + failed


def _summed(cells: list[Mapping[str, Any]], what: str) -> str:
    kills, lost, doubled = (sum(_count(cell[kind]) for cell in cells) for kind in ("kills", "lost", "doubled"))
    dates = sorted({cell["date"] for cell in cells}) or [""]
    when = dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
    return f"{kills:,} {what}, {when}: {lost:,} rows lost, {doubled:,} rows duplicated."


def _lines(lines: list[tuple[str, ...]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _kind(cell: Mapping[str, Any]) -> str:
    """Return the line of the table to which a cell belongs."""
    from headrace.certify.kills import FAILED

    for kind in (FAILED, RESTARTED, HUNG):
        if cell["point"].startswith(kind):
            return kind
    return _on_executor(cell["point"]) if cell["executors"] else str(cell["point"])


def _on_executor(point: str) -> str:
    return f"{point}, an executor"


def _cell(tried: list[Mapping[str, Any]]) -> str:
    if not tried:
        return ""
    kills, lost, doubled = (sum(_count(cell[what]) for cell in tried) for what in ("kills", "lost", "doubled"))
    failed = " **failed**" if any(cell["failed"] for cell in tried) else ""
    return f"{kills}{f' **lost {lost:,}**' if lost else ''}{f' **duplicated {doubled:,}**' if doubled else ''}{failed}"


def _broken(cell: Mapping[str, Any]) -> bool:
    return bool(_count(cell["lost"]) or _count(cell["doubled"]) or cell["failed"])


def _count(value: int | Mapping[str, int]) -> int:
    return value if isinstance(value, int) else sum(value.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("jobs", nargs="*", help="only these (default: all)")
    parser.add_argument("--again", action="store_true", help="forget what was kept of them")
    parser.add_argument(
        "--only",
        default="",
        metavar="ROUND",
        help="only rounds whose names begin so: points, made to fail, at random, executors, tasks of executors, put back, server",
    )
    parser.add_argument("--page", action="store_true", help="only write the table")
    options = parser.parse_args()
    cells = kept()
    fine = True
    for name in [] if options.page else options.jobs or jobs():
        if options.again:
            cells.pop(name, None)
        fine = run(name, cells, options.only) and fine
    keep(cells)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
