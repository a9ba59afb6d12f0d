"""Writes the tables of options in docs/connectors/*.md and docs/connectors/files.md from the declarations of the connectors.

A table is between `<!-- options of write.http -->` and `<!-- end -->`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests import installed  # noqa: E402, F401  # the connectors of this tree, whatever was installed before they were made

from headrace.ports import lookup_class, sink_class, source_class  # noqa: E402
from headrace.ports.option import Option  # noqa: E402

DOCS = ROOT / "docs"
_PLACE = re.compile(r"(<!-- options of (read|write|lookup)\.(\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_CLASSES = {"read": source_class, "write": sink_class, "lookup": lookup_class}


def pages() -> Iterator[Path]:
    """Yield the pages with such tables."""
    for page in sorted(DOCS.rglob("*.md")):
        if _PLACE.search(page.read_text(encoding="utf-8")):
            yield page


def written(page: Path) -> str:
    """Return a page with its current tables."""
    return _PLACE.sub(lambda place: f"{place[1]}{table(place[2], place[3])}{place[4]}", page.read_text(encoding="utf-8"))


def table(verb: str, connector: str) -> str:
    declared: dict[str, Option] = _CLASSES[verb](connector).declared  # connectors in the pages are declared
    rows = "".join(f"| `{one.name}` | {one.line} | {default(one)} |\n" for one in declared.values())
    return f"| option | description | default |\n|---|---|---|\n{rows}"


def default(one: Option) -> str:
    if one.needed:
        return "required"
    return "" if one.default is None or one.default == () else f'`"{one.default}"`' if isinstance(one.default, str) else f"`{one.default}`"


if __name__ == "__main__":
    for page in pages():
        page.write_text(written(page), encoding="utf-8")
