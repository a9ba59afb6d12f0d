"""The option `--share`."""

from __future__ import annotations

import argparse


def argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--share",
        type=float,
        metavar="PART",
        help="the part of the time for which each task works, which leaves cores to the job that runs: 0.25 for a quarter (default: all)",
    )
