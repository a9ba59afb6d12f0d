"""Pages for contributors are true where they name files, folders and numbers."""

from __future__ import annotations

import re
from pathlib import Path

from headrace.certify import certificate
from headrace.durable import segments
from headrace.plan import Role, codec
from headrace.plan.node import REGISTRY
from headrace.spark.checkpoint import ancestors, channel, folder, history, record, savepoints
from headrace.spark.compile import document
from headrace.spark.portable import contents

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "contribute").glob("*.md"))
_NAMED = re.compile(r"(?<![\w/.-])((?:\w+/)+(?:[\w-]+\.(?:py|scala|md|txt))?|[\w-]+\.(?:py|md))(?![\w/])")
OF_CHECKPOINTS = ("job.json", "record/", "epochs/", "queries/", "_headrace/", "certificates/")
"""Folders of jobs, not of this repository."""
ROOTS = (ROOT, ROOT / "src" / "headrace", ROOT / "src" / "headrace" / "kernel", ROOT / "docs")
"""Where a name on these pages may begin."""
TITLES = ("State and cost of each operator", "Where they are")
"""The tables of the map of operators."""


def test_what_is_named_is_there() -> None:
    named = {
        (page.name, path)
        for page in PAGES
        for path in _NAMED.findall(re.sub(r"\]\([^)]*\)", "]", page.read_text(encoding="utf-8")))
        if not path.startswith(OF_CHECKPOINTS) and "NAME" not in path
    }
    assert len(named) > 30, "this test has lost what it looks for"
    assert [(page, path) for page, path in sorted(named) if not any((root / path).exists() for root in ROOTS)] == []


def test_numbers_of_formats() -> None:
    text = (ROOT / "docs" / "contribute" / "formats.md").read_text(encoding="utf-8")
    numbers = {file: number for number, file in re.findall(r"\| (\d+), in `([\w/.]+)`", text)}
    modules = (codec, folder, record, history, savepoints, contents, channel, ancestors, segments, document, certificate)
    source = ROOT / "src" / "headrace"
    assert numbers == {str(Path(str(module.__file__)).relative_to(source)): str(module.FORMAT) for module in modules}


def test_every_operator_with_state_is_in_the_map() -> None:
    """Both in the table of costs and in that of files."""
    text = (ROOT / "docs" / "contribute" / "operators.md").read_text(encoding="utf-8")
    costs, files = (set(re.findall(r"^\| `(\w+)`", text.partition(f"## {title}")[2].partition("\n## ")[0], re.M)) for title in TITLES)
    assert costs == files == {op for op, node in REGISTRY.items() if node.role is Role.STATEFUL}
