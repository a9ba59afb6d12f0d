"""Bids and their auctions as Parquet files: one of each per epoch. Making them is not measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMAS = {
    "bids": "auction bigint, bidder bigint, price bigint, channel string",
    "auctions": "id bigint, seller bigint, category int, item string",
}


def make(spark: SparkSession, folder: Path, *, bids: int, auctions: int, auction: str, epochs: int) -> None:
    """Make the folders `bids` and `auctions`; their files, by name, are the epochs. `auction` is the auction of the bid number `id`."""
    columns = {
        "bids": (
            f"{auction} AS auction",
            "id % 5000 AS bidder",
            "pmod(xxhash64(id), 10000) + 1 AS price",
            "concat('channel ', id % 7) AS channel",
        ),
        "auctions": ("id", "pmod(xxhash64(id), 3000) AS seller", "cast(id % 10 AS int) AS category", "concat('item number ', id) AS item"),
    }
    for name, rows in (("bids", bids), ("auctions", auctions)):
        spark.range(0, rows, 1, epochs).selectExpr(*columns[name]).write.parquet(str(folder / name))


def files(folder: Path) -> list[Path]:
    """Return a folder's files, in the order of the epochs."""
    return sorted(folder.glob("*.parquet"))
