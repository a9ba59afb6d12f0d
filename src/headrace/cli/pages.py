"""Pages of the documentation in the terminal. hatch_build.py puts them into the wheel; a clone has them in its folder `docs`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
ERRORS = (_PACKAGE / "error_pages", _PACKAGE.parents[1] / "docs" / "errors")
DOCS = (_PACKAGE / "pages", _PACKAGE.parents[1] / "docs")
SECTIONS = ("start", "guides", "concepts", "reference", "connectors", "cookbook", "compare", "reference/api")


def names() -> dict[str, str]:
    """Return the titles of the pages by name: `reference/settings`, `connectors/kafka`."""
    folder = next(place for place in DOCS if place.is_dir())
    files = (file for part in SECTIONS for file in sorted((folder / part).glob("*.md")))
    return {str(file.relative_to(folder).with_suffix("")): _title(file) for file in files}


def shortcuts() -> dict[str, str]:
    """Return pages by short name: `settings` is `reference/settings`, `connectors` is `connectors/index`. The first page of a name wins."""
    known = names()
    last = {name.rpartition("/")[2]: name for name in reversed(known) if not name.endswith("index")}
    return last | {name.removesuffix("/index"): name for name in known if name.endswith("/index")}


def text(name: str) -> str:
    """Return a page as Markdown, without the settings of the site at its top."""
    page = next(place for folder in DOCS if (place := folder / f"{name}.md").is_file()).read_text(encoding="utf-8")
    return re.sub(r"\A---\n.*?\n---\n\s*", "", page, flags=re.S)


def show(page: str, folder: str = "") -> None:
    """Print a page of a folder of the documentation. Each link becomes the command that prints its target."""
    page = re.sub(r"^!\[[^\]]*\]\([^)]+\)\n", "", page, flags=re.M)  # drops drawings
    page = re.sub(r"\[([^\]]+)\]\(([^)\s]+)\)", lambda link: _linked(link[1], link[2], folder), page)
    # a link alone in parentheses becomes the command alone
    page = re.sub(r"\(([A-Z_]+|`[^`]+`|[^()\n]+) \((headrace [^()\n]+)\)\)", r"(\2)", page)
    if not sys.stdout.isatty():
        print(page, end="")
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(page))


def _linked(words: str, target: str, folder: str) -> str:
    name, _, _ = target.partition("#")
    if "://" in target or not name.endswith(".md"):
        return words
    path: list[str] = []
    for part in (*folder.split("/"), *name.removesuffix(".md").split("/")):
        path = path[:-1] if part == ".." else [*path, part] if part not in ("", ".") else path
    if path[0] == "errors":
        code = path[-1]
        return (
            words if words.strip("`") == code or folder == "errors" else f"{words} (headrace error{'' if code == 'index' else f' {code}'})"
        )
    return f"{words} (headrace docs {'/'.join(path)})"


def _title(file: Path) -> str:
    with file.open(encoding="utf-8") as lines:
        return next((line.removeprefix("# ").strip() for line in lines if line.startswith("# ")), "")
