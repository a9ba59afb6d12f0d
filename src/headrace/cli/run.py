"""`headrace run FILE`"""

from __future__ import annotations

import argparse
from typing import Any

from headrace.cli import load
from headrace.interrupts import EXIT_CODE

EPILOG = """\
Ctrl-C finishes the epoch and stops; a second one stops at once. The next start continues from there.
Options take precedence over HEADRACE_* variables, and these over headrace.toml (`headrace docs settings`).
"""


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser("run", help="run a job", description="Run the job of a file.", epilog=EPILOG)
    load.arguments(parser)
    parser.add_argument("--checkpoint", metavar="FOLDER", help="where the job keeps its state (default: .headrace/NAME)")
    parser.add_argument(
        "--every",
        metavar="DURATION",
        help='start an epoch this often, such as "10 seconds" or 10 (default, and 0: as soon as the last one ends)',
    )
    parser.add_argument("--partitions", metavar="N", help="tasks per level, fixed with the first run of a checkpoint (default: cores)")
    parser.add_argument("--fresh", action="store_true", help="remove the checkpoint and what the sinks wrote, and start over")
    parser.add_argument(
        "--flush",
        action=argparse.BooleanOptionalAction,
        help="at the end of bounded input, handle held rows, close windows, fire timers and seal the job (default), or keep them",
    )
    parser.add_argument("--standby", action="store_true", help="while another process works on the checkpoint, wait; then take over")
    parser.add_argument(
        "--metrics-port",
        metavar="PORT",
        help="serve metrics for Prometheus and a status page on this port while the job runs (0: a free one)",
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress while the job runs")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    summary = load.job(options).run(
        checkpoint=options.checkpoint,
        every=options.every,
        partitions=options.partitions,
        fresh=options.fresh,
        flush=options.flush,
        standby=options.standby,
        metrics_port=options.metrics_port,
        progress=False if options.quiet else None,
    )
    print(summary)
    return EXIT_CODE if summary.stopped else 0
