"""A secret that a job uses is in nothing that the job, its JVM or its checkpoint leave behind or show to others."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.errors import HeadraceError
from headrace.jvm.session import log_file
from tests.spark.conftest import SETTING
from tests.spark.lookups.service import Reply, Service
from tests.unit.connectors.receiver import Answer, Receiver, Request

TOKEN = "tok/Sesame+4711&x"


@pytest.fixture(autouse=True)
def token(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", TOKEN)


def spelled(secret: str) -> list[bytes]:
    inner = (base64.b64encode(b"x" * before + secret.encode())[4:-4] for before in range(3))
    return [secret.encode(), quote(secret, safe="").encode(), json.dumps(secret)[1:-1].encode(), *inner]


def shows(text: bytes) -> bool:
    return any(one in text for secret in (TOKEN, SETTING) for one in spelled(secret))


def processes() -> Iterator[bytes]:
    """The lines by which this process and all below it were started."""
    below = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    parents = [tuple(map(int, line.split())) for line in below.splitlines()]
    mine = {os.getpid()}
    for _ in range(10):
        mine |= {pid for pid, parent in parents if parent in mine}
    for pid in mine - {os.getpid()}:
        try:
            yield (Path("/proc") / str(pid) / "cmdline").read_bytes()
        except OSError:
            continue


def failed(job: hr.Job, checkpoint: Path) -> str:
    with pytest.raises(HeadraceError) as raised:
        job.run(checkpoint=checkpoint, progress=False)
    return "".join(traceback.format_exception(raised.value)) + json.dumps(raised.value.to_json())


def rows(folder: Path) -> hr.Stream:
    (folder / "in").mkdir()
    (folder / "in" / "a.json").write_text('{"id": "a"}\n', encoding="utf-8")
    return hr.read.files(folder / "in", format="json", schema="id string", name="rows")


def left(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def looked_at(job: hr.Job, folder: Path, text: str) -> None:
    """Nothing shows it: the error, all files of the job, explain, the plan, Spark's log, the lines of processes."""
    assert not shows(text.encode()), text
    assert text.count("***") >= 1, text  # it was there to be masked
    files = left(folder)
    assert "c/job.json" in files and "c/errors.log" in files
    assert [name for name, bytes in files.items() if shows(bytes)] == []
    assert not shows(str(job.explain(verbose=True)).encode())
    assert not shows(json.dumps([job.plan.to_json(), job.explain().to_json()]).encode())
    log = log_file()
    assert log is not None and not shows(log.read_bytes())
    assert not any(shows(line) for line in processes())


def test_a_sink_whose_server_quotes_what_it_is_sent(tmp_path: Path) -> None:
    def say(request: Request, number: int) -> Answer:
        return Answer(403, f"{request.headers['Authorization']} {quote(request.headers['X-Key'], safe='')} {json.dumps(request.headers)}")

    with Receiver(say) as server:
        sent = rows(tmp_path).write.http(server.url, token=hr.secret("TOKEN"), headers={"X-Key": hr.secret("TOKEN")}, name="sent")
        job = hr.job("send", sent)
        looked_at(job, tmp_path, failed(job, tmp_path / "c"))


def test_a_table_whose_server_quotes_the_request(tmp_path: Path) -> None:
    quoted: list[str] = []

    def say(request: Any) -> Reply:
        quoted.append(request.headers["Authorization"])
        # where 200 characters end, the secret is cut in two
        return Reply(401, "-" * 180 + request.headers["Authorization"])

    with Service() as service:
        service.reply = say
        table = hr.lookup.http(f"{service.root}/t/{{id}}", "id string, name string", token=hr.secret("TOKEN"), name="t")
        job = hr.job("ask", rows(tmp_path).lookup(table, on="id").write.files(tmp_path / "out", format="json", name="out"))
        looked_at(job, tmp_path, failed(job, tmp_path / "c"))
    assert quoted[0] == f"Bearer {TOKEN}"


def test_a_secret_that_is_not_there(tmp_path: Path) -> None:
    sent = rows(tmp_path).write.http("http://localhost:1/", token=hr.secret("NOWHERE"), name="sent")
    job = hr.job("send", sent)
    with pytest.raises(HeadraceError) as raised:
        job.run(checkpoint=tmp_path / "c", progress=False)
    site = raised.value.site
    assert raised.value.code == "SECRET_MISSING" and site is not None and site.text.startswith("sent = rows(tmp_path)"), raised.value


def test_a_sink_of_somebody_else(tmp_path: Path) -> None:
    def send(frame: Any, epoch: int) -> None:
        raise ValueError(f"Invalid header value {hr.secret('TOKEN').read().encode()!r}")

    job = hr.job("call", rows(tmp_path).write.foreach_batch(send, name="sent"))
    looked_at(job, tmp_path, failed(job, tmp_path / "c"))


def test_the_log_of_spark(spark: SparkSession) -> None:
    hr.secret("TOKEN").read()
    hr.session(conf={"spark.hadoop.test.secret": SETTING})
    java: Any = spark._jvm
    logger = java.org.slf4j.LoggerFactory.getLogger("test")
    logger.error(f"first {TOKEN} and {quote(TOKEN, safe='')}")
    cause = java.java.lang.RuntimeException(f"second {TOKEN}", java.java.io.IOException(f"third {SETTING}"))
    logger.error("fourth", cause)
    java.java.util.logging.Logger.getLogger("driver").warning(f"fifth {TOKEN}")
    log = log_file()
    assert log is not None
    text = log.read_text(encoding="utf-8")
    assert "first *** and ***" in text and "second ***" in text and "third ***" in text and "fifth ***" in text
    assert not shows(text.encode())
    assert log.stat().st_mode & 0o077 == 0 and log.parent.stat().st_mode & 0o077 == 0


def test_a_setting_that_is_secret_is_on_no_line_and_in_no_error(spark: SparkSession) -> None:
    assert spark.conf.get("spark.hadoop.test.secret") == SETTING
    lines = list(processes())
    assert any(b"spark.driver.memory" in line for line in lines)
    assert not any(shows(line) for line in lines)
    with pytest.raises(HeadraceError, match=r"expected spark\.hadoop\.test\.secret = \*\*\*, but the running session has \*\*\*"):
        hr.session(conf={"spark.hadoop.test.secret": "another one"})


# what somebody else on the machine reads of a folder; 2 where nobody else can be
_OTHERS = """
import os, sys
from pathlib import Path
if os.getuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
contents = []
for top, folders, files in os.walk(sys.argv[1]):
    for name in files:
        try: contents.append(open(os.path.join(top, name), "rb").read())
        except OSError: pass
try: os.listdir(sys.argv[1]); contents.append(b"listed")
except OSError: pass
print(len(contents))
"""


def test_nobody_else_reads_a_checkpoint() -> None:
    before = os.umask(0o022)
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            folder.chmod(0o755)  # so that what is closed to others is the checkpoint's own doing
            job = hr.job("copy", rows(folder).select(n="CAST(id AS int)").write.files(folder / "out", format="json", name="out"))
            for _ in range(2):
                assert sum(job.run(checkpoint=folder / "c", flush=False, progress=False).dead_letters.values()) == 1
                assert oct((folder / "c").stat().st_mode & 0o777) == "0o700"
                if os.getuid() == 0:
                    assert [others_read(folder / part) for part in ("c", "in")] == ["0", "2"]
                (folder / "c").chmod(0o755)  # as versions before left it
    finally:
        os.umask(before)


def others_read(folder: Path) -> str:
    return subprocess.run([sys.executable, "-c", _OTHERS, folder], capture_output=True, text=True, check=True).stdout.strip()
