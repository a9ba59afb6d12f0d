"""Links lead somewhere, and generated pages are current."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from bench import readme
from bench.nexmark import page
from tools import certify_all, error_index

ROOT = Path(__file__).resolve().parents[2]
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def test_links_lead_somewhere() -> None:
    pages = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")] + sorted(
        (ROOT / "docs").rglob("*.md")
    )
    broken = [
        f"{page.relative_to(ROOT)} -> {link}"
        for page in pages
        for link in _LINK.findall(page.read_text(encoding="utf-8"))
        if "://" not in link and not (page.parent / link).exists()
    ]
    assert broken == []


def test_the_index_of_errors_is_current() -> None:
    assert error_index.PAGE.read_text(encoding="utf-8") == error_index.text(), "write it again: make generated"


def test_the_table_of_speed_is_what_was_measured() -> None:
    written = readme.README.read_text(encoding="utf-8")
    assert readme.with_table(written) == written, "run: .venv/bin/python -m bench.readme"


def test_the_page_of_nexmark_has_its_queries_and_what_was_measured() -> None:
    """Its plans are looked at in tests/spark/sql/test_nexmark.py."""
    written = page.PAGE.read_text(encoding="utf-8")
    assert page.filled(written, readme.measured()) == written, "run: .venv/bin/python -m bench.readme"
    assert page.filled(written, page.texts()) == written, "run: .venv/bin/python -m bench.nexmark.page"


def test_the_comparisons_have_what_was_measured() -> None:
    stale = [
        name for name, blocks in readme.compared().items() if page.filled(text := readme.compare(name).read_text("utf-8"), blocks) != text
    ]
    assert stale == [], "run: .venv/bin/python -m bench.readme"


def test_the_matrix_of_faults_is_what_was_found() -> None:
    written = certify_all.PAGE.read_text(encoding="utf-8")
    assert certify_all.with_table(written, certify_all.kept()) == written, "run: .venv/bin/python tools/certify_all.py --page"


def test_the_page_of_the_demo_is_in_the_documentation() -> None:
    """`make demo` wrote docs/start/delays.html; delays.png is its top. Both have the numbers of docs/start/demo.md."""
    folder = ROOT / "docs" / "start"
    page, written = (folder / "demo.md").read_text(encoding="utf-8"), (folder / "delays.html").read_text(encoding="utf-8")
    assert "](delays.html)" in page and "](delays.png)" in page
    assert [number for number in ("336,776", "58 %", "20 %", "7,598", "5,947") if number not in page or number not in written] == []
    assert "http:" not in written and "https:" not in written
    assert sum((folder / name).stat().st_size for name in ("delays.html", "delays.png")) < 300_000


def test_the_documentation_builds_without_warnings(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},  # Material's note on its successor
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    assert (tmp_path / "site" / "index.html").is_file()
    assert (tmp_path / "site" / "start" / "delays.html").is_file()
