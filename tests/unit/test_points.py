"""Points: how one is armed, what it does, and that it does it once."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.points import POINTS, VARIABLE, Armed

ROOT = Path(__file__).resolve().parents[2]

PASSING = """
from headrace.points import Injected, point

for epoch in range(3):
    for sink in ("out", "#dead_letters"):
        try:
            point("before sink commit", sink)
        except Injected as failure:
            print("failed:", failure, epoch)
print("over")
"""


def environment(armed: str, folder: Path | None) -> dict[str, str]:
    variables = {name: text for name, text in os.environ.items() if not name.startswith("HEADRACE_POINT")}
    variables["PYTHONPATH"] = os.pathsep.join(sys.path)
    if armed:
        variables[VARIABLE] = armed
    if folder is not None:
        variables["HEADRACE_POINT_FOLDER"] = str(folder)
    return variables


def run(armed: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", PASSING], env=environment(armed, folder), capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("text", "armed"),
    [
        ("in a task:kill", Armed("in a task", "", 1, "kill")),
        ("in a task#12:hang", Armed("in a task", "", 12, "hang")),
        ("in a task@#dead_letters:fail", Armed("in a task", "#dead_letters", 1, "fail")),
        ("in a task@#dead_letters#2:fail", Armed("in a task", "#dead_letters", 2, "fail")),
        ("before sink commit@my sink#3:kill", Armed("before sink commit", "my sink", 3, "kill")),
    ],
)
def test_text_of_an_armed_point(text: str, armed: Armed) -> None:
    assert Armed.parse(text) == armed
    assert Armed.parse(str(armed)) == armed


@pytest.mark.parametrize("text", ["in a task", "in a task:explode", ":kill", "in a task#x:kill", "in a task@:kill"])
def test_what_arms_nothing(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"HEADRACE_POINT is NAME[@OF][#N]:kill|hang|pause|fail, not {text!r}")):
        Armed.parse(text)


def test_nothing_is_armed() -> None:
    assert (run("").stdout, run("").returncode) == ("over\n", 0)


def test_kill_at_the_third_passing() -> None:
    done = run("before sink commit@out#3:kill")
    assert (done.stdout, done.returncode) == ("", -9)


def test_fail_and_go_on() -> None:
    assert run("before sink commit@#dead_letters#2:fail").stdout == "failed: before sink commit of #dead_letters 1\nover\n"


def test_one_acts_once_and_all_are_noted(tmp_path: Path) -> None:
    assert run("before sink commit@out:kill", tmp_path).returncode == -9
    assert run("before sink commit@out:kill", tmp_path).stdout == "over\n"
    assert (tmp_path / "passed").read_text().splitlines() == [
        "before sink commit@out",
        *["before sink commit@out", "before sink commit@#dead_letters"] * 3,
    ]
    assert (tmp_path / "acted").exists()


def test_hang_until_somebody_ends_it(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", PASSING], env=environment("before sink commit@out:hang", tmp_path))
    try:
        while not (tmp_path / "acted").exists():
            assert child.poll() is None
        assert child.poll() is None
        assert (tmp_path / "passed").read_text() == "before sink commit@out\n"
    finally:
        child.kill()
        assert child.wait() == -9


def test_the_page_has_all_points() -> None:
    page = (ROOT / "docs" / "concepts" / "faults.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+) \| (.+) \|$", page.partition("At a point")[0], re.MULTILINE)
    assert rows[1:] == list(POINTS.items())
