"""Get started, step by step: its files are written, its commands run in a terminal, and what they print is compared.

A block with the title "terminal 2" runs in a terminal of its own until the page ends. From then on, a command after which the page shows
output is repeated until it prints that, as a reader would who waits for it. Blocks marked `bash` are only read: they install what is here.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.docs.test_examples import ROOT, titled

PAGE = ROOT / "docs" / "start" / "index.md"
DEADLINE = 120.0


def test_get_started(tmp_path: Path) -> None:
    surroundings = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "PYTEST_ADDOPTS": ""}
    steps = titled(PAGE)
    running: list[subprocess.Popen[bytes]] = []
    try:
        for number, (kind, title, text) in enumerate(steps):
            if title.startswith("terminal"):
                progress = tmp_path / "progress"
                with progress.open("wb") as out:
                    running.append(subprocess.Popen(["bash", "-c", f"exec {text}"], cwd=tmp_path, env=surroundings, stdout=out, stderr=out))
            elif title:
                (tmp_path / title).write_text(text, encoding="utf-8")
            elif kind == "sh":
                printed = _printed(text, tmp_path, surroundings)
                if steps[number + 1][0] != "text":
                    continue
                expected = sorted(steps[number + 1][2].splitlines())
                until = time.monotonic() + DEADLINE
                while running and printed != expected and time.monotonic() < until:
                    assert running[0].poll() is None, progress.read_text(encoding="utf-8")
                    printed = _printed(text, tmp_path, surroundings)
                assert printed == expected, text
    finally:
        for terminal in running:
            terminal.send_signal(signal.SIGINT)
        ends = [terminal.wait(DEADLINE) for terminal in running]
    assert ends == [130]


def _printed(command: str, folder: Path, surroundings: dict[str, str]) -> list[str]:
    """The lines that a command prints, sorted: rows come in no order. Those of stderr where it fails."""
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=surroundings, capture_output=True, text=True, check=False)
    return sorted((done.stdout if done.returncode == 0 else done.stderr).splitlines())
