"""A job from files to a place of one kind, for two processes of which one dies or falls asleep.

`python -m tests.faults.places FOLDER KIND ADDRESS [--standby]`
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import headrace as hr
from tests.servers import mariadb, postgres


def written(stream: hr.Stream, folder: Path, kind: str, address: str, name: str, key: str | None) -> Any:
    """A sink of the kind, in a place that is called as it is."""
    match kind:
        case "kafka":
            return stream.write.kafka(f"{folder.name}-{name}", servers=address, key=key, create={"partitions": 2}, name=name)
        case "postgresql":
            secret = hr.secret(postgres.Postgres.variable)
            return stream.write.jdbc(address, name, key=key, user=postgres.USER, password=secret, name=name)
        case "mariadb":
            secret, plain = hr.secret(mariadb.MariaDb.variable), {"sslMode": "disable"}
            return stream.write.jdbc(address, name, key=key, user=mariadb.USER, password=secret, options=plain, name=name)
        case "delta":
            return stream.write.delta(folder / name, key=key, name=name)
    catalog = {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": str(folder / "wh")}
    return stream.write.iceberg(f"db.{name}", catalog=catalog, key=key, name=name)


def job(folder: Path, kind: str, address: str) -> hr.Job:
    rows = hr.read.files(folder / "in", format="json", schema="k string, id bigint", files_per_epoch=1, name="rows")
    sums = rows.group_by("k").agg(n="count(*)", s="sum(id)")
    return hr.job("placed", written(rows, folder, kind, address, "added", None), written(sums, folder, kind, address, "summed", "k"))


if __name__ == "__main__":
    place, kind, address = sys.argv[1:4]
    print(job(Path(place), kind, address).run(checkpoint=Path(place) / "state", progress=False, standby="--standby" in sys.argv))
