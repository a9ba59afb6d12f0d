"""`headrace certify FILE`"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from headrace.cli import load
from headrace.cli.numbers import whole
from headrace.durable import named
from headrace.errors import EXIT_CODES, HeadraceError
from headrace.plan import DisplayNames
from headrace.points import POINTS

_MOST = 100_000
"""The most epochs, kills or epochs before a restore: each takes seconds."""
EPILOG = """\
The job itself does not run. Copies of it read the first rows of its sources and write to temporary places. Each copy is killed at some
points of its epochs and restarted until it ends. Then the contents of its sinks are compared with those of an undisturbed run.
`headrace docs faults` lists the points.
"""


def add(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "certify", help="kill copies of a job at all points, and compare results", description="Certify the job of a file.", epilog=EPILOG
    )
    load.arguments(parser)
    parser.add_argument("--points", metavar="NAMES", help="kill at these points, separated by commas (default: all; `none`: none)")
    parser.add_argument("--fails", action="store_true", help="also make the job fail at these points")
    parser.add_argument("--kills", metavar="N", type=whole(0, _MOST), default=0, help="also kill this many times at random")
    parser.add_argument(
        "--executors",
        metavar="N",
        type=whole(0, _MOST),
        default=0,
        help="also kill an executor this many times; these copies run on two executors of this machine",
    )
    parser.add_argument(
        "--restore",
        metavar="N",
        type=whole(1, _MOST),
        action="append",
        default=[],
        help="also restore earlier copies of the checkpoint when the sinks are N epochs ahead of it; may be repeated",
    )
    parser.add_argument("--seed", metavar="N", type=whole(), default=0, help="the seed of the random moments (default: 0)")
    parser.add_argument(
        "--rows", metavar="N", type=whole(1), default=2000, help="approximate number of rows to read from each source (default: 2000)"
    )
    parser.add_argument("--epochs", metavar="N", type=whole(1, _MOST), default=7, help="approximate number of epochs (default: 7)")
    parser.add_argument(
        "--server",
        metavar="CONNECTOR=ADDRESS",
        action="append",
        default=[],
        help="write the copies of this connector's sinks there; may be repeated",
    )
    parser.add_argument("--parallel", metavar="N", type=whole(1, 64), default=2, help="copies that run at once (default: 2)")
    parser.add_argument("--out", metavar="FOLDER", help="also write the certificate there, as NAME.json and NAME.md")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    # imported here, since no other command needs it
    from headrace.certify import certify

    job = load.job(options)
    # checked first, because the copies may run for an hour
    out = named.folder(options.out) if options.out else None
    points = None if options.points is None else [name.strip() for name in options.points.split(",") if name.strip() not in ("", "none")]
    certificate = certify(
        job,
        points=points,
        fails=(POINTS if points is None else points) if options.fails else (),
        random=options.kills,
        executors=options.executors,
        seed=options.seed,
        rows=options.rows,
        epochs=options.epochs,
        servers=_servers(options.server),
        restored=options.restore,
        parallel=options.parallel,
        told=lambda text: print(f"headrace: {text}", file=sys.stderr, flush=True),
    ).displayed(DisplayNames.of(job.plan))
    print(certificate)
    if out is not None:
        named.write(out / f"{job.name}.json", json.dumps(certificate.to_json(), indent=1) + "\n")
        named.write(out / f"{job.name}.md", certificate.markdown())
    return 0 if certificate.holds else EXIT_CODES[certificate.fault]


def _servers(texts: list[str]) -> dict[str, str]:
    addresses = {}
    for text in texts:
        connector, equals, address = text.partition("=")
        if not (connector and equals and address):
            raise HeadraceError("BAD_SETTING", f"--server {text} has no connector and address", hint="write --server kafka=host:9092")
        addresses[connector] = address
    return addresses
