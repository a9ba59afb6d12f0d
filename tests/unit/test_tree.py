"""House rules over all files of the repository."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_modules_are_short() -> None:
    files = [file for kind in ("*.py", "*.scala") for file in (ROOT / "src").rglob(kind)]
    assert [str(file.relative_to(ROOT)) for file in files if len(file.read_text(encoding="utf-8").splitlines()) >= 400] == []


EMPTY_WORDS = {"found", "told", "made", "given", "asked", "said"}
"""Words that do not say what a value is."""

STAY = {
    ("cli/doctor.py", "found"),  # a key of `doctor --json`
    ("jvm/doctor.py", "found"),
    ("connectors/lake/sink.py", "allow_not_found"),  # a parameter of pyarrow
    ("ops/lookup.py", "given"),  # the field of a node that is stored, and what is derived from it
    ("ops/parts.py", "given"),
    ("spark/compile/feeds.py", "given"),
    ("spark/compile/fields.py", "given"),
    ("spark/compile/lower/lookup.py", "given"),
    ("ports/ownership.py", "made"),  # a field that connectors of others set
    ("spark/run/summary.py", "asked"),  # a metric
    ("monitor/page.py", "asked"),
    ("engine/job.py", "said"),  # parameters of the public API, which keep their names
    ("certify/certifying.py", "told"),
    ("cli/certify.py", "told"),
}


def test_names_say_what_a_value_is() -> None:
    kinds = ("id", "arg", "attr", "name")
    source = ROOT / "src" / "headrace"
    names = {
        (file.relative_to(source).as_posix(), name)
        for file in source.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        for name in (getattr(node, kind, None) for kind in kinds)
        if isinstance(name, str) and not EMPTY_WORDS.isdisjoint(name.lower().split("_"))
    }
    assert names == STAY


def test_no_file_names_a_registry() -> None:
    known = ("pypi.org", "pythonhosted.org", "repo1.maven.org", "repo.maven.apache.org", "registry.npmjs.org")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    named = [
        name
        for name in listed
        if name
        # Maven Central is the default for users, and named in one place.
        and name not in ("tests/unit/test_tree.py", "src/headrace/jvm/fetch.py")
        and any(host in (ROOT / name).read_text(encoding="utf-8", errors="replace") for host in known)
    ]
    assert named == []
