"""Runs every test, one file at a time, and writes the results to docs/results/.

After an interruption the next call continues with the files that are left, unless anything has changed since. A file that failed is run
again.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STATE = ROOT / ".headrace" / "test-all.json"
RESULTS = ROOT / "docs" / "results"
PATIENCE = 7200
"""The seconds after which a file counts as hanging."""
WATCHED = ("src", "tests", "docs", "tools", "pyproject.toml", "requirements.lock", "README.md")


def state_of_the_tree() -> str:
    """Return a digest of the files that tests depend on: any change starts over."""
    digest = hashlib.sha256()
    for top in WATCHED:
        place = ROOT / top
        for file in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if file.is_file() and "__pycache__" not in file.parts and RESULTS not in file.parents:
                digest.update(str(file.relative_to(ROOT)).encode() + file.read_bytes())
    return digest.hexdigest()


def load(tree: str) -> dict[str, dict[str, str | float]]:
    try:
        kept = json.loads(STATE.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return kept["done"] if kept["tree"] == tree else {}


def save(tree: str, done: dict[str, dict[str, str | float]]) -> None:
    STATE.parent.mkdir(exist_ok=True)
    fresh = STATE.with_suffix(".new")
    fresh.write_text(json.dumps({"tree": tree, "done": done}, indent=1), encoding="utf-8")
    os.replace(fresh, STATE)


def run(file: str) -> dict[str, str | float]:
    started = time.monotonic()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", file],
            cwd=ROOT,
            # Property tests try many cases, and a missing server is a failure.
            env={**os.environ, "HEADRACE_TEST_SCALE": "full", "HEADRACE_SERVERS": "required"},
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"ok": "NO", "said": f"no end after {PATIENCE // 60} minutes", "seconds": round(time.monotonic() - started, 1)}
    last = next((line for line in reversed(done.stdout.splitlines()) if re.search(r"\d+ (passed|failed|error)", line)), "no tests ran")
    # 5: nothing was collected, as in a file of shared helpers.
    ok = done.returncode in (0, 5)
    if not ok:
        print(done.stdout, done.stderr, sep="\n")
    return {"ok": "yes" if ok else "NO", "said": last.strip("= "), "seconds": round(time.monotonic() - started, 1)}


def report(done: dict[str, dict[str, str | float]]) -> Path:
    """Write the dated table of a complete run."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    day = datetime.now(UTC).strftime("%Y-%m-%d")
    passed = sum(int(match[1]) for row in done.values() if (match := re.search(r"(\d+) passed", str(row["said"]))))
    lines = [
        f"# All tests, {day}",
        "",
        f"Commit {commit}, Python {platform.python_version()}, {os.cpu_count()} cores. {passed} tests passed in {len(done)} files, "
        f"{sum(float(row['seconds']) for row in done.values()) / 60:.0f} minutes.",
        "",
        "| file | passed | result | seconds |",
        "|---|---|---|---|",
        *(f"| {file} | {row['ok']} | {row['said']} | {row['seconds']} |" for file, row in sorted(done.items())),
        "",
    ]
    RESULTS.mkdir(parents=True, exist_ok=True)
    page = RESULTS / f"{day}-tests.md"
    page.write_text("\n".join(lines), encoding="utf-8")
    index()
    return page


def index() -> None:
    """Write the page that lists all results, the newest first."""
    pages = sorted(RESULTS.glob("*-tests.md"), reverse=True)
    links = [f"* [{page.stem.removesuffix('-tests')}]({page.name}): {page.read_text(encoding='utf-8').splitlines()[2]}" for page in pages]
    head = "# Test results\n\nWhat `make test-all` found: every test there is, property tests with many cases.\n\n"
    (RESULTS / "index.md").write_text(head + "\n".join(links) + "\n", encoding="utf-8")


def main() -> int:
    tree = state_of_the_tree()
    done = load(tree)
    files = sorted(str(file.relative_to(ROOT)) for file in (ROOT / "tests").rglob("test_*.py"))
    print(f"{len(files)} files, {sum(row['ok'] == 'yes' for row in done.values())} done before")
    for number, file in enumerate(files, 1):
        if done.get(file, {}).get("ok") == "yes":
            continue
        done[file] = run(file)
        save(tree, done)
        print(f"[{number}/{len(files)}] {file}: {done[file]['said']}", flush=True)
    page = report(done)
    failed = sum(row["ok"] != "yes" for row in done.values())
    print(f"{len(done) - failed} passed, {failed} failed\nwritten: {page.relative_to(ROOT)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
