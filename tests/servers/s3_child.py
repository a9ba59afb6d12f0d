"""A job for a process that will be killed: files → a place in S3. `python s3_child.py FOLDER KIND PLACE`, Hadoop's settings in S3_SETTINGS."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import headrace as hr

SCHEMA = "k string, id bigint"


def job(folder: Path, kind: str, place: str) -> hr.Job:
    rows = hr.read.files(folder / "in", format="json", schema=SCHEMA, files_per_epoch=1, name="rows")
    sums = rows.group_by("k").agg(n="count(*)", s="sum(id)")
    settings = json.loads(os.environ["S3_SETTINGS"])
    address, user, secret = settings["fs.s3a.endpoint"], settings["fs.s3a.access.key"], hr.secret("TEST_S3_SECRET")
    if kind == "delta":
        options = {"AWS_ENDPOINT_URL": address, "AWS_ACCESS_KEY_ID": user, "AWS_SECRET_ACCESS_KEY": secret}
        options |= {"AWS_REGION": "us-east-1", "AWS_ALLOW_HTTP": "true"}
        return hr.job(
            "killed",
            rows.write.delta(f"{place}/rows", storage_options=options, partition_by="k", name="out"),
            sums.write.delta(f"{place}/sums", storage_options=options, key="k", name="summed"),
        )
    if kind == "iceberg":
        catalog = {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": place, "s3.endpoint": address}
        catalog |= {"s3.access-key-id": user, "s3.secret-access-key": secret, "s3.region": "us-east-1"}
        return hr.job(
            "killed",
            rows.write.iceberg("db.rows", catalog=catalog, partition_by="k", name="out"),
            sums.write.iceberg("db.sums", catalog=catalog, key="k", name="summed"),
        )
    return hr.job("killed", rows.write.files(place, format=kind, name="out"))


if __name__ == "__main__":
    work, what, where = sys.argv[1:]
    settings = json.loads(os.environ["S3_SETTINGS"])
    hr.session(conf={f"spark.hadoop.{name}": value for name, value in settings.items()})
    print(job(Path(work), what, where).run(checkpoint=Path(work) / "state", progress=False))
