"""The option `--share`."""

from __future__ import annotations

import argparse


def argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--share",
        type=_share,
        metavar="PART",
        help="the part of the time for which each task works, which leaves cores to the job that runs: 0.25 for a quarter (default: all)",
    )


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number above 0 and at most 1")
    return share
