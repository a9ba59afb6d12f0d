"""Streams without an end in the client: at the prompt of a terminal, as a person types, and as lines for a program."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pexpect
import pytest

ROOT = Path(__file__).resolve().parents[3]


def surroundings(folder: Path) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": f"{ROOT / 'src'}",
        "XDG_STATE_HOME": str(folder / "state"),
        "HEADRACE_MASTER": "local[2]",
        "PROMPT_TOOLKIT_NO_CPR": "1",  # this terminal does not tell where its cursor is
        "PYTHONUTF8": "1",
        "TERM": "xterm-256color",
    }


@pytest.mark.full
def test_changes_for_a_program_that_reads_lines(tmp_path: Path) -> None:
    script = """
        CREATE SOURCE ticks WITH (connector = 'rate', rows_per_second = 10);
        SELECT value % 2 AS odd, count(*) AS n FROM ticks GROUP BY value % 2
        """
    command = [sys.executable, "-m", "headrace", "sql", "-e", script, "--output", "json"]
    with subprocess.Popen(command, cwd=tmp_path, env=surroundings(tmp_path), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [next(process.stdout) for _ in range(4)]
        process.send_signal(signal.SIGINT)
        lines += process.stdout
        assert process.wait() == 130
    changes = [json.loads(line) for line in lines]
    assert changes[0]["_change"] == "insert"
    net = Counter[int]()
    for change in changes:
        net[change["odd"]] += {"insert": 1, "delete": -1}[change["_change"]]
    assert net == {0: 1, 1: 1}


def test_a_session(tmp_path: Path) -> None:
    child = pexpect.spawn(
        sys.executable,
        ["-m", "headrace", "sql"],
        cwd=str(tmp_path),
        env=surroundings(tmp_path),
        dimensions=(40, 120),
        encoding="utf-8",
        timeout=120,
        use_poll=True,  # select() knows files up to number 1023 alone
    )
    with (tmp_path / "session.txt").open("w") as log:
        child.logfile_read = log
        try:
            _talk(child)
            child.expect(pexpect.EOF)
            child.wait()
        finally:
            child.close(force=True)
    assert child.exitstatus == 0
    kept = (tmp_path / "state" / "headrace" / "history").read_text()
    assert "+CREATE VIEW parity AS\n+  SELECT value % 2 AS odd" in kept


def _talk(child: pexpect.spawn[str]) -> None:
    def says(text: str) -> None:
        child.expect(r"sql>\x1b")  # with nothing typed behind it
        child.send(text)

    says("CREATE SOURCE ticks WITH (connector = 'rate', rows_per_second = 10);\r")
    child.expect_exact("source ticks: timestamp timestamp, value bigint")
    # over two lines, with a completed name
    says("CREATE VIEW parity AS\r")
    child.expect_exact("...")
    child.send("  SELECT value % 2 AS odd, count(*) AS n FROM tick")
    child.expect(r"t[^ ]*i[^ ]*c[^ ]*k")
    child.send("\t")
    child.expect("s")
    child.send(" GROUP BY value % 2;\r")
    child.expect_exact("view parity: odd bigint, n bigint")
    # edited: the last letters are taken back
    says("SELECT 1200\x7f\x7f3 AS edited;\r")
    child.expect(r"│ +123 │")
    child.expect_exact("(1 row)")
    # live, until Ctrl-C
    says("SELECT * FROM parity;\r")
    child.expect(r"2 rows · epoch \d+ · running · Ctrl-C or q to end")
    child.expect_exact("~")
    child.sendintr()
    child.expect(r"2 rows · epoch \d+ · stopped")
    says("SELECT valu FROM ticks;\r")
    child.expect("BAD_QUERY")
    child.expect_exact("at <sql>:1:8: SELECT valu FROM ticks")
    # brought back by the arrow up, mended behind its second word, and live until q
    says("\x1b[A\x01\x1bf\x1bfe\r")
    child.expect(r"epoch [1-9]\d* · running")
    child.send("q")
    child.expect(r"epoch \d+ · stopped")
    # a line that is thrown away, by Ctrl-C at the prompt
    says("SELECT nonsense")
    child.send("\x03")
    says("SHOW VIEWS;\r")
    child.expect_exact("parity")
    child.expect_exact("(1 row)")
    says("QUIT\r")
